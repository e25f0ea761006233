"""The rollup benchmark of one system in a process of its own; prints its answer as JSON.

    task.py load SYSTEM FOLDER TAGS DAYS      writes the raw table: TAGS tags once in 10 s
    task.py time SYSTEM FOLDER TAGS DAYS RUNS builds a minute rollup, refreshes it after more hours, asks queries

SYSTEM is ours or peer. What a client prints goes to stderr.
"""

import json
import os
import pathlib
import shutil
import statistics
import sys
import time

import numpy as np
import pyarrow as pa

START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
STEP_US = 10_000_000
HOUR_US = 3_600_000_000
SELECT = ("SELECT tag, time_bucket('1 minute', time) AS bucket, count(value) AS n, sum(value) AS total, min(value) AS low, "
          "max(value) AS high FROM plant.raw GROUP BY tag, bucket")
QUERIES = {
    "hourly mean of all tags": "SELECT tag, time_bucket('1 hour', time) AS b, avg(value) AS v FROM plant.raw GROUP BY 1, 2",
    "daily count, mean, extremes": "SELECT tag, time_bucket('1 day', time) AS b, count(value) AS n, avg(value) AS v, "
                                   "min(value) AS low, max(value) AS high FROM plant.raw GROUP BY 1, 2",
    "hourly mean of one tag": "SELECT time_bucket('1 hour', time) AS b, avg(value) AS v FROM plant.raw WHERE tag = 'tag0007' GROUP BY 1",
}


def batch(tags, first_us, last_us, seed):
    """Rows of [first, last), in order of arrival."""
    random = np.random.default_rng(seed)
    steps = (last_us - first_us) // STEP_US
    names = pa.array([f"tag{i:04}" for i in range(tags)])
    times = first_us + np.repeat(np.arange(steps, dtype=np.int64) * STEP_US, tags)
    values = np.round(50 + np.cumsum(random.normal(0, 0.1, (steps, tags)), axis=0), 1).reshape(steps * tags)
    return pa.table({"time": pa.array(times).cast(pa.timestamp("us", "UTC")),
                     "tag": names.take(pa.array(np.tile(np.arange(tags), steps))), "value": values})


def settings(system, routing):
    found = {"rollup-routing": "true" if routing else "false"}
    if system == "ours":
        found["auto-maintain"] = "false"
    return found


def rows_of(result):
    return sorted(map(tuple, (row.values() for row in result.to_pylist())), key=str)


def seconds(action):
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


def load(timelake, system, folder, tags, days):
    shutil.rmtree(folder, ignore_errors=True)
    lake = timelake.Lake(folder)
    table = lake.create_table("plant.raw", batch(tags, 0, STEP_US, 0).schema, time_column="time", series_key=["tag"])
    for day in range(days):
        begin = START_US + day * 24 * HOUR_US
        table.append(batch(tags, begin, begin + 24 * HOUR_US, day))
    table.maintain()
    return {"rows": tags * days * 8640}


def measure(timelake, system, folder, tags, days, runs):
    lake = timelake.Lake(folder, settings=settings(system, True))
    raw = timelake.Lake(folder, settings=settings(system, False))
    answer = {}
    answer["build"], _ = seconds(lambda: lake.sql("CREATE MATERIALIZED ROLLUP plant.minutes AS " + SELECT +
                                                  " WITH (refresh_interval = 'off')").to_pylist())
    table = lake.table("plant.raw")
    end = START_US + days * 24 * HOUR_US
    for hours in (1, 6, 24, 96):
        table.append(batch(tags, end, end + hours * HOUR_US, hours))
        end += hours * HOUR_US
        answer[f"refresh after {hours} h"], _ = seconds(lambda: lake.sql("REFRESH MATERIALIZED ROLLUP plant.minutes").to_pylist())
    for name, query in QUERIES.items():
        for label, which in (("routed", lake), ("raw", raw)):
            times = []
            for _ in range(runs):
                took, result = seconds(lambda: which.sql(query).to_pylist())
                times.append(took)
            answer[f"{name}, {label}"] = statistics.median(times)
    wanted, got = rows_of(raw.sql(QUERIES["hourly mean of all tags"])), rows_of(lake.sql(QUERIES["hourly mean of all tags"]))
    same = len(wanted) == len(got) and all(a[:2] == b[:2] and abs(a[2] - b[2]) <= 1e-12 * abs(a[2]) for a, b in zip(wanted, got))
    if not same:
        raise SystemExit(f"{system}: the rollup does not say what the table says")
    return answer


def main():
    out = os.dup(1)
    os.dup2(2, 1)
    do, system, folder, tags, days, *rest = sys.argv[1:]
    import timelake

    target = pathlib.Path(folder)
    answer = (load(timelake, system, target, int(tags), int(days)) if do == "load"
              else measure(timelake, system, target, int(tags), int(days), int(rest[0])))
    os.write(out, (json.dumps(answer) + "\n").encode())


main()
