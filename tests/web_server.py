"""A static web server with ranges, which lists nothing, of the tests' own."""

import contextlib
import http.server
import pathlib
import re
import threading
import urllib.parse

import pytest


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _refuse(self):
        self.server.seen.append((self.command, self.path))
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_error(405)

    do_PUT = do_POST = do_DELETE = _refuse

    def _answer(self, body):
        self.server.seen.append((self.command, self.path))
        file = self.server.root / urllib.parse.unquote(self.path).lstrip("/")
        if not file.is_file():  # nor are folders listed
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data, status = file.read_bytes(), 200
        size, asked = len(data), re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        if asked and self.server.ranges:
            first, last = int(asked[1]), min(int(asked[2]), size - 1)
            data, status = data[first : last + 1], 206
        self.send_response(status)
        self.send_header("Last-Modified", self.date_time_string(int(file.stat().st_mtime)))
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(root, ranges=True):
    """A server over the folder `root`: `url`, and `seen`, the requests so far."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.root, server.ranges, server.seen = pathlib.Path(root), ranges, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def web_server(tmp_path):
    with serving(tmp_path) as server:
        yield server
