"""A proxy on 127.0.0.1 in front of an object store (S3, Google, Azure): counts requests, delays them, breaks them.

Each connection has a thread of its own, so the latency of one request delays no other. The client's
Host header goes through unchanged, since signatures cover it; the store must not compare it with its
own name (versitygw does not).
"""

import collections
import contextlib
import dataclasses
import re
import socket
import struct
import threading
import time
import urllib.parse

# What can happen to a request. The store has seen it, and may have done it, where "after" is said.
ACTIONS = {
    "pass": "as it is",
    "drop-before": "the connection ends; the store has not seen the request",
    "drop-after": "the store has done it; the connection ends without a reply",
    "reset-before": "as drop-before, by a reset",
    "reset-after": "as drop-after, by a reset",
    "409": "ConditionalRequestConflict, not done",
    "412": "PreconditionFailed, not done",
    "429": "TooManyRequests, not done",
    "500-after": "InternalError, done",
    "503": "SlowDown, not done",
    "truncate": "half of the reply's body, then the connection ends",
    "slow": "the reply's body comes in two halves with a second between them",
}
_CODES = {"409": "ConditionalRequestConflict", "412": "PreconditionFailed", "429": "TooManyRequests",
          "500-after": "InternalError", "503": "SlowDown"}


@dataclasses.dataclass
class Request:
    method: str
    path: str  # with its query
    headers: dict  # names in lower case
    start: float = 0.0
    end: float = 0.0  # when the reply had been sent
    status: int = 0  # 0: none was sent
    sent: int = 0  # bytes of the reply's body
    received: int = 0  # bytes of the request's body

    @property
    def kind(self):
        """"GET", "PUT", ...; "LIST" for a GET that lists, "PUT" for Google's uploads of one request."""
        path, _, query = self.path.partition("?")
        google = re.fullmatch(r"/storage/v1/b/[^/]+/o", path)
        if self.method == "GET" and ("list-type=" in query or "comp=list" in query or google):
            return "LIST"
        return "PUT" if self.method == "POST" and "uploadType=media" in query else self.method

    @property
    def key(self):
        """The bucket and the object's name, with what a kind of store puts around them."""
        path, _, query = self.path.partition("?")
        names = urllib.parse.parse_qs(query).get("name", [])  # Google's uploads
        return "/".join([urllib.parse.unquote(path), *names])

    @property
    def conditional(self):
        """Whether it has effect only if the object is what the writer thinks it is."""
        return bool({"if-none-match", "if-match"} & self.headers.keys()) or "ifGenerationMatch=" in self.path

    @property
    def name(self):
        """The last part of the key, with digits and hex that vary taken out."""
        last = self.key.rsplit("/", 1)[-1]
        return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<uuid>", re.sub(r"snap-\d+", "snap-<id>", last))


def counts(requests):
    return dict(collections.Counter(request.kind for request in requests))


def depth(requests):
    """Most requests that followed one another: what a latency is paid for, at least."""
    most, end = 0, float("-inf")
    for request in sorted(requests, key=lambda r: r.end):
        if request.start >= end:
            most, end = most + 1, request.end
    return most


def concurrency(requests):
    """Most requests that were under way at one time."""
    events = sorted([(r.start, 1) for r in requests] + [(r.end, -1) for r in requests])
    now = most = 0
    for _, step in events:
        now += step
        most = max(most, now)
    return most


class _Stream:
    """Reads heads and bodies of HTTP/1.1 from a socket."""

    def __init__(self, sock):
        self.sock, self.left = sock, b""

    def head(self):
        """First line and headers, or None at the end of the connection."""
        while b"\r\n\r\n" not in self.left:
            more = self.sock.recv(1 << 16)
            if not more:
                return None
            self.left += more
        head, self.left = self.left.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        return lines[0], [tuple(line.split(":", 1)) for line in lines[1:]]

    def take(self, size):
        parts = [self.left[:size]]
        have, self.left = len(parts[0]), self.left[size:]
        while have < size:
            more = self.sock.recv(min(size - have, 1 << 20))
            if not more:
                raise ConnectionError("body ends early")
            parts.append(more)
            have += len(more)
        return b"".join(parts)

    def line(self):
        while b"\r\n" not in self.left:
            more = self.sock.recv(1 << 16)
            if not more:
                raise ConnectionError("body ends early")
            self.left += more
        line, self.left = self.left.split(b"\r\n", 1)
        return line

    def chunked(self):
        raw = b""
        while True:
            line = self.line()
            size = int(line.split(b";")[0], 16)
            raw += line + b"\r\n" + self.take(size + 2)
            if size == 0:
                return raw

    def rest(self):
        raw = self.left
        while more := self.sock.recv(1 << 16):
            raw += more
        self.left = b""
        return raw


def _lower(headers):
    return {name.strip().lower(): value.strip() for name, value in headers}


class FaultProxy:
    """`plan`, called with each Request in the thread of its connection, names an action, or None."""

    def __init__(self, port, latency=0.0, plan=None):
        self.latency, self.plan = latency, plan
        self._upstream = ("127.0.0.1", port)
        self._lock = threading.Condition()
        self._running = 0
        self._log, self._open = [], set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            sockets = list(self._open)
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def options(self, options):
        """Storage options, or variables of the environment, of the store: so that they lead here."""
        store = "http://%s:%d" % self._upstream
        return {name: value.replace(store, self.endpoint) for name, value in options.items()}

    def take(self):
        """The requests since the last call, by start; waits for those under way to be answered."""
        with self._lock:
            self._lock.wait_for(lambda: self._running == 0, 30)
            log, self._log = self._log, []
        return sorted(log, key=lambda request: request.start)

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.add(sock)
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock):
        stream = _Stream(sock)
        try:
            while (head := stream.head()) is not None:
                if not self._one(sock, stream, *head):
                    break
        except (OSError, ValueError):
            pass  # the client or the store has gone: so does the connection
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()

    def _one(self, sock, stream, first, headers):
        method, path, _ = first.split(" ", 2)
        lower = _lower(headers)
        body = b""
        if "chunked" in lower.get("transfer-encoding", ""):
            body = stream.chunked()
        elif size := int(lower.get("content-length", 0)):
            body = stream.take(size)
        request = Request(method, path, lower, start=time.monotonic(), received=len(body))
        with self._lock:
            self._running += 1
        try:
            if self.latency:
                time.sleep(self.latency)
            action = (self.plan(request) if self.plan else None) or "pass"
            return self._answer(sock, request, (first, headers, body), action)
        finally:
            request.end = time.monotonic()
            with self._lock:
                self._log.append(request)
                self._running -= 1
                self._lock.notify_all()

    def _answer(self, sock, request, message, action):
        assert action in ACTIONS, action
        if action.endswith("-before"):
            return self._end(sock, action.startswith("reset"))
        if action in ("409", "412", "429", "503"):
            return self._refuse(sock, request, action)
        status, headers, body, has_body = self._forward(message)
        if action == "500-after":
            return self._refuse(sock, request, action)
        if action.endswith("-after"):
            return self._end(sock, action.startswith("reset"))
        request.status, request.sent = int(status.split(" ")[1]), len(body)
        head = "\r\n".join([status, *(f"{name}:{value}" for name, value in headers)])
        half = len(body) // 2
        if has_body and action == "truncate" and body:
            sock.sendall(head.encode("latin-1") + b"\r\n\r\n" + body[:half])
            return self._end(sock, False)
        if has_body and action == "slow":
            sock.sendall(head.encode("latin-1") + b"\r\n\r\n" + body[:half])
            time.sleep(1)
            sock.sendall(body[half:])
            return True
        sock.sendall(head.encode("latin-1") + b"\r\n\r\n" + body)
        return True

    def _forward(self, message):
        first, headers, body = message
        with socket.create_connection(self._upstream) as out:
            out.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            kept = [f"{name}:{value}" for name, value in headers
                    if name.lower() not in ("connection", "expect")]
            out.sendall("\r\n".join([first, *kept, "Connection: close", "", ""]).encode("latin-1") + body)
            stream = _Stream(out)
            head = stream.head()
            if head is None:
                raise ConnectionError("the store closed the connection")
            status, headers = head
            lower = _lower(headers)
            code = int(status.split(" ")[1])
            has_body = not (first.startswith("HEAD ") or code in (204, 304))
            answer = b""
            if has_body and "chunked" in lower.get("transfer-encoding", ""):
                answer = stream.chunked()
            elif has_body and "content-length" in lower:
                answer = stream.take(int(lower["content-length"]))
            elif has_body:
                answer = stream.rest()
                headers.append(("Content-Length", f" {len(answer)}"))
        kept = [(name, value) for name, value in headers if name.lower() != "connection"]
        return status, kept, answer, has_body

    def _refuse(self, sock, request, action):
        code = action[:3]
        request.status = int(code)
        text = f"<Error><Code>{_CODES[action]}</Code><Message>by the proxy</Message></Error>"
        body = b"" if request.method == "HEAD" else text.encode()
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
        head = (f"HTTP/1.1 {code} {_CODES[action]}\r\nDate: {date}\r\nContent-Type: application/xml\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        sock.sendall(head.encode() + body)
        return True

    @staticmethod
    def _end(sock, reset):
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        return False
