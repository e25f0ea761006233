"""What the tests with other engines share: the command, a warehouse, and the engines."""

import importlib.resources
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import duckdb
import pyarrow as pa
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from azure_server import azure_server  # noqa: E402, F401
from gcs_server import gcs_server  # noqa: E402, F401
from s3_server import s3_server  # noqa: E402, F401
from verified import all_is_whole  # noqa: E402, F401
from web_server import web_server  # noqa: E402, F401

BINARY = os.environ.get("TIMELAKE_BIN", str(ROOT / "build/dev/timelake"))
PEER = os.environ.get("TIMELAKE_PEER_PYTHON", str(ROOT / ".deps/peer/bin/python"))
DATA = pathlib.Path(os.environ.get("TIMELAKE_DATA", ROOT.parent / "shared/data"))


class Lake:
    """A warehouse and the command on it."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.env = dict(os.environ)

    @property
    def warehouse(self):
        return str(self.root)

    def run(self, *arguments, check=True, stdin=None):
        done = subprocess.run([BINARY, "-w", self.warehouse, *map(str, arguments)], capture_output=True,
                              text=True, input=stdin, env=self.env, timeout=300)
        if check and done.returncode != 0:
            raise AssertionError(f"timelake {' '.join(map(str, arguments))}\n{done.stderr}")
        return done

    def sql(self, query):
        """Rows as dictionaries."""
        return [json.loads(line) for line in self.run("sql", "--format", "ndjson", query).stdout.splitlines()]

    def arrow(self, query):
        out = subprocess.run([BINARY, "-w", self.warehouse, "sql", "--format", "arrow", query],
                             capture_output=True, check=True, env=self.env, timeout=300).stdout
        return pa.ipc.open_stream(out).read_all()

    def append(self, table, data, **options):
        """Appends an Arrow table through a Parquet file."""
        import pyarrow.parquet as pq
        path = self.root / "in.parquet"
        self.root.mkdir(parents=True, exist_ok=True)
        pq.write_table(data, path)
        extra = [part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)]
        done = self.run("append", table, path, *extra, "--json")
        path.unlink()
        return json.loads(done.stdout)

    def folder(self, table):
        namespace, _, name = table.rpartition(".")
        return self.root / (namespace or "default") / name


class LakeInS3(Lake):
    """A warehouse in a bucket of its own; `files` is where other files of the test lie."""

    def __init__(self, server, files):
        super().__init__(files)
        self.server, self._warehouse = server, f"s3://{server.bucket()}/wh"
        self.env |= server.env

    @property
    def warehouse(self):
        return self._warehouse

    def folder(self, table):
        namespace, _, name = table.rpartition(".")
        return f"{self.warehouse}/{namespace or 'default'}/{name}"

    def properties(self):
        """For PyIceberg."""
        return {"s3.endpoint": self.server.endpoint, "s3.region": "us-east-1",
                "s3.access-key-id": self.server.options["aws_access_key_id"],
                "s3.secret-access-key": self.server.options["aws_secret_access_key"],
                "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}

    def secret(self):
        """A statement for DuckDB."""
        return (f"CREATE OR REPLACE SECRET lake (TYPE s3, KEY_ID '{self.server.options['aws_access_key_id']}', "
                f"SECRET '{self.server.options['aws_secret_access_key']}', REGION 'us-east-1', URL_STYLE 'path', "
                f"ENDPOINT '{self.server.endpoint.removeprefix('http://')}', USE_SSL false)")


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "wh")


@pytest.fixture(scope="session")
def duck():
    """DuckDB with its own extensions for Iceberg and for files behind HTTP and in S3."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        folder = importlib.resources.files(f"duckdb_extension_{name}") / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{folder / (name + '.duckdb_extension')}'")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET unsafe_enable_version_guessing = true")
    return connection


def peer(code, *arguments, timeout=300):
    """Runs Python code in the environment of the peer; returns what it prints."""
    done = subprocess.run([PEER, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True,
                          text=True, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(done.stderr[-4000:])
    return done.stdout


def pyiceberg_table(folder, properties=()):
    from pyiceberg.table import StaticTable
    return StaticTable.from_metadata(str(folder), dict(properties))
