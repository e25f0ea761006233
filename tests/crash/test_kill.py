"""A process that appends is killed (SIGKILL) inside every step of a commit; every acknowledged batch is there."""

import json
import os
import pathlib
import random
import signal
import subprocess

import pytest
from pyiceberg.table import StaticTable

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TIMELAKE_BIN", str(ROOT / "build/dev/timelake"))
CHILD = pathlib.Path(os.environ.get("TIMELAKE_BUILD_DIR", ROOT / "build/dev")) / "crash_child"
# Rows of one append: one, and so many that they wait on disk and are merged.
SPILLING = 3000
STEPS = ["data", "manifest", "list", "index", "link", "hint"]


def timelake(warehouse, *arguments):
    return subprocess.run([BINARY, "-w", str(warehouse), *arguments], check=True, capture_output=True, text=True,
                          timeout=120).stdout


def make(tmp_path):
    timelake(tmp_path, "create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--prop", "max-snapshots=10000")


def run_child(warehouse, first, step, moment, nth, rows, ahead=None):
    """Its acknowledgements, one a line."""
    folder = warehouse / "tmp"
    folder.mkdir(exist_ok=True)
    child = subprocess.run([CHILD, warehouse, "t", str(first), step, moment, str(nth), str(rows),
                            *([ahead] if ahead else [])],
                           capture_output=True, text=True, timeout=120, env=os.environ | {"TMPDIR": str(folder)})
    assert child.returncode == -signal.SIGKILL, child.stderr
    # A record of the write-ahead file that was cut off is kept aside; nobody was told that it was taken.
    known = {ahead, ahead.with_name(ahead.name + ".torn")} if ahead else set()
    assert [path for path in folder.iterdir() if path not in known] == [], "rows that waited are left behind"
    return child.stdout.splitlines()


def numbers(appends, rows):
    return [number for i in appends for number in range(i * rows, (i + 1) * rows)]


def check(warehouse, acknowledged, newest):
    """All acknowledged rows once, at most the one in flight beyond; PyIceberg agrees; the newest index row too."""
    rows = json.loads(timelake(warehouse, "sql", "--format", "json", "SELECT v::BIGINT AS v FROM t ORDER BY v"))
    values = [row["v"] for row in rows]
    assert len(values) == len(set(values)), "a row twice"
    assert set(acknowledged) <= set(values), sorted(set(acknowledged) - set(values))[:5]
    assert set(values) - set(acknowledged) <= set(newest), "rows that nobody sent"
    # Other engines start from the hint, which a process killed before it could write it leaves one behind.
    table = StaticTable.from_metadata(str(warehouse / "default/t"))
    theirs = [int(v) for v in table.scan().to_arrow()["v"].to_pylist()]
    assert len(theirs) == len(set(theirs)) and set(acknowledged) <= set(theirs) <= set(values)
    latest = json.loads(timelake(warehouse, "latest", "t", "--format", "json"))
    assert max((int(row["v"]) for row in latest), default=None) == max(values, default=None)
    return values


def kill_rounds(tmp_path, step, rounds, seed, rows=1):
    make(tmp_path)
    acknowledged, next_append, in_flight = [], 0, []
    randomness = random.Random(seed)
    for round_ in range(rounds):
        moment = ("before", "after")[round_ % 2]
        told = run_child(tmp_path, next_append, step, moment, randomness.randint(1, 3), rows)
        acknowledged += [int(line.split()[0]) for line in told]
        in_flight.append(next_append + len(told))
        values = check(tmp_path, numbers(acknowledged, rows), numbers(in_flight, rows))
        assert len(values) % rows == 0, "a part of an append"
        # The next process repeats the batch in flight: it counts once, whether or not it went in.
        next_append = in_flight[-1]
        if round_ % 3 == 2:
            next_append = max(values) // rows + 1 if values else 0
    return acknowledged


@pytest.mark.parametrize("step", STEPS)
def test_killed_inside(tmp_path, step):
    kill_rounds(tmp_path, step, 4, seed=1)


@pytest.mark.parametrize("step", ["data", "link"])
def test_killed_while_rows_wait_on_disk(tmp_path, step):
    kill_rounds(tmp_path, step, 4, seed=4, rows=SPILLING)


def kill_groups(tmp_path, step, rounds, seed, group=7):
    """Single rows that an appender commits together; `group` of them are waited for at once."""
    make(tmp_path)
    acknowledged, first, in_flight = [], 0, []
    randomness = random.Random(seed)
    for round_ in range(rounds):
        moment = ("before", "after")[round_ % 2]
        told = run_child(tmp_path, first, step, moment, randomness.randint(1, 3), -group)
        acknowledged += [int(line.split()[0]) for line in told]
        in_flight += range(first + len(told), first + len(told) + group)
        values = check(tmp_path, acknowledged, in_flight)
        first = max([*values, *in_flight]) + 1


@pytest.mark.parametrize("step", ["data", "link"])
def test_killed_in_a_group_commit(tmp_path, step):
    kill_groups(tmp_path, step, 4, seed=5)


def kill_with_a_write_ahead_file(tmp_path, step, rounds, seed, group=7):
    """Every row that was taken is there once the next appender has opened the file, and the file goes in the end."""
    make(tmp_path)
    ahead = tmp_path / "tmp/rows"
    taken, first, in_flight = [], 0, []
    randomness = random.Random(seed)
    for round_ in range(rounds):
        moment = ("before", "after")[round_ % 2]
        told = run_child(tmp_path, first, step, moment, randomness.randint(1, 3), -group, ahead)
        taken += [int(line.split()[0]) for line in told]
        in_flight.append(first + len(told))  # taken, perhaps, and not told
        first += len(told) + group
        if round_ % 2 == 0:  # else the next process finds it
            subprocess.run([CHILD, tmp_path, "t", "-1", "none", "before", "0", str(-group), ahead], check=True, timeout=120)
            assert not ahead.exists()
            check(tmp_path, taken, in_flight)
    subprocess.run([CHILD, tmp_path, "t", "-1", "none", "before", "0", str(-group), ahead], check=True, timeout=120)
    assert not ahead.exists()
    check(tmp_path, taken, in_flight)


@pytest.mark.parametrize("step", ["data", "link", "hint"])
def test_killed_with_a_write_ahead_file(tmp_path, step):
    kill_with_a_write_ahead_file(tmp_path, step, 5, seed=7)


@pytest.mark.full
@pytest.mark.parametrize("step", STEPS)
def test_killed_with_a_write_ahead_file_many_times(tmp_path, step):
    kill_with_a_write_ahead_file(tmp_path, step, 24, seed=8)


@pytest.mark.full
@pytest.mark.parametrize("step", STEPS)
def test_killed_in_a_group_commit_many_times(tmp_path, step):
    kill_groups(tmp_path, step, 24, seed=6)


@pytest.mark.full
@pytest.mark.parametrize("rows", [1, SPILLING])
@pytest.mark.parametrize("step", STEPS)
def test_killed_inside_many_times(tmp_path, step, rows):
    kill_rounds(tmp_path, step, 24, seed=2, rows=rows)


@pytest.mark.full
def test_killed_at_any_time(tmp_path):
    """Kills by the clock: they land where no hook is."""
    make(tmp_path)
    randomness = random.Random(3)
    acknowledged, in_flight, next_row = [], [], 0
    for _ in range(60):
        child = subprocess.Popen([CHILD, tmp_path, "t", str(next_row), "none", "before", "0", "1"], stdout=subprocess.PIPE,
                                 text=True)
        wanted, told = randomness.randint(1, 6), []
        while len(told) < wanted:  # bounded: the child appends or ends
            line = child.stdout.readline()
            assert line, "the child ended by itself"
            told.append(int(line.split()[0]))
        for _ in range(randomness.randint(0, 20_000)):
            pass  # a little later, inside whatever comes next
        child.kill()
        told += [int(line.split()[0]) for line in child.stdout.read().splitlines()]
        child.wait(timeout=30)
        acknowledged += told
        in_flight.append(next_row + len(told))
        next_row = in_flight[-1]
        check(tmp_path, acknowledged, in_flight)
