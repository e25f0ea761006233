"""Whatever holds a secret, and whatever is done with it: neither output nor error nor log nor file tells it.

The server here refuses everything and repeats in its answers all that it was sent.
"""

import base64
import http.server
import json
import threading

import pytest
from conftest import CONTRACT, ROWS, SCHEMA

SECRET = "S3CRETs3cretS3CRET"
IN_BASE64 = base64.b64encode(SECRET.encode()).decode()


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    status = 403

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode("latin-1")
        told = " ".join([self.path, *(f"{name}: {value}" for name, value in self.headers.items()), body])
        if "storage/v1" in self.path or "oauth" in self.path or "token" in self.path:
            text = json.dumps({"error": {"code": 403, "message": told, "errors": [{"reason": told}]}})
        else:
            safe = told.replace("&", "&amp;").replace("<", "&lt;")
            text = f"<Error><Code>AccessDenied</Code><Message>{safe}</Message></Error>"
        self.send_response(self.status, "no")
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer

    def log_message(self, *_):
        pass


@pytest.fixture(params=[403, 400, 500])
def echo(request):
    handler = type("Handler", (Echo,), {"status": request.param})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def service_account(url, kind="authorized_user"):
    if kind == "authorized_user":
        return json.dumps({"type": kind, "client_id": "id", "client_secret": SECRET, "refresh_token": SECRET,
                           "token_uri": f"{url}/token"})
    return json.dumps({"type": kind, "client_email": "a@b", "private_key": SECRET})


# By name: a warehouse, and options of which one at least is secret.
SOURCES = {
    "s3 keys": lambda url: ("s3://b/wh", {"aws_access_key_id": "AK", "aws_secret_access_key": SECRET,
                                          "aws_session_token": SECRET, "aws_endpoint": url}),
    "google token": lambda url: ("gs://b/wh", {"google_oauth_access_token": SECRET, "google_base_url": url}),
    "google user": lambda url: ("gs://b/wh", {"google_service_account_key": service_account(url), "google_base_url": url}),
    "google account": lambda url: ("gs://b/wh", {"google_service_account_key": service_account(url, "service_account"),
                                                 "google_base_url": url}),
    "azure key": lambda url: ("az://c/wh", {"azure_storage_account_name": "a", "azure_storage_account_key": IN_BASE64,
                                            "azure_endpoint": url}),
    "azure key that is none": lambda url: ("az://c/wh", {"azure_storage_account_name": "a", "azure_endpoint": url,
                                                         "azure_storage_account_key": SECRET + "!"}),
    "azure sas": lambda url: ("az://c/wh", {"azure_storage_account_name": "a", "azure_endpoint": url,
                                            "azure_storage_sas_token": f"?sv=1&sig={SECRET}%3D"}),
    "azure token": lambda url: ("az://c/wh", {"azure_storage_account_name": "a", "azure_storage_token": SECRET,
                                              "azure_endpoint": url}),
    "azure app": lambda url: ("az://c/wh", {"azure_storage_account_name": "a", "azure_client_id": "id",
                                            "azure_client_secret": SECRET, "azure_tenant_id": "t",
                                            "azure_authority_host": url, "azure_endpoint": url}),
    "azure connection string": lambda url: (
        "az://c/wh", {"azure_storage_connection_string": f"AccountName=a;AccountKey={IN_BASE64};BlobEndpoint={url}/a"}),
}
STEPS = [["ls"], ["info", "t", "--json"], ["sql", "SELECT * FROM t"], ["sql", "EXPLAIN ANALYZE SELECT * FROM t"],
         ["create", "t", "--schema", SCHEMA, *CONTRACT], ["maintain", "--json"], ["verify", "t", "--json"], ["publish", "--json"],
         ["sql", "COPY (SELECT 1 AS a) TO '{warehouse}/a.csv'"], ["sql", "FROM '{warehouse}/a.parquet'"]]
CLEAN = {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true"}


def says_nothing(done):
    told = done.out + done.err if hasattr(done, "err") else done
    for secret in (SECRET, IN_BASE64, IN_BASE64.rstrip("="), SECRET.lower()):
        assert secret not in told, told


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_refused(tl, echo, source):
    """By options and by variables; nothing is told, and nothing written."""
    warehouse, options = SOURCES[source](echo)
    options |= {"allow_http": "true"}
    quick = ["-o", "max_retries=0", "-o", "retry_timeout=1s"]
    by_option = [text for name, value in options.items() for text in ("-o", f"{name}={value}")]
    variables = {"aws_endpoint": "AWS_ENDPOINT_URL", "azure_endpoint": "AZURE_STORAGE_ENDPOINT",
                 "allow_http": {"s3": "AWS", "gs": "GOOGLE", "az": "AZURE"}[warehouse[:2]] + "_ALLOW_HTTP"}
    by_variable = {variables.get(name, name.upper()): value for name, value in options.items()}
    for i, step in enumerate(STEPS):
        step = [text.format(warehouse=warehouse) for text in step]
        door = {"env": {**CLEAN, **by_variable}} if i % 2 else {"env": CLEAN}
        done = tl.fails("-vv", "-w", warehouse, *quick, *([] if i % 2 else by_option), *step, **door)
        says_nothing(done)
    misspelt = [text.replace("secret_", "sekret_").replace("secret=", "sekret=").replace("_key=", "_kez=").replace("token=", "tokem=")
                .replace("string=", "strinh=") for text in by_option]
    says_nothing(tl.fails("-w", warehouse, *quick, *misspelt, "ls", env=CLEAN, says="did you mean"))
    for path in tl.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("server", ["s3_server", "azure_server"])
def test_what_goes_well(tl, request, server):
    """The keys that the server takes stand nowhere: not in outputs and logs, nor in what is stored and kept."""
    server = request.getfixturevalue(server)
    secrets = [value for name, value in server.options.items() if "secret" in name or "account_key" in name]
    assert len(secrets) == 1
    warehouse, kept = f"{server.scheme}://{server.bucket()}/wh", tl.folder / "kept"
    base = ["-vv", "-w", warehouse, "--cache-dir", kept, *(text for name, value in server.options.items()
                                                            for text in ("-o", f"{name}={value}"))]
    rows = tl.file("rows.csv", ROWS)
    for step in (["create", "t", "--schema", SCHEMA, *CONTRACT], ["append", "t", rows, "--json"], ["info", "t", "--json"],
                 ["sql", "EXPLAIN ANALYZE SELECT * FROM t"], ["sql", "FROM t$snapshots"], ["sql", "FROM t$refs"],
                 ["sql", "FROM duckdb_settings()"], ["sql", "FROM duckdb_secrets()"], ["sql", "FROM duckdb_databases()"],
                 ["sql", "--format", "json", "FROM t$files"], ["maintain", "--json"], ["verify", "t", "--json"],
                 ["publish", "--json"], ["sql", f"COPY t TO '{warehouse}/t.csv'"], ["sql", f"FROM '{warehouse}/t.csv'"]):
        done = tl(*base, *step, env=CLEAN)
        assert secrets[0] not in done.out + done.err, done
    files = [path for path in tl.folder.rglob("*") if path.is_file()]
    if server.scheme == "s3":
        files += [path for path in (server.folder / warehouse[5:]).rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        assert secrets[0].encode() not in path.read_bytes() and secrets[0] not in str(path), path
