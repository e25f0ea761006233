"""An azurite (an emulator of Azure's Blob service that verifies signatures) of the tests' own."""

import base64
import datetime
import hashlib
import hmac
import os
import urllib.parse
import urllib.request

import pytest
import server_process

BINARY = os.environ.get(
    "TIMELAKE_AZURITE", str(server_process.INSTALLED / "azurite/node_modules/.bin/azurite-blob")
)
ACCOUNT, KEY = "testaccount", base64.b64encode(b"test-account-key-0123456789").decode()


class AzureServer:
    scheme = "az"

    def __init__(self, port):
        self.port, self._containers = port, 0
        self.endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
        self.env = {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": self.endpoint,
            "AZURE_ALLOW_HTTP": "true",
        }
        self.options = {
            "azure_storage_account_name": ACCOUNT,
            "azure_storage_account_key": KEY,
            "azure_endpoint": self.endpoint,
            "azure_allow_http": "true",
        }

    def bucket(self):
        """A new container, made with an account SAS."""
        self._containers += 1
        name = f"container{self._containers}"
        url = f"{self.endpoint}/{name}?restype=container&{self.sas()}"
        request = urllib.request.Request(url, b"", {"x-ms-version": "2021-12-02"}, method="PUT")
        with urllib.request.urlopen(request) as reply:
            assert reply.status == 201
        return name

    def sas(self):
        """A shared access signature of the account: all of the Blob service, for an hour."""
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
        expiry = end.strftime("%Y-%m-%dT%H:%M:%SZ")
        version, permissions, services, types = "2021-12-02", "rwdlac", "b", "sco"
        text = "\n".join(
            [ACCOUNT, permissions, services, types, "", expiry, "", "https,http", version, "", ""]
        )
        digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
        return urllib.parse.urlencode(
            {"sv": version, "ss": services, "srt": types, "sp": permissions, "se": expiry,
             "spr": "https,http", "sig": base64.b64encode(digest).decode()}
        )


@pytest.fixture(scope="session")
def azure_server():
    with server_process.running(
        "AZURE",
        BINARY,
        lambda port: ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--silent",
                      "--skipApiVersionCheck", "--disableTelemetry"],
        {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}", "PATH": os.environ["PATH"]},
    ) as port:
        yield AzureServer(port)
