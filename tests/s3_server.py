"""A versitygw (an S3 server that verifies signatures) of the tests' own, on 127.0.0.1."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("TIMELAKE_VERSITYGW", str(ROOT / ".deps/test-servers/versitygw"))
KEY, SECRET = "test-access-key", "test-secret-key-0123456789"


class S3Server:
    def __init__(self, process, port, folder):
        self.process, self.port, self.folder, self._buckets = process, port, folder, 0
        self.endpoint = f"http://127.0.0.1:{port}"
        # As users have them, and nothing of the machine's own.
        self.env = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.options = {
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_region": "us-east-1",
            "aws_endpoint": self.endpoint,
            "aws_allow_http": "true",
        }

    def bucket(self):
        """A new bucket: a folder of the server's root."""
        self._buckets += 1
        name = f"bucket{self._buckets}"
        (self.folder / name).mkdir()
        return name


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def running():
    if not os.access(BINARY, os.X_OK):
        message = f"NO S3 SERVER: {BINARY} is missing; run `make deps-test`"
        print(message, file=sys.stderr)
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with tempfile.TemporaryDirectory(prefix="tl_s3_") as folder:
        for _ in range(5):  # somebody else may take the port first
            port = _free_port()
            process = subprocess.Popen(
                [BINARY, "--port", f"127.0.0.1:{port}", "--quiet", "posix", folder],
                env={"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                deadline = time.monotonic() + 20
                while process.poll() is None and time.monotonic() < deadline:
                    if _accepts(port):
                        yield S3Server(process, port, pathlib.Path(folder))
                        return
                    time.sleep(0.01)
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        pytest.fail(f"{BINARY} does not start")


@pytest.fixture(scope="session")
def s3_server():
    with running() as server:
        yield server
