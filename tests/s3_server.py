"""A versitygw (an S3 server that verifies signatures) of the tests' own, on 127.0.0.1."""

import contextlib
import os
import pathlib
import tempfile

import pytest
import server_process

BINARY = os.environ.get("TIMELAKE_VERSITYGW", str(server_process.INSTALLED / "versitygw"))
KEY, SECRET = "test-access-key", "test-secret-key-0123456789"


class S3Server:
    scheme = "s3"

    def __init__(self, port, folder):
        self.port, self.folder, self._buckets = port, folder, 0
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


@contextlib.contextmanager
def running():
    """A server, until the block ends; also for benchmarks."""
    with tempfile.TemporaryDirectory(prefix="tl_s3_") as folder:
        with server_process.running(
            "S3",
            BINARY,
            lambda port: ["--port", f"127.0.0.1:{port}", "--quiet", "posix", folder],
            {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
        ) as port:
            yield S3Server(port, pathlib.Path(folder))


@pytest.fixture(scope="session")
def s3_server():
    with running() as server:
        yield server
