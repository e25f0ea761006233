"""Maintenance that is killed (SIGKILL) between any two deletions: the next run goes on, nothing in use is missing and
nothing is left behind."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TIMELAKE_BIN", str(ROOT / "build/dev/timelake"))
CHILD = pathlib.Path(os.environ.get("TIMELAKE_BUILD_DIR", ROOT / "build/dev")) / "maintain_child"
ROUNDS = 16  # each is killed one deletion later; what is left over is there for the next


def timelake(warehouse, *arguments, **options):
    return subprocess.run([BINARY, "-w", str(warehouse), *arguments], check=True, capture_output=True, text=True,
                          timeout=120, **options).stdout


def maintain(warehouse, *arguments):
    return json.loads(timelake(warehouse, "maintain", "t", "--json", *arguments))[0]


def verify(warehouse):
    (report,) = json.loads(timelake(warehouse, "verify", "t", "--json"))
    assert report["findings"] == []
    # Old versions are the memory of what is still to be deleted: there is nothing else to be found.
    assert report["unreferenced_objects"] == 0


def make_garbage(warehouse, round_):
    """Two appends that replace each other's rows and a delete: data files, manifests, lists and indexes go with them."""
    for i in range(2):
        rows = f"2026-01-03T00:00:{round_ % 60:02}Z,a,{round_}\n2026-01-03T00:01:00Z,b,{i}\n"
        timelake(warehouse, "append", "t", "-", "--input-format", "csv", input="time,device,v\n" + rows)
    timelake(warehouse, "delete", "t", "--where", "device = 'b'")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_between_deletions(tmp_path, moment):
    timelake(tmp_path, "create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--prop", "snapshot-retention=0s", "--prop", "min-snapshots=1",
             "--prop", "metadata-min-age=1s", "--prop", "delete-min-age=1s", "--prop", "auto-maintain=false")
    # A run deletes for half of the age at most; what is younger than it waits, so the first ones find little.
    for round_ in range(8):
        make_garbage(tmp_path, 100 + round_)
    killed = 0
    for nth in range(1, ROUNDS + 1):
        make_garbage(tmp_path, nth)
        child = subprocess.run([CHILD, tmp_path, "t", moment, str(nth)], capture_output=True, text=True, timeout=120)
        verify(tmp_path)
        assert child.returncode in (0, -signal.SIGKILL), child.stderr
        killed += child.returncode != 0
    assert killed > ROUNDS // 2, "too few deletions to kill between"
    versions = tmp_path / "default/t/metadata"
    for _ in range(300):  # what is young in one run goes in a later one
        maintain(tmp_path)
        if len(list(versions.glob("v*.metadata.json"))) == 1:
            break
    assert len(list(versions.glob("v*.metadata.json"))) == 1
    verify(tmp_path)
    assert maintain(tmp_path, "--orphan-min-age", "0s", "--force")["orphans_deleted"] == 0
    rows = json.loads(timelake(tmp_path, "sql", "--format", "json", "SELECT max(v) AS newest, count(*) AS n, "
                               "count(DISTINCT device) AS devices FROM t WHERE v < 100"))
    assert rows == [{"newest": float(ROUNDS), "n": ROUNDS, "devices": 1}]
