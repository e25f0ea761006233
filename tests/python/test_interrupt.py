"""Ctrl-C: within 100 ms, as KeyboardInterrupt, wherever the call is; and nothing is left half done."""

import statistics
import sys

import pytest

from conftest import run_python

# Time until the signal; then how long until KeyboardInterrupt, told by the program itself.
PROLOGUE = """
ENDLESS = "SELECT sum(a.i * b.i) FROM range(3000000) a(i), range(3000000) b(i)"
import os, signal, sys, threading, time
import pyarrow as pa, timelake

sent = 0.0
def send():
    global sent
    time.sleep(DELAY)
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

lake = timelake.Lake("wh")
def measure(call, delay=0.4):
    global DELAY
    DELAY = delay
    threading.Thread(target=send, daemon=True).start()
    try:
        call()
    except KeyboardInterrupt as error:
        print(f"{(time.perf_counter() - sent) * 1000:.1f}", *getattr(error, "__notes__", []))
    else:
        print("not interrupted")
"""

ENDLESS = "SELECT sum(a.i * b.i) FROM range(3000000) a(i), range(3000000) b(i)"
HASHES = "SELECT hash(i) AS h FROM range(60000000) r(i)"
SORTED = f"SELECT lag(h) OVER (ORDER BY h) AS x FROM ({HASHES})"
SELDOM = "SELECT i FROM range(9000000000) r(i) WHERE i % 10000 = 0"

CALLS = {
    "cross product": f"measure(lambda: lake.sql('{ENDLESS}').fetch_all())",
    "sort": f"measure(lambda: lake.sql('SELECT max(x) FROM ({SORTED})').fetch_all())",
    "hash table": f"measure(lambda: lake.sql('SELECT count(*) FROM ({HASHES} GROUP BY h)').fetch_all(), 1.0)",
    "batches": "measure(lambda: [time.sleep(0.001) for b in lake.sql('FROM range(2000000000)').fetch_batches()])",
    "fetch_all": f"measure(lambda: lake.sql('{SELDOM}').fetch_all())",
    "stream to pyarrow": f"measure(lambda: pa.table(lake.sql('{SELDOM}')))",
    "stream to polars": f"import polars; measure(lambda: polars.DataFrame(lake.sql('{SELDOM}')))",
    "session": f"s = lake.session(); measure(lambda: s.sql('{ENDLESS}').fetch_all())",
}


def measured(code, tmp_path):
    output = run_python(PROLOGUE + code, cwd=tmp_path)
    return [line.split(" ", 1) for line in output.splitlines()]


def prompt(most_ms, attempt, tmp_path):
    """The best of three attempts, each in a folder of its own: a machine with other work may be late once."""
    latencies = []
    while len(latencies) < 3:
        folder = tmp_path / str(len(latencies))
        folder.mkdir()
        latency = attempt(folder)
        if latency is None or float(latency) < most_ms:
            return
        latencies.append(latency)
    raise AssertionError(f"{latencies} ms, at most {most_ms} are expected")


@pytest.mark.parametrize("kind", CALLS)
def test_queries_stop(kind, tmp_path):
    def attempt(folder):
        ((latency, *_),) = measured(CALLS[kind], folder)
        return latency

    prompt(100, attempt, tmp_path)


APPEND = """
t = lake.create_table("t", "time:timestamptz, device:string, v:double", time_column="time", series_key=["device"])
import numpy as np
n = 3_000_000
times = pa.array(np.arange(n) * 1_000_000 + 1_767_398_400_000_000).cast(pa.timestamp("us", "UTC"))
devices = pa.array([f"d{i % 100}" for i in range(n)])
data = pa.table({"time": times, "device": devices, "v": np.random.default_rng(1).random(n)})
"""


@pytest.mark.parametrize("delay", [0.05, 0.2, 0.4, 0.7])
def test_appends_stop_and_commit_nothing(delay, tmp_path):
    code = (
        APPEND
        + f"measure(lambda: t.append(data), {delay}); print(timelake.Lake('wh').table('t').info()['rows'])"
    )

    def attempt(folder):
        (first, (rows,)) = measured(code, folder)
        if first[0] == "not":  # done before the signal came
            assert rows == "3000000"
            return None
        # The outcome is known: nothing is in the table, or a note says that it is.
        assert rows == ("3000000" if len(first) > 1 and "committed" in first[1] else "0")
        return first[0]

    prompt(600, attempt, tmp_path)


@pytest.mark.parametrize(
    "call", ["t.import_files('big.csv')", "lake.import_files('u', 'big.csv', 'time')"]
)
def test_imports_stop_and_commit_nothing(call, tmp_path):
    with open(tmp_path / "big.csv", "w") as file:
        file.write("time,device,v\n")
        file.writelines(
            f"2026-01-03T00:00:{i % 60:02}.{i // 60:06}Z,d,{i}\n" for i in range(1_000_000)
        )
    code = f"""
t = lake.create_table("t", "time:timestamptz, device:string, v:double", time_column="time")
measure(lambda: {call.replace("big.csv", "../big.csv")}, 0.15)
print(*lake.tables(), t.info()["rows"])
"""

    def attempt(folder):
        ((latency,), (tables, rows)) = measured(code, folder)
        assert (tables, rows) == ("default.t", "0")
        return latency

    prompt(300, attempt, tmp_path)


def test_a_generator_is_interrupted_where_it_waits(tmp_path):
    code = """
def slow():
    while True:
        time.sleep(0.01)
        yield {"time": ["2026-01-03"], "device": ["a"], "v": [1]}
t = lake.create_table("t", "time:timestamptz, device:string, v:double", time_column="time")
measure(lambda: t.append(slow()))
print(t.info()["rows"])
"""

    def attempt(folder):
        ((latency,), (rows,)) = measured(code, folder)
        assert rows == "0"
        return latency

    prompt(100, attempt, tmp_path)


def test_the_lake_works_on_after_it(tmp_path):
    code = CALLS["cross product"] + "\nprint(lake.sql('SELECT 41 + 1 AS n')['n'].to_pylist())"
    _, (answer,) = measured(code, tmp_path)
    assert answer == "[42]"


def test_a_handler_of_ones_own(tmp_path):
    """Any signal whose handler raises stops the call; a handler that returns does not."""
    code = """
import signal
class Stop(Exception): pass
def handler(number, frame): raise Stop
seen = []
signal.signal(signal.SIGALRM, handler)
signal.signal(signal.SIGUSR1, lambda *a: seen.append(time.perf_counter()))
signal.setitimer(signal.ITIMER_REAL, 0.5)
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
start = time.perf_counter()
try:
    lake.sql(ENDLESS).fetch_all()
except Stop:
    print("stopped", 0.4 < time.perf_counter() - start < 0.8, len(seen), seen[0] - start < 0.35)
"""
    (words,) = measured(code, tmp_path)
    assert words == ["stopped", "True 1 True"]


def test_ctrl_c_ends_a_script(tmp_path):
    code = (
        PROLOGUE
        + """
threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
lake.sql(ENDLESS).fetch_all()
"""
    )
    process = run_python(code, cwd=tmp_path, check=False)
    assert process.returncode in (-2, 130), process.stderr
    assert "KeyboardInterrupt" in process.stderr and "Fatal" not in process.stderr


def test_other_threads_go_on(lake, timelake):
    """A query on a thread of its own is stopped by a session's interrupt, not by signals."""
    import threading
    import time

    session = lake.session()
    caught = []

    def work():
        try:
            session.sql(ENDLESS).fetch_all()
        except timelake.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    session.interrupt()
    thread.join(5)
    assert not thread.is_alive() and len(caught) == 1


if __name__ == "__main__":
    import pathlib
    import tempfile

    for name in CALLS:
        latencies = [
            float(measured(CALLS[name], pathlib.Path(tempfile.mkdtemp()))[0][0]) for _ in range(5)
        ]
        print(
            f"{name:20} median {statistics.median(latencies):6.1f} ms, most {max(latencies):6.1f} ms",
            file=sys.stdout,
        )
