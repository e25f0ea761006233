"""One client of the remote benchmark, in a process of its own; answers lines of standard input.

    task.py SYSTEM WAREHOUSE OPTIONS        SYSTEM is ours or peer, OPTIONS the storage options as JSON

Each line in is a JSON list, a step and its arguments; each line out {"seconds": ..., "answer": ...}.
"""

import json
import sys
import time

import numpy as np
import pyarrow as pa

HOSTS, DAY_ROWS, DAYS, METRICS = 100, 100 * 8640, 3, 10
START_US = 1_767_225_600_000_000  # 2026-01-01
SCHEMA = pa.schema([("time", pa.timestamp("us", tz="UTC")), ("host", pa.string())]
                   + [(f"m{i}", pa.float64()) for i in range(METRICS)])


def rows(first, count, seed):
    """`count` rows, ten seconds between two of a host; values with two digits, as meters send them."""
    index = np.arange(first, first + count, dtype=np.int64)
    names = pa.array([f"host_{i}" for i in range(HOSTS)])
    random = np.random.default_rng(seed)
    return pa.table([pa.array(START_US + index // HOSTS * 10_000_000, SCHEMA[0].type),
                     names.take(pa.array(index % HOSTS)),
                     *(np.round(random.random(count) * 100, 2) for _ in range(METRICS))], schema=SCHEMA)


class Client:
    def __init__(self, warehouse, options):
        import timelake
        self.timelake, self.warehouse, self.options = timelake, warehouse, options
        self.lake, self.appended = None, 0

    def open(self):
        self.lake = self.timelake.Lake(self.warehouse, storage_options=self.options)

    def table(self, result):
        """pa.table() of what is no table would import pandas first."""
        return result if isinstance(result, pa.Table) else result.fetch_all()

    def build(self):
        self.open()
        table = self.lake.create_table("cpu", SCHEMA, time_column="time", series_key=["host"])
        for day in range(DAYS):
            table.append(rows(day * DAY_ROWS, DAY_ROWS, day))

    def latest(self):
        self.open()
        return self.table(self.lake.latest("cpu")).num_rows

    def series(self, host, day):
        if self.lake is None:
            self.open()
        query = (f"SELECT date_trunc('hour', time) AS hour, avg(m0) AS a, max(m1) AS b, max(m2) AS c FROM cpu "
                 f"WHERE host = '{host}' AND time >= '2026-01-0{day}T00:00:00Z' AND time < '2026-01-0{day}T12:00:00Z' "
                 "GROUP BY 1 ORDER BY 1")
        return [[round(value, 6) for value in column.to_pylist()] for column in self.table(self.lake.sql(query)).columns[1:]]

    def scan(self):
        if self.lake is None:
            self.open()
        query = "SELECT " + ", ".join(f"sum(m{i}) AS s{i}" for i in range(METRICS)) + " FROM cpu"
        return [round(value[0].as_py(), 3) for value in self.table(self.lake.sql(query)).columns]

    def append(self):
        if self.lake is None:
            self.open()
            self.handle = self.lake.table("cpu")
        data = rows(DAYS * DAY_ROWS + 1000 * self.appended, 1000, self.appended)
        self.appended += 1
        start = time.perf_counter()
        self.handle.append(data)
        return time.perf_counter() - start


def main():
    system, warehouse, options = sys.argv[1:]
    client = Client(warehouse, json.loads(options))
    for line in sys.stdin:
        step, *arguments = json.loads(line)
        start = time.perf_counter()
        answer = getattr(client, step)(*arguments)
        seconds = time.perf_counter() - start
        if step == "append":  # without making the rows
            seconds, answer = answer, 1000
        print(json.dumps({"seconds": seconds, "answer": answer}), flush=True)


if __name__ == "__main__":
    main()
