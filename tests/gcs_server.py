"""A fake-gcs-server (the JSON API of Google Cloud Storage, in memory) of the tests' own."""

import json
import os
import urllib.request

import pytest
import server_process

BINARY = os.environ.get("TIMELAKE_FAKE_GCS_SERVER", str(server_process.INSTALLED / "fake-gcs-server"))


class GcsServer:
    scheme = "gs"

    def __init__(self, port):
        self.port, self._buckets = port, 0
        self.endpoint = f"http://127.0.0.1:{port}"
        self.env = {"STORAGE_EMULATOR_HOST": self.endpoint}
        self.options = {
            "google_base_url": self.endpoint,
            "google_allow_http": "true",
            "google_skip_signature": "true",
        }

    def bucket(self):
        """A new bucket."""
        self._buckets += 1
        name = f"bucket{self._buckets}"
        body = json.dumps({"name": name}).encode()
        request = urllib.request.Request(
            f"{self.endpoint}/storage/v1/b?project=p", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            assert reply.status == 200
        return name


@pytest.fixture(scope="session")
def gcs_server():
    with server_process.running(
        "GCS",
        BINARY,
        lambda port: ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory",
                      "-external-url", f"http://127.0.0.1:{port}", "-public-host", f"127.0.0.1:{port}"],
        {},
    ) as port:
        yield GcsServer(port)
