"""The command under test (TIMELAKE_BIN), run on a warehouse of the test's own."""

import csv
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from azure_server import azure_server  # noqa: E402, F401
from gcs_server import gcs_server  # noqa: E402, F401
from s3_server import s3_server  # noqa: E402, F401
from verified import all_is_whole  # noqa: E402, F401
from web_server import web_server  # noqa: E402, F401

BINARY = os.environ.get("TIMELAKE_BIN", str(ROOT / "build/dev/timelake"))

SCHEMA = "time:timestamptz, device:string, v:double, n:int"
CONTRACT = ["--time-column", "time", "--series-key", "device"]
ROWS = ("time,device,v,n\n"
        "2024-01-01T00:00:00Z,a,1.5,1\n"
        "2024-01-01T00:01:00Z,b,2.5,2\n"
        "2024-01-02T00:00:00Z,a,,3\n")
OTHER_ROWS = "time,device,v,n\n2024-01-01T00:00:00Z,c,4.5,4\n2024-01-02T00:00:00Z,c,5.5,5\n"


class Done:
    """What a finished command left: exit code, bytes and text of its two outputs."""

    def __init__(self, arguments, process):
        self.arguments = [str(argument) for argument in arguments]
        self.code = process.returncode
        self.raw = process.stdout
        self.err = process.stderr.decode()

    @property
    def out(self):
        return self.raw.decode()

    def json(self):
        return json.loads(self.out)

    def csv(self):
        """Rows as lists of text, the header first."""
        return list(csv.reader(io.StringIO(self.out, newline="")))

    def __str__(self):
        return f"timelake {' '.join(self.arguments)}\nexit {self.code}\nstdout: {self.raw[:2000]!r}\nstderr: {self.err}"


class Timelake:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.warehouse = self.folder / "wh"
        self.env = {**os.environ, "TIMELAKE_WAREHOUSE": str(self.warehouse)}

    def command(self, *arguments):
        return [BINARY, *map(str, arguments)]

    def run(self, *arguments, stdin=None, env=None, cwd=None, timeout=120):
        """Runs to the end; `stdin` is text, bytes or nothing."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        process = subprocess.run(self.command(*arguments), input=data if data is not None else b"",
                                 capture_output=True, timeout=timeout, env={**self.env, **(env or {})},
                                 cwd=cwd or self.folder)
        return Done(arguments, process)

    def __call__(self, *arguments, **options):
        """Runs a command that must succeed."""
        done = self.run(*arguments, **options)
        assert done.code == 0, done
        return done

    def fails(self, *arguments, code=1, says=(), **options):
        """Runs a command that must fail: one error line, the given texts on stderr."""
        done = self.run(*arguments, **options)
        assert done.code == code, done
        assert len([line for line in done.err.splitlines() if line.startswith("error: ")]) == 1, done
        for text in [says] if isinstance(says, str) else says:
            assert text in done.err, done
        return done

    def file(self, name, content):
        """Writes an input file; text, bytes, or an Arrow table that becomes Parquet."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def rows(self, query):
        return [json.loads(line) for line in self("sql", "--format", "ndjson", query).out.splitlines()]

    def make_table(self, name="t", schema=SCHEMA, contract=CONTRACT, rows=ROWS):
        self("create", name, "--schema", schema, *contract)
        if rows:
            self("append", name, self.file(f"rows-of-{name}.csv", rows))
        return name

    def tree(self):
        """Every file of the warehouse with a hash of its bytes."""
        return {str(path.relative_to(self.warehouse)): hashlib.sha1(path.read_bytes()).hexdigest()
                for path in sorted(self.warehouse.rglob("*")) if path.is_file()} if self.warehouse.is_dir() else {}

    def metadata(self, table="t"):
        """The metadata file of the newest version."""
        files = (self.warehouse / "default" / table / "metadata").glob("v*.metadata.json")
        return max(files, key=lambda path: int(path.name[1:].split(".")[0]))


@pytest.fixture
def tl(tmp_path):
    return Timelake(tmp_path)


@pytest.fixture
def table(tl):
    """The command with a table `t` of three rows."""
    tl.make_table()
    return tl
