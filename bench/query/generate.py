"""TSBS cpu-only data (github.com/timescale/tsbs): `hosts` hosts report ten usage values every ten
seconds.

    python bench/query/generate.py out=FOLDER [hosts=200] [days=3] [seed=1]

One Parquet file a day, rows in order of arrival (time, then host), as TSBS' generator writes them:
tags drawn once a host, every value a random walk of normal steps between 0 and 100, printed as a
whole number.
"""

import datetime
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
INTERVAL_S = 10
REGIONS = {"us-east-1": "abce", "us-west-1": "ab", "us-west-2": "abc", "eu-west-1": "abc",
           "eu-central-1": "ab", "ap-southeast-1": "ab", "ap-southeast-2": "ab",
           "ap-northeast-1": "ac", "sa-east-1": "abc"}
TAGS = ["hostname", "region", "datacenter", "rack", "os", "arch", "team", "service",
        "service_version", "service_environment"]
METRICS = [f"usage_{name}" for name in ("user", "system", "idle", "nice", "iowait", "irq",
                                        "softirq", "steal", "guest", "guest_nice")]


def tags(hosts, random):
    rows = []
    for host in range(hosts):
        region = random.choice(list(REGIONS))
        rows.append([f"host_{host}", region, region + random.choice(list(REGIONS[region])),
                     str(random.integers(100)),
                     random.choice(["Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"]),
                     random.choice(["x64", "x86"]), random.choice(["SF", "NYC", "LON", "CHI"]),
                     str(random.integers(20)), str(random.integers(2)),
                     random.choice(["production", "staging", "test"])])
    return [pa.array(column).dictionary_encode() for column in zip(*rows)]


def days(hosts, count, seed):
    """Yields one Arrow table a day."""
    random = np.random.default_rng(seed)
    of_host = tags(hosts, random)
    steps = 86400 // INTERVAL_S
    values = random.uniform(0, 100, (len(METRICS), hosts))
    for day in range(count):
        start = int(START.timestamp()) + day * 86400
        times = np.repeat((start + np.arange(steps) * INTERVAL_S) * 1_000_000, hosts)
        columns = {"time": pa.array(times, pa.timestamp("us", "UTC"))}
        index = pa.array(np.tile(np.arange(hosts, dtype=np.int32), steps))
        for name, column in zip(TAGS, of_host):
            columns[name] = column.take(index).cast(pa.string())
        walked = np.empty((len(METRICS), steps, hosts))
        for step in range(steps):
            values = np.clip(values + random.normal(0, 1, values.shape), 0, 100)
            walked[:, step] = values
        for i, name in enumerate(METRICS):
            columns[name] = pa.array(np.rint(walked[i]).reshape(-1))
        yield pa.table(columns)


def write(out, hosts, count, seed=1):
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(days(hosts, count, seed)):
        pq.write_table(table, pathlib.Path(out) / f"day-{number:03}.parquet")
        print(f"day {number + 1} of {count}: {table.num_rows} rows", file=sys.stderr)


if __name__ == "__main__":
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    write(given["out"], int(given.get("hosts", 200)), int(given.get("days", 3)),
          int(given.get("seed", 1)))
