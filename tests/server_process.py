"""Servers of the tests' own, on free ports of 127.0.0.1. `make deps-test` installs them."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
INSTALLED = ROOT / ".deps/test-servers"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def running(what, binary, arguments, env):
    """The port of a server; `arguments` makes its arguments of a port.

    Without the server the tests are skipped, which fails them in continuous integration.
    """
    if not os.access(binary, os.X_OK):
        message = f"NO {what} SERVER: {binary} is missing; run `make deps-test`"
        print(message, file=sys.stderr)
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    for _ in range(5):  # somebody else may take the port first
        port = _free_port()
        process = subprocess.Popen(
            [binary, *arguments(port)],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 20
            while process.poll() is None and time.monotonic() < deadline:
                if _accepts(port):
                    yield port
                    return
                time.sleep(0.01)
        finally:
            _stop(process)
    pytest.fail(f"{binary} does not start")
