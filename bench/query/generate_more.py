"""The tables of the sections "late rows" and "first query".

late   rows of the cpu table sent again with other values, spread over all days, in several files
files  cpu data in the slices of many small appends
wide   many series of few rows: one file holds a row of each
"""

import sys

import generate
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

REGIONS = [f"region-{i:02}" for i in range(20)]
MODELS = ["alpha", "beta", "gamma", "delta"]
DOUBLES = [f"v{i}" for i in range(10)]
INTEGERS = [f"n{i}" for i in range(4)]
FILE_STEPS = 10  # times of reporting in one small append


def write_late(out, days, share, files, seed=1):
    """`share` of the rows of the files in the folder `days`, as `files` files of `out`."""
    out.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng([seed, 7])
    for number in range(files):
        picked = []
        for file in sorted(days.glob("*.parquet")):
            table = pq.read_table(file)
            count = round(table.num_rows * share / files)
            rows = random.choice(table.num_rows, count, replace=False)
            picked.append(table.take(pa.array(np.sort(rows))))
        table = pa.concat_tables(picked)
        for name in generate.METRICS:
            at = table.column_names.index(name)
            table = table.set_column(at, name, pc.subtract(100.0, table[name]))
        pq.write_table(table, out / f"late-{number:03}.parquet")


def write_files(out, hosts, count, seed=1):
    """One file with the rows of `count` appends, `hosts` * FILE_STEPS rows each."""
    out.mkdir(parents=True, exist_ok=True)
    rows = count * hosts * FILE_STEPS
    days = -(-rows // (hosts * 86400 // generate.INTERVAL_S))
    table = pa.concat_tables(generate.days(hosts, days, seed))
    pq.write_table(table.slice(0, rows), out / "all.parquet")


def write_wide(out, rows, series, seed=1):
    """Twenty columns; `series` devices report once an hour, one file an hour."""
    out.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng([seed, 11])
    device = pa.array([f"device-{i:07}" for i in range(series)])
    region = pa.array(REGIONS).take(pa.array(random.integers(0, len(REGIONS), series)))
    model = pa.array(MODELS).take(pa.array(random.integers(0, len(MODELS), series)))
    for step in range(rows // series):
        random = np.random.default_rng([seed, 13, step])
        time = int(generate.START.timestamp() + step * 3600) * 1_000_000
        columns = {"time": pa.array(np.full(series, time), pa.timestamp("us", "UTC")),
                   "device": device, "region": region, "model": model}
        for name in DOUBLES:
            columns[name] = pa.array(np.round(random.normal(50, 10, series), 2))
        for name in INTEGERS:
            columns[name] = pa.array(random.integers(0, 10_000, series))
        columns["on"] = pa.array(random.random(series) < 0.9)
        state = pa.array(random.choice(3, series, p=[.9, .07, .03]))
        columns["state"] = pa.array(["ok", "warning", "alarm"]).take(state)
        pq.write_table(pa.table(columns), out / f"hour-{step:03}.parquet")
        print(f"wide, hour {step + 1} of {rows // series}", file=sys.stderr)
