"""Appends a minute's rows of 1,000 devices at a time, 1 % of them late; prints a point of the curves every two hours.

    minutes.py FOLDER DAYS
"""

import json
import pathlib
import shutil
import sys
import time

import numpy as np
import pyarrow as pa

MINUTE = 60_000_000
DEVICES = pa.array([f"device-{i:04}" for i in range(1000)])


def minute(begin_us, number, random):
    late = np.where(random.random(1000) < 0.01, random.integers(0, 6 * 60, 1000) * MINUTE, 0)
    at = begin_us + number * MINUTE + random.integers(0, MINUTE, 1000) - np.minimum(late, number * MINUTE)
    return pa.table({"time": pa.array(at, pa.int64()).cast(pa.timestamp("us", "UTC")), "device": DEVICES,
                     "a": np.rint(random.normal(500, 100, 1000)) / 10, "b": random.normal(50, 10, 1000),
                     "state": random.integers(0, 4, 1000)})


def stored(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*.parquet") if "/data/" in str(path))


def main():
    import timelake

    folder, days = sys.argv[1], int(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    random = np.random.default_rng(1)
    appends = days * 24 * 60
    begin = (int(time.time() * 1e6) // MINUTE - appends) * MINUTE
    table = timelake.Lake(folder).create_table(
        "t", minute(begin, 0, random).schema, time_column="time", series_key="device",
        properties={"snapshot-retention": "1s", "metadata-min-age": "1s", "delete-min-age": "1s", "max-future": "off"})
    appended = written = 0
    seen = set()
    for number in range(appends):
        report = table.append(minute(begin, number, random))
        appended += report["bytes"]
        if (number + 1) % 120 == 0:
            if (number + 1) % 1440 == 0:
                table.maintain(expire=False)
            for snapshot in table.snapshots():
                if snapshot["snapshot_id"] not in seen:
                    seen.add(snapshot["snapshot_id"])
                    written += int(snapshot["summary"].get("added-files-size", 0))
            table.maintain(compact=False)  # what merging left behind goes
            start = time.perf_counter()
            table.maintain(dry_run=True)
            plan_ms = (time.perf_counter() - start) * 1000
            info = table.info()
            print(json.dumps({"day": (number + 1) / 1440, "appends": number + 1, "appended": appended,
                              "written": written, "stored": stored(folder), "live": info["bytes"],
                              "files": info["files"], "plan_ms": plan_ms, "append_bytes": appended // (number + 1)}),
                  flush=True)


if __name__ == "__main__":
    main()
