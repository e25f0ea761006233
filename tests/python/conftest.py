"""The package under test: the one in the build folder (TIMELAKE_BUILD_DIR), or whatever is
installed without one."""

import os
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TIMELAKE_BUILD_DIR", ROOT / "build/dev"))
PACKAGE = BUILD / "python"
if (PACKAGE / "timelake").exists():
    sys.path.insert(0, str(PACKAGE))
    os.environ["PYTHONPATH"] = str(PACKAGE)
os.environ.setdefault("MPLBACKEND", "Agg")

sys.path.insert(0, str(ROOT / "tests"))

import pytest
from azure_server import azure_server  # noqa: F401
from gcs_server import gcs_server  # noqa: F401
from s3_server import s3_server  # noqa: F401
from verified import all_is_whole  # noqa: F401
from web_server import web_server  # noqa: F401

SCHEMA = "time:timestamptz, device:string, v:double"
ROWS = {
    "time": [
        "2026-01-03T00:00:00Z",
        "2026-01-03T00:01:00Z",
        "2026-01-04T00:00:00Z",
        "2026-01-04T00:01:00Z",
    ],
    "device": ["a", "b", "a", "b"],
    "v": [1.5, 2.5, 3.5, 4.5],
}


@pytest.fixture
def timelake():
    import timelake

    return timelake


@pytest.fixture
def lake(timelake, tmp_path):
    with timelake.Lake(tmp_path / "wh") as lake:
        yield lake


@pytest.fixture
def empty(lake):
    """A table without rows."""
    return lake.create_table("readings", SCHEMA, time_column="time", series_key=["device"])


@pytest.fixture
def table(empty):
    """Four rows of two devices on two days."""
    empty.append(ROWS)
    return empty


def run_python(code, *, cwd=None, check=True, timeout=120, env=None, input=None):
    """Runs a program of its own; its output, or the finished process if `check` is off."""
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        input=input,
    )
    if not check:
        return process
    assert process.returncode == 0, f"exit {process.returncode}\n{process.stdout}\n{process.stderr}"
    return process.stdout


@pytest.fixture
def python():
    return run_python
