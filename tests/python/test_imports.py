"""One process with pyarrow, pandas, polars and another DuckDB, imported in any order; and how long an import takes."""

import itertools
import os
import subprocess
import sys

import pytest

from conftest import run_python

MODULES = ("timelake", "pyarrow", "pandas", "polars", "duckdb")

USE_ALL = """
import datetime, sys, threading
import duckdb, pandas, polars, pyarrow as pa, timelake

lake = timelake.Lake("wh")
table = lake.create_table("t", "time:timestamptz, device:string, v:double", time_column="time", series_key=["device"],
                          if_not_exists=True, dedup=False)
times = [datetime.datetime(2026, 1, 3, 0, i, tzinfo=datetime.UTC) for i in range(4)]
rows = pa.table({"time": times, "device": ["a", "b", "a", "b"], "v": [1.0, 2.0, 3.0, 4.0]})
connection = duckdb.connect()
for data in (rows, rows.to_pandas(), polars.from_arrow(rows), connection.sql("FROM rows")):
    assert table.append(data)["rows"] == 4

def mine():
    result = lake.sql("SELECT count(*) AS n, sum(v) AS v FROM t")
    assert result.to_pylist() == [{"n": 16, "v": 40.0}], result.to_pylist()

def theirs():
    result = lake.sql("FROM t")
    con = duckdb.connect()
    assert con.sql("SELECT count(*), sum(v) FROM result").fetchall() == [(16, 40.0)]
    assert con.execute("SELECT sum(i) FROM range(100000) r(i)").fetchall() == [(4999950000,)]

threads = [threading.Thread(target=work) for work in (mine, theirs) * 3]
for thread in threads: thread.start()
for thread in threads: thread.join()
mine(); theirs()
assert polars.DataFrame(lake.sql("FROM t")).height == 16
assert len(lake.sql("FROM t").to_pandas()) == 16
print("all together")
"""


def orders():
    """Each module first and last once, and each pair with timelake both ways; all 120 run in the tier `long`."""
    chosen = []
    for i in range(len(MODULES)):
        rotated = MODULES[i:] + MODULES[:i]
        chosen += [rotated, rotated[::-1]]
    return chosen


@pytest.mark.parametrize("order", orders(), ids="-".join)
def test_import_order(order, tmp_path):
    code = "\n".join(f"import {name}" for name in order) + USE_ALL
    assert run_python(code, cwd=tmp_path) == "all together\n"


@pytest.mark.long
@pytest.mark.parametrize("order", list(itertools.permutations(MODULES)), ids="-".join)
def test_every_import_order(order, tmp_path):
    code = "\n".join(f"import {name}" for name in order) + USE_ALL
    assert run_python(code, cwd=tmp_path) == "all together\n"


@pytest.mark.parametrize("order", [("duckdb", "timelake"), ("timelake", "duckdb")], ids="-".join)
def test_with_symbols_global(order, tmp_path):
    """dlopen flags that mix two copies of a library up, set by somebody else in the process."""
    imports = "\n".join(f"import {name}" for name in order)
    code = (
        f"import sys, os\nsys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)\n{imports}\n" + USE_ALL
    )
    code += "print(sys.getdlopenflags() == os.RTLD_NOW | os.RTLD_GLOBAL)"
    assert run_python(code, cwd=tmp_path) == "all together\nTrue\n"


def cpu_ms(code, runs=5):
    """CPU time of a fresh interpreter that runs `code`, without that of an empty one; least of some runs."""

    def once(code):
        program = "import resource, subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True); "
        program += "u = resource.getrusage(resource.RUSAGE_CHILDREN); print((u.ru_utime + u.ru_stime) * 1000)"
        return float(
            subprocess.run(
                [sys.executable, "-c", program, code], capture_output=True, check=True, text=True
            ).stdout
        )

    return min(once(code) for _ in range(runs)) - min(once("pass") for _ in range(runs))


def test_import_time():
    """Beside pyarrow's own; CPU time, since the machine may be busy."""
    alone = cpu_ms("import timelake")
    more = cpu_ms("import pyarrow, timelake") - cpu_ms("import pyarrow")
    print(f"import timelake: {alone:.0f} ms; after pyarrow: {more:.0f} ms more")
    assert alone < 150 and more < 150


def test_import_is_lazy():
    code = """
        import sys, timelake
        heavy = {"pyarrow", "numpy", "pandas", "polars", "duckdb", "matplotlib", "asyncio", "logging",
                 "tqdm", "IPython"}
        print(sorted(heavy & set(sys.modules)))
        lake = timelake.Lake("memory://m")
        lake.create_table("t", "n:int")
        print(sorted(heavy & set(sys.modules)))
    """
    assert run_python(code).splitlines() == ["[]", "[]"]


def test_exit_with_everything_open(tmp_path):
    """Globals that live to the end: no crash, no hang, no noise."""
    code = """
        import pyarrow as pa, timelake
        lake = timelake.Lake("wh")
        t = lake.create_table("t", "time:timestamptz, v:double", time_column="time")
        t.append({"time": ["2026-01-03"], "v": [1]})
        large = lake.sql("FROM range(100000000)")
        batches = lake.sql("FROM range(100000000)").fetch_batches()
        next(batches)
        reader = pa.RecordBatchReader.from_stream(lake.sql("FROM range(100000000)"))
        reader.read_next_batch()
        session = lake.session()
        half = session.sql("FROM range(100000000)")
    """
    process = run_python(code, cwd=tmp_path, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_command_starts_fast(tmp_path):
    """`python -m timelake` and the script replace themselves by the program, after finding Arrow."""
    import time

    best = 9.0
    for _ in range(5):
        start = time.perf_counter()
        output = subprocess.run(
            [sys.executable, "-m", "timelake", "--version"],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ,
        ).stdout
        best = min(best, time.perf_counter() - start)
    assert output.startswith("timelake ")
    print(f"python -m timelake --version: {best * 1000:.0f} ms")
    assert best < 1.0
