"""One task of the maintenance benchmark in a process of its own; prints its answer as JSON.

    task.py build SYSTEM FOLDER DATA CASE      writes the table of a case, unmaintained
    task.py maintain SYSTEM FOLDER CASE        maintains it: seconds, CPU seconds, peak MB beyond what was there before

SYSTEM is ours or peer. What a client prints goes to stderr.
"""

import json
import os
import pathlib
import random
import shutil
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "write"))
import data
from serve import data_bytes, peak_mb, rss_mb

# set of bench/write/data.py, appends, share of the rows that come again, with other values, in five more appends
CASES = {"cpu": ("cpu", 72, 0.0), "iot-late": ("iot", 72, 0.2), "iiot": ("iiot", 72, 0.0), "large": (None, 20, 0.0)}
LARGE_ROWS, LARGE_BUDGET = 20_000_000, 512 << 20


def large_part(number, parts):
    """A part of 20 million rows of one month: 2,000 series, each part has some of each."""
    rows = LARGE_ROWS // parts
    random_ = np.random.default_rng(number)
    index = np.arange(rows, dtype=np.int64) * parts + number
    names = pa.array([f"device-{i:04}" for i in range(2000)])
    return pa.table({"time": data.times(data.START_US + index * 100_000),
                     "device": names.take(pa.array(index % 2000)),
                     "a": random_.normal(50, 10, rows), "b": np.rint(random_.normal(50, 10, rows)),
                     "c": index // 1000})


def parts_of(case, source):
    name, parts, again = CASES[case]
    if case == "large":
        for number in range(parts):
            yield large_part(number, parts)
        return
    rows = data.read(name, source)
    step = -(-rows.num_rows // parts)
    for begin in range(0, rows.num_rows, step):
        yield rows.slice(begin, step)
    if again:
        chosen = sorted(random.Random(1).sample(range(rows.num_rows), int(again * rows.num_rows)))
        late = rows.take(pa.array(chosen))
        for i, field in enumerate(late.schema):
            if pa.types.is_floating(field.type):
                late = late.set_column(i, field, pc.add(late[field.name], 1.0))
        step = -(-late.num_rows // 5)
        for begin in range(0, late.num_rows, step):
            yield late.slice(begin, step)


def build(system, folder, source, case):
    import timelake

    shutil.rmtree(folder, ignore_errors=True)
    lake = timelake.Lake(folder)
    key = ["device"] if case == "large" else data.KEYS[CASES[case][0]]
    table, rows = None, 0
    for part in parts_of(case, source):
        if table is None:
            table = lake.create_table("t", part.schema, time_column="time", series_key=key,
                                      chunk="month" if case == "large" else "day", ingest_time=False)
        table.append(part, maintain=False)
        rows += part.num_rows
    return {"rows": rows, "bytes": data_bytes(folder, "t")}


def maintain(system, folder, case):
    import timelake

    table = timelake.Lake(folder).table("t")
    options = {"settings": {"write-memory-bytes": str(LARGE_BUDGET)}} if case == "large" and system == "ours" else {}
    before = rss_mb()
    start, cpu = time.perf_counter(), time.process_time()
    report = table.maintain(**options)
    answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "mb": peak_mb() - before}
    answer |= {"files_rewritten": report["files_rewritten"], "files_written": report["files_written"],
               "duplicates": report["duplicates_removed"]}
    answer["rows"] = timelake.Lake(folder).sql("SELECT count(*) AS n FROM t").to_pylist()[0]["n"]
    return answer


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    do, arguments = sys.argv[1], sys.argv[2:]
    print(json.dumps({"build": build, "maintain": maintain}[do](*arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main()
