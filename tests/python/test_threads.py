"""Several threads at once, fork and spawn, asyncio: nobody waits for the GIL, and nobody gets a wrong answer."""

import asyncio
import multiprocessing
import threading
import time

import pyarrow as pa
import pytest

from conftest import SCHEMA

HEAVY = "SELECT sum(a.i * b.i) AS n FROM range(20000) a(i), range(2000) b(i)"
ENDLESS = "SELECT sum(a.i * b.i) FROM range(3000000) a(i), range(3000000) b(i)"


def in_threads(*works):
    """Runs each; what they raised is raised here."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_eight_threads_query_while_one_appends(lake):
    """Every answer is a whole number of appends, and what a thread has seen once it never misses again."""
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    appends, rows_each = 30, 100
    done = threading.Event()
    answers = []

    def append():
        try:
            for i in range(appends):
                times = [
                    f"2026-01-03T00:{i:02}:{s % 60:02}.{s // 60:03}Z" for s in range(rows_each)
                ]
                table.append(
                    {
                        "time": times,
                        "device": [f"d{s}" for s in range(rows_each)],
                        "v": [i] * rows_each,
                    }
                )
        finally:
            done.set()

    def query():
        seen = 0
        while not done.is_set() or seen == 0:
            row = lake.sql("SELECT count(*) AS n, count(DISTINCT v) AS k FROM t").to_pylist()[0]
            assert row["n"] == row["k"] * rows_each
            assert row["n"] >= seen
            seen = row["n"]
            answers.append(seen)
            assert lake.latest("t").num_rows in (0, rows_each)

    in_threads(append, *[query] * 8)
    assert lake.sql("SELECT count(*) AS n FROM t")["n"].to_pylist() == [appends * rows_each]
    assert len(answers) >= 8


def test_threads_append_through_one_handle(lake):
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])

    def work(number):
        for i in range(5):
            table.append(
                [{"time": f"2026-01-03T00:00:0{i}Z", "device": f"d{number}", "v": i}],
                batch_id=f"{number}-{i}",
            )

    in_threads(*[lambda n=n: work(n) for n in range(6)])
    assert table.info()["rows"] == 30


def count_while(call):
    """How often another Python thread gets to run during `call`."""
    ticks = 0
    over = threading.Event()

    def tick():
        nonlocal ticks
        while not over.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    try:
        call()
    finally:
        seconds = time.perf_counter() - start
        over.set()
        thread.join()
    return ticks / seconds


def test_long_calls_release_the_gil(lake, table, tmp_path):
    import numpy as np

    n = 1_000_000
    times = pa.array(np.arange(n) * 1_000_000 + 1_767_398_400_000_000).cast(
        pa.timestamp("us", "UTC")
    )
    data = pa.table({"time": times, "device": pa.array(["x"] * n), "v": np.zeros(n)})
    csv = tmp_path / "rows.csv"
    lines = (f"{t.isoformat()},d,1\n" for t in times[:50_000].to_pylist())
    csv.write_text("time,device,v\n" + "".join(lines))
    result = lake.sql(HEAVY.replace("20000)", "60000)"))
    for call in (
        lambda: lake.sql(HEAVY).fetch_all(),
        lambda: table.append(data),
        lambda: table.import_files(csv),
        lambda: pa.table(lake.sql("SELECT i FROM range(30000000) r(i) WHERE i % 3 = 0")),
        result.fetch_all,
    ):
        assert count_while(call) > 100


def test_a_result_read_by_several_threads(lake):
    result = lake.sql("SELECT i FROM range(500000) r(i)")
    tables = []
    in_threads(*[lambda: tables.append(result.fetch_all())] * 1)
    in_threads(*[lambda: tables.append(result.fetch_all().num_rows)] * 4)
    assert tables[1:] == [500_000] * 4


# --- fork and spawn ---

FORKED = """
import os, sys, timelake, pyarrow as pa
lake = timelake.Lake("wh")
table = lake.create_table("t", "time:timestamptz, device:string", time_column="time", series_key=["device"])
table.append([{"time": "2026-01-03", "device": "a"}])
result = lake.sql("FROM t")
large = lake.sql("FROM range(1000000)")
reader = pa.RecordBatchReader.from_stream(lake.sql("FROM range(1000000)"))
session = lake.session()
pid = os.fork()
if pid == 0:
    lines = []
    for call in (lake.tables, table.info, lambda: table.append([{"time": "2026-01-04", "device": "a"}]),
                 result.fetch_all, large.fetch_all, lambda: session.sql("SELECT 1"), lambda: lake.sql("SELECT 1"),
                 reader.read_all, table.latest):
        try:
            call()
            lines.append("no error")
        except (RuntimeError, pa.ArrowInvalid) as error:
            lines.append("forked" in str(error))
    del lake, table, result, large, reader, session
    lines.append(timelake.Lake("wh").sql("SELECT count(*) AS n FROM t")["n"].to_pylist())
    print(lines, flush=True)
    sys.exit(0)
_, status = os.waitpid(pid, 0)
rows = (result.num_rows, large.num_rows, reader.read_all().num_rows, table.info()["rows"])
print(os.waitstatus_to_exitcode(status), *rows)
"""


def test_fork(python, tmp_path):
    """What was opened before is refused in the child, with a clear message; the child ends, the parent goes on."""
    child, parent = python(FORKED, cwd=tmp_path, timeout=60).splitlines()
    assert child == str([True] * 9 + [[1]])
    assert parent == "0 1 1000000 1000000 1"


def test_the_message_says_what_to_do(python, tmp_path):
    code = """
    import os, timelake
    lake = timelake.Lake("wh")
    if os.fork() == 0:
        try:
            lake.tables()
        except RuntimeError as error:
            print(error, flush=True)
        os._exit(0)
    os.wait()
    """
    assert python(code, cwd=tmp_path).strip() == (
        "this Lake was opened before the process forked and cannot be used in the child: open a new Lake there, or "
        "start processes with the method 'spawn' or 'forkserver'"
    )


def test_fork_and_asyncio(python, tmp_path):
    code = """
    import asyncio, os, timelake
    lake = timelake.AsyncLake("wh")
    assert asyncio.run(lake.tables()) == []
    if os.fork() == 0:
        for call in (lake.tables, lambda: lake.sql("SELECT 1")):
            try:
                asyncio.run(call())
            except RuntimeError as error:
                print("forked" in str(error), flush=True)
        os._exit(0)
    os.wait()
    """
    assert python(code, cwd=tmp_path, timeout=30).split() == ["True", "True"]


def count_rows(location):
    import timelake

    return timelake.Lake(location).sql("SELECT count(*) AS n FROM readings")["n"].to_pylist()[0]


def append_one(work):
    table, number = work
    return table.append([{"time": f"2026-01-1{number}", "device": "a", "v": number}])["rows"]


def test_lakes_and_tables_go_to_other_processes(timelake, lake, table):
    import pickle

    hurried = timelake.Lake(lake.location, settings={"commit-timeout": "20s"})
    again = pickle.loads(pickle.dumps(hurried))
    assert again.location == lake.location and again._settings == {"commit-timeout": "20s"}
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(append_one, [(table, n) for n in range(4)]) == [1] * 4
    assert table.info()["rows"] == 8


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes(method, lake, table):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(count_rows, [lake.location] * 4) == [4] * 4


# --- asyncio ---


def test_async(timelake, tmp_path):
    async def main():
        async with timelake.AsyncLake(tmp_path / "wh") as lake:
            assert "AsyncLake" in repr(lake) and lake.location.endswith("/wh")
            table = await lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
            report = await table.append(
                [{"time": "2026-01-03", "device": "a", "v": 1}], batch_id="x"
            )
            assert report["rows"] == 1
            (tmp_path / "r.csv").write_text("time,device,v\n2026-01-04,b,2\n")
            assert (await table.import_files(tmp_path / "r.csv"))["rows"] == 1
            assert await lake.tables() == ["default.t"] and await lake.namespaces() == ["default"]
            result = await lake.sql("SELECT device FROM t WHERE v > $v ORDER BY 1", {"v": 0})
            assert (await result.fetch_all()).to_pylist() == [{"device": "a"}, {"device": "b"}]
            assert "AsyncResult" in repr(result) and result.schema.names == ["device"]
            assert (await (await lake.latest("t")).to_pandas()).shape == (2, 3)
            assert (await (await table.scan(["v"], start="2026-01-04")).to_polars()).height == 1
            batches = [
                b.num_rows async for b in (await lake.sql("FROM range(100000)")).fetch_batches()
            ]
            assert sum(batches) == 100_000 and len(batches) > 1
            assert (await table.info())["rows"] == 2 and len(await table.files()) == 2
            first = (await table.snapshots())[0]["snapshot_id"]
            await table.set_properties({"min-snapshots": 3})
            await table.alter(add={"p": "int"}, after="device")
            await table.alter(drop="p")
            await table.rollback(first)
            await table.refresh()
            await table.maintain()
            assert table.name == "default.t" and table.schema.names == ["time", "device", "v"]
            assert len((await lake.sql("FROM t")).result()) == 1
            open_result = await lake.sql("FROM range(1000000)")
            await open_result.close()
            with pytest.raises(KeyError):
                await lake.table("nope")
            await lake.drop_table("t")

    asyncio.run(main())


def test_the_loop_goes_on(timelake, tmp_path):
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        async with timelake.AsyncLake(tmp_path) as lake:
            ticker = asyncio.create_task(tick())
            start = time.perf_counter()
            results = await asyncio.gather(*[lake.sql(HEAVY) for _ in range(4)])
            seconds = time.perf_counter() - start
            ticker.cancel()
            assert [len(r.result()) for r in results] == [1] * 4
            assert ticks / seconds > 50

    asyncio.run(main())


def test_cancelling_a_task_stops_the_query(timelake, tmp_path):
    async def main():
        async with timelake.AsyncLake(tmp_path) as lake:
            start = time.perf_counter()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await lake.sql(ENDLESS)
            assert time.perf_counter() - start < 1.5
            task = asyncio.create_task(lake.sql(ENDLESS))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await (await lake.sql("SELECT 1 AS n")).fetch_all()).num_rows == 1

    asyncio.run(main())


def test_cancelling_an_append_commits_nothing(timelake, tmp_path):
    def slow():
        for i in range(1000):
            time.sleep(0.01)
            yield {"time": [f"2026-01-03T00:00:00.{i:03}Z"], "device": ["a"], "v": [1]}

    async def main():
        async with timelake.AsyncLake(tmp_path) as lake:
            table = await lake.create_table("t", SCHEMA, time_column="time")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await table.append(slow())
            assert (await table.info())["rows"] == 0

    asyncio.run(main())
