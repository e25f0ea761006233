"""The sets of the write benchmark, as Arrow tables in the order of arrival.

    cpu    TSBS cpu-only: 1,728,000 rows x 21 columns, whole numbers as doubles (Parquet of the caller, else generated)
    iot    TSBS IoT readings: 1,650,360 rows x 16 columns, late batches (Parquet of the caller)
    iiot   generated: 1,000 tags once a second, each value mostly that of the second before; 1,800,000 rows x 5 columns
"""

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS = {"cpu": ["hostname"], "iot": ["name"], "iiot": ["tag"]}
START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z


def times(micros):
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))


def iiot(tags=1000, seconds=1800, seed=1):
    """Set points, states, counters and slow sensors of a plant."""
    random = np.random.default_rng(seed)
    names = pa.array([f"plant/line{i % 20:02}/tag{i:04}" for i in range(tags)])
    rows = tags * seconds
    changes = random.random((seconds, tags)) < 0.02
    steps = np.where(changes, np.rint(random.normal(0, 10, (seconds, tags))) / 10, 0)
    values = np.rint(random.uniform(0, 1000, tags)) / 10 + np.cumsum(steps, axis=0)
    moment = START_US + np.repeat(np.arange(seconds, dtype=np.int64) * 1_000_000, tags)
    return pa.table({
        "time": times(moment),
        "tag": names.take(pa.array(np.tile(np.arange(tags), seconds))),
        "value": np.round(values, 1).reshape(rows),
        "quality": pa.array(np.where(random.random(rows) < 0.001, 0, 192).astype(np.int32)),
        "count": pa.array(np.cumsum(changes, axis=0).reshape(rows).astype(np.int64)),
    })


def read(name, folder):
    """The set, or None where its file is missing."""
    if name == "iiot":
        return iiot()
    path = pathlib.Path(folder) / {"cpu": "tsbs_cpu.parquet", "iot": "tsbs_iot_readings.parquet"}[name]
    if path.exists():
        return pq.read_table(path)
    if name == "cpu":
        import sys

        sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "query"))
        import generate

        return next(generate.days(200, 1, 1))
    return None


def series(count, rows_each=1):
    """One row of each of many series."""
    index = np.arange(count * rows_each) % count
    return pa.table({
        "time": times(START_US + np.arange(count * rows_each, dtype=np.int64)),
        "device": pa.array(np.char.add("device-", index.astype("U8"))),
        "value": index * 0.5,
    })


HOUR_US = 3_600_000_000


def hours(count):
    """One row in each of the hours before START_US."""
    moment = START_US - np.arange(count, 0, -1, dtype=np.int64) * HOUR_US
    return pa.table({"time": times(moment), "device": pa.array(["device-0"] * count), "value": np.arange(count) * 0.5})


def newest(count, minute):
    """Rows of a hundred devices in one minute after START_US."""
    moment = START_US + minute * 60_000_000 + np.arange(count, dtype=np.int64) * (60_000_000 // count)
    device = pa.array([f"device-{i % 100}" for i in range(count)])
    return pa.table({"time": times(moment), "device": device, "value": np.arange(count) * 0.5})
