"""Each warehouse that a test leaves below its folder is verified: what the tables' kept snapshots refer to is there.

A test that damages a table on purpose is marked `damaged`.
"""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


def warehouses(folder):
    """Folders with tables that have versions: <warehouse>/<namespace>/<table>/metadata/v1.metadata.json."""
    found = set()
    for below, folders, files in os.walk(folder):
        if os.path.basename(below) != "metadata":
            continue
        folders.clear()
        if any(name.startswith("v") and name.endswith(".metadata.json") for name in files):
            found.add(pathlib.Path(below).parents[2])
    return sorted(found)


def findings(warehouse):
    """What `timelake verify` says of all its tables, as text; "" if all is well."""
    binary = os.environ.get("TIMELAKE_BIN", str(ROOT / "build/dev/timelake"))
    done = subprocess.run([binary, "-w", str(warehouse), "verify", "--json"], capture_output=True, text=True,
                          timeout=300)
    if done.returncode == 0:
        assert all(report["findings"] == [] for report in json.loads(done.stdout)), done.stdout
        return ""
    return done.stdout + done.stderr


@pytest.fixture(autouse=True)
def all_is_whole(request, tmp_path):
    yield
    if request.node.get_closest_marker("damaged"):
        return
    for warehouse in warehouses(tmp_path):
        wrong = findings(warehouse)
        assert not wrong, f"{warehouse} is not whole:\n{wrong}"
