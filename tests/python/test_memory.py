"""Memory stays flat: reading and appending much more than it, and thousands of small calls.

Each test is short in `make test`; the same with real sizes runs in the tier `long`.
"""

import pytest

from conftest import run_python

PROLOGUE = """
import gc, os, resource, sys, time
import numpy as np
import pyarrow as pa
import timelake

def peak():
    # Not ru_maxrss: a process begins with that of the one which started it.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1.024 / 1e3

def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6

def times(start, n):
    return pa.array(1_767_398_400_000_000 + (start + np.arange(n)) * 1_000).cast(pa.timestamp("us", "UTC"))

lake = timelake.Lake("wh")
table = lake.create_table("t", "time:timestamptz, device:string, a:double, b:double, c:double",
                          time_column="time", series_key=["device"])
"""

# Rows of 48 bytes in memory, in the order of time, devices at random.
APPEND = """
rng = np.random.default_rng(1)
devices = pa.array([f"device-{i}" for i in range(100)])

def batches(start, rows, size=50_000, seen=None):
    for at in range(start, start + rows, size):
        yield pa.record_batch({
            "time": times(at, size),
            "device": devices.take(pa.array(rng.integers(0, 100, size))),
            "a": rng.random(size), "b": rng.random(size), "c": rng.random(size),
        })
        if seen is not None:
            seen.append(rss())

def load(total, each):
    for start in range(0, total, each):
        assert table.append(batches(start, each))["rows"] == each

def load_at_once(total, memory):
    seen, before = [], rss()
    report = table.append(batches(0, total, seen=seen), settings={"write-memory-bytes": memory})
    assert report["rows"] == total and table.info()["snapshots"] == 1
    return peak() - before, seen
"""

READ = """
def read(query):
    rows, peak = 0, 0.0
    for batch in lake.sql(query).fetch_batches():
        rows += batch.num_rows
        peak = max(peak, rss())
    return rows, peak
"""


def numbers(output):
    return [float(word) for word in output.split()]


def appending(total, memory, tmp_path, timeout):
    """Of one append: its peak over what there was before, in MB, and the memory after each batch."""
    code = PROLOGUE + APPEND + f"beyond, seen = load_at_once({total}, {memory})\nprint(beyond, *seen)"
    beyond, *seen = numbers(run_python(code, cwd=tmp_path, timeout=timeout))
    return beyond, seen


def check_flat(peaks, slack):
    """The later half is no higher than the earlier one, but for what allocators keep."""
    half = len(peaks) // 2
    assert max(peaks[half:]) < max(peaks[:half]) + slack, peaks


def test_one_append_through_a_generator(tmp_path):
    beyond, seen = appending(3_000_000, 32 << 20, tmp_path, 120)  # 144 MB
    check_flat(seen, slack=20)
    assert beyond < 160  # the first append of a process takes some by itself


@pytest.mark.long
def test_20_million_rows_in_half_a_gibibyte(tmp_path):
    beyond, _ = appending(20_000_000, 512 << 20, tmp_path, 1200)
    assert beyond < 512 * 1.048576


@pytest.mark.long
def test_appending_10_gb(tmp_path):
    beyond, seen = appending(208_000_000, 1 << 30, tmp_path, 3000)
    check_flat(seen[len(seen) // 10:], slack=300)
    assert beyond < 1024 * 1.048576


# A row of each of so many series, in no order; one of each of so many days and devices, in no order.
MANY = """
def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

def in_no_order(count, size=50_000, step=7_368_787):
    for at in range(0, count, size):
        yield np.arange(at, min(count, at + size)) * step % count

def series(count):
    for i in in_no_order(count):
        yield pa.record_batch({"time": times(0, len(i)), "device": pa.array(np.char.add("device-", i.astype("U8"))),
                               "v": i * 0.5})

def days(count, devices):
    for i in in_no_order(count * devices):
        day = pa.array(i // devices * 86_400_000_000).cast(pa.timestamp("us", "UTC"))
        yield pa.record_batch({"time": day, "device": pa.array(np.char.add("device-", (i % devices).astype("U8"))),
                               "v": i * 0.5})

def measured(table, batches, rows, memory):
    # Once before, so that what a process takes for its first append does not count.
    table.append(next(series(1000)))
    before = rss()
    reset_peak()
    report = table.append(batches, settings={"write-memory-bytes": memory})
    assert report["rows"] == rows
    return peak() - before, report

def new_table(**options):
    return lake.create_table("s", "time:timestamptz, device:string, v:double", time_column="time",
                             series_key=["device"], **options)
"""


def appending_series(count, memory, tmp_path, timeout):
    """Peak of one append of so many series over what there was before, in MB; the index must answer."""
    code = PROLOGUE + MANY + f"""
beyond, report = measured(new_table(), series({count}), {count}, {memory})
assert timelake.Lake("wh").latest("s").num_rows == {count}
print(beyond)
"""
    return numbers(run_python(code, cwd=tmp_path, timeout=timeout))[0]


# Of a row of `series` in memory: text, offset, time, number. The newest row of each series is held
# beyond the budget (README, "Limits of this version").
SERIES_MB = 36e-6
# Of encoders, threads and what allocators keep, whatever the budget.
FIXED_MB = 90


def test_a_million_series(tmp_path):
    """A tenth of the series and of the budget."""
    beyond = appending_series(1_000_000, (1 << 30) // 10, tmp_path, 120)
    assert beyond < 107.4 + 1_000_000 * SERIES_MB + FIXED_MB


@pytest.mark.long
def test_10_million_series(tmp_path):
    assert appending_series(10_000_000, 1 << 30, tmp_path, 600) < 1024 * 1.048576


@pytest.mark.long
def test_10_million_series_in_half_a_gibibyte(tmp_path):
    beyond = appending_series(10_000_000, 512 << 20, tmp_path, 600)
    assert beyond < 512 * 1.048576 + 2 * 10_000_000 * SERIES_MB  # while parts of them are put together


def fanning_out(days, devices, memory, tmp_path, **options):
    code = PROLOGUE + MANY + f"""
import logging
warnings = []
class Seen(logging.Handler):
    def emit(self, record):
        if record.levelno >= logging.WARNING: warnings.append(record.getMessage())
logging.getLogger("timelake").addHandler(Seen())
beyond, report = measured(new_table(**{options}), days({days}, {devices}), {days * devices}, {memory})
fan_out = [text for text in warnings if "partitions, and writes a file for each" in text]
print(beyond, report["files"], len(fan_out))
assert lake.sql("SELECT count(*) AS n, sum(v) AS s FROM s").to_pylist()[0]["n"] >= {days * devices}
"""
    return numbers(run_python(code, cwd=tmp_path, timeout=240))


@pytest.mark.parametrize("memory", [1 << 30, 16 << 20])
@pytest.mark.parametrize("days", [1200, pytest.param(5000, marks=pytest.mark.long)])
def test_one_append_into_many_days(tmp_path, days, memory):
    beyond, files, warnings = fanning_out(days, 40, memory, tmp_path)
    assert (files, warnings) == (days, 1)
    assert beyond < 100


def test_buckets_do_not_make_tiny_files(tmp_path):
    _, files, warnings = fanning_out(500, 40, 1 << 30, tmp_path, partition_by=["bucket(16)"])
    assert (files, warnings) == (500, 0)


def test_reading_batch_by_batch(tmp_path):
    code = (
        PROLOGUE
        + READ
        + """
read("SELECT i, i * 0.5 AS v, 'text ' || i AS s FROM range(200000) r(i)")
before = rss()
print(before, *read("SELECT i, i * 0.5 AS v, 'text ' || i AS s FROM range(10000000) r(i)"))
"""
    )
    before, rows, peak = numbers(run_python(code, cwd=tmp_path))
    assert rows == 10_000_000  # about 400 MB
    assert peak < before + 100


@pytest.mark.long
def test_reading_10_gb(tmp_path):
    """A table that was appended in parts, read back many times over: 10 GB through one generator after another."""
    code = (
        PROLOGUE
        + APPEND
        + READ
        + """
load(10_000_000, 2_000_000)
first = read("FROM t")
peaks = [read("FROM t")[1] for _ in range(21)]
print(first[0], *peaks)
"""
    )
    rows, *peaks = numbers(run_python(code, cwd=tmp_path, timeout=3000))
    assert rows == 10_000_000
    check_flat(peaks, slack=150)


LEAK = """
row = {"time": times(0, 10), "device": ["a"] * 10, "a": [1.0] * 10, "b": [1.0] * 10, "c": [1.0] * 10}
live = pa.table(row)

def work(n):
    for i in range(n):
        CALL
    gc.collect()

work(WARM)
objects, sizes = len(gc.get_objects()), []
for _ in range(8):
    work(N)
    sizes.append(rss())
print(len(gc.get_objects()) - objects, *sizes)
"""

CALLS = {
    "query": "assert lake.sql('SELECT $i + 1 AS n', {'i': i}).to_pylist()[0]['n'] == i + 1",
    "unread": "lake.sql('SELECT i FROM range(100) r(i)')",
    "open": "lake.sql('SELECT i FROM range(1000000) r(i)').close() if i % 10 == 0 else None",
    "half read": "next(lake.sql('SELECT i FROM range(100000) r(i)').fetch_batches())",
    "stream": "pa.table(lake.sql('SELECT i FROM range(100) r(i)'))",
    "error": """
        try: lake.sql('SELECT nope')
        except ValueError: pass""",
    "append refused": """
        try: table.append({'nope': [1]})
        except ValueError: pass""",
    "append nothing": "table.append(live.slice(0, 0))",
    "data in": "timelake._data.to_source(live, None)",
    "info": "table.info(); table.schema; table.files(); lake.tables()",
    "open table": "timelake.Lake('wh').table('t')",
}


def leak(call, warm, count, tmp_path, timeout=120, prepared=""):
    """New Python objects, then the memory after each eighth of the calls."""
    code = PROLOGUE + prepared + LEAK.replace("WARM", str(warm)).replace("N)", f"{count // 8})")
    objects, *sizes = numbers(run_python(code.replace("CALL", call), cwd=tmp_path, timeout=timeout))
    return objects, sizes


def check_no_leak(objects, sizes, slack):
    """A leak grows all the time; what allocators keep goes up and down."""
    grown = min(sizes[4:]) - max(sizes[:4])
    assert grown < slack and objects < 500, (objects, sizes)


@pytest.mark.parametrize("kind", CALLS)
def test_no_leak(kind, tmp_path):
    check_no_leak(*leak(CALLS[kind], 100, 320, tmp_path), slack=8)


APPEND_ROWS = "assert table.append(live)['rows'] == 10"
LATEST = "assert lake.latest('t').num_rows <= 1"


def test_appends_do_not_leak(tmp_path):
    check_no_leak(*leak(APPEND_ROWS, 50, 160, tmp_path), slack=8)


@pytest.mark.long
@pytest.mark.parametrize("kind", CALLS)
def test_10000_calls(kind, tmp_path):
    check_no_leak(*leak(CALLS[kind], 1000, 10_000, tmp_path, 1800), slack=8)


@pytest.mark.long
def test_10000_appends(tmp_path):
    """With maintenance: without, the metadata of a table grows with its snapshots, and memory too."""
    call = APPEND_ROWS + "\n        if i % 50 == 0: table.maintain()"
    call += "\n        if i % 10 == 0: " + LATEST
    prepared = "table.set_properties({'snapshot-retention': '0s', 'max-snapshots': 20})\n"
    check_no_leak(*leak(call, 1000, 10_000, tmp_path, 3000, prepared), slack=60)
