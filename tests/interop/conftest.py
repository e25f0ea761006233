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
from web_server import web_server  # noqa: E402, F401

BINARY = os.environ.get("TIMELAKE_BIN", str(ROOT / "build/dev/timelake"))
PEER = os.environ.get("TIMELAKE_PEER_PYTHON", str(ROOT / ".deps/peer/bin/python"))
DATA = pathlib.Path(os.environ.get("TIMELAKE_DATA", ROOT.parent / "shared/data"))


class Lake:
    """A warehouse and the command on it."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def run(self, *arguments, check=True, stdin=None):
        done = subprocess.run([BINARY, "-w", str(self.root), *map(str, arguments)], capture_output=True,
                              text=True, input=stdin, timeout=300)
        if check and done.returncode != 0:
            raise AssertionError(f"timelake {' '.join(map(str, arguments))}\n{done.stderr}")
        return done

    def sql(self, query):
        """Rows as dictionaries."""
        return [json.loads(line) for line in self.run("sql", "--format", "ndjson", query).stdout.splitlines()]

    def arrow(self, query):
        out = subprocess.run([BINARY, "-w", str(self.root), "sql", "--format", "arrow", query],
                             capture_output=True, check=True, timeout=300).stdout
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


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "wh")


@pytest.fixture(scope="session")
def duck():
    """DuckDB with its own iceberg extension."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for package, name in (("duckdb_extension_avro", "avro"), ("duckdb_extension_iceberg", "iceberg")):
        folder = importlib.resources.files(package) / "extensions" / f"v{duckdb.__version__}"
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


def pyiceberg_table(folder):
    from pyiceberg.table import StaticTable
    return StaticTable.from_metadata(str(folder))
