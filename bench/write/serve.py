"""One system in a process of its own: reads tasks, one JSON object a line, from stdin; answers with what they took.

    serve.py SYSTEM FOLDER DATA

SYSTEM is ours, ours-bss (float-encoding = byte-stream-split), peer or pyiceberg (rows sorted by DuckDB). What a client
prints goes to stderr: stdout is for answers.
"""

import json
import os
import pathlib
import resource
import shutil
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import data


class Ours:
    settings = {}

    def __init__(self, folder):
        import timelake

        self.lake = timelake.Lake(folder)

    def create(self, name, table, key, **options):
        return self.lake.create_table(name, table.schema, time_column="time", series_key=key,
                                      properties=self.settings, **options)

    def append(self, table, rows):
        table.append(rows)

    def drop(self, name):
        self.lake.drop_table(name)


class OursSplit(Ours):
    settings = {"float-encoding": "byte-stream-split"}


class Peer(Ours):
    def create(self, name, table, key):
        return self.lake.create_table(name, table.schema, time_column="time", series_key=key, ingest_time=False)


class PyIceberg:
    def __init__(self, folder):
        import duckdb
        from pyiceberg.catalog.memory import InMemoryCatalog

        self.duckdb = duckdb.connect()
        self.catalog = InMemoryCatalog("bench", warehouse=f"file://{folder}")
        self.catalog.create_namespace("default")

    def create(self, name, table, key):
        made = self.catalog.create_table(("default", name), schema=table.schema)
        with made.update_spec() as update:
            update.add_field("time", "day")
        return made, key

    def append(self, table, rows):
        made, key = table
        made.append(self.duckdb.sql(f"FROM rows ORDER BY {', '.join(key)}, time").to_arrow_table())

    def drop(self, name):
        self.catalog.drop_table(("default", name))


SYSTEMS = {"ours": Ours, "ours-bss": OursSplit, "peer": Peer, "pyiceberg": PyIceberg}


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rss_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def data_bytes(folder, name):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*.parquet")
               if f"/{name}/data/" in str(path) and not path.name.startswith("."))


class Tasks:
    def __init__(self, system, folder, source):
        self.system, self.folder, self.source = SYSTEMS[system](folder), folder, source
        self.sets, self.number = {}, 0

    def rows(self, name):
        if name not in self.sets:
            self.sets[name] = data.read(name, self.source)
        return self.sets[name]

    def fresh(self, table, key, **options):
        self.number += 1
        name = f"t{self.number}"
        return name, self.system.create(name, table, key, **options)

    def done(self, name):
        # Its files stay until the end: ext4 passes over the inodes of files that were deleted seconds ago, one by one,
        # so that the next to make a file would pay for them.
        self.system.drop(name)

    def append(self, set, parts):
        """The rows in so many appends, one after the other."""
        rows = self.rows(set)
        name, table = self.fresh(rows, data.KEYS[set])
        step = -(-rows.num_rows // parts)
        start, cpu = time.perf_counter(), time.process_time()
        for begin in range(0, rows.num_rows, step):
            self.system.append(table, rows.slice(begin, step))
        answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "rows": rows.num_rows}
        answer["bytes"] = data_bytes(self.folder, name)
        self.done(name)
        return answer

    def small(self, first, last, each):
        """Milliseconds of the appends `first` up to `last` of many small ones; the table is kept from call to call."""
        rows = self.rows("cpu")
        if first == 0:
            self.small_table = self.fresh(rows, data.KEYS["cpu"])[1]
        taken, cpu = [], time.process_time()
        for i in range(first, last):
            part = rows.slice(i * each % (rows.num_rows - each), each)
            start = time.perf_counter()
            self.system.append(self.small_table, part)
            taken.append((time.perf_counter() - start) * 1000)
        return {"ms": taken, "cpu": time.process_time() - cpu}

    def many_series(self, count, appends, each):
        """Milliseconds of appends of a few rows to a table of many series."""
        rows = data.series(count)
        name, table = self.fresh(rows, ["device"])
        self.system.append(table, rows)
        part = rows.slice(0, each)
        taken, cpu = [], time.process_time()
        for i in range(appends):
            later = part.set_column(0, "time", pc.add(part["time"], pa.scalar((i + 1) * 1_000_000, pa.duration("us"))))
            start = time.perf_counter()
            self.system.append(table, later)
            taken.append((time.perf_counter() - start) * 1000)
        answer = {"ms": taken, "cpu": time.process_time() - cpu}
        self.done(name)
        return answer

    def many_files(self, count, appends, each):
        """Appends to a table of so many files, one an hour, and to a new one, in turn: milliseconds of each."""
        rows = data.hours(count)
        tables, names = {}, []
        for name in ("many", "new"):
            made, tables[name] = self.fresh(rows, ["device"], chunk="hour")
            names.append(made)
        for begin in range(0, count, 10_000):
            self.system.append(tables["many"], rows.slice(begin, 10_000))
        answer = {kind: {name: [] for name in tables} for kind in ("ms", "cpu")}
        for i in range(appends):
            part = data.newest(each, i)
            for name in ("many", "new") if i % 2 else ("new", "many"):
                start, cpu = time.perf_counter(), time.process_time()
                self.system.append(tables[name], part)
                answer["ms"][name].append((time.perf_counter() - start) * 1000)
                answer["cpu"][name].append((time.process_time() - cpu) * 1000)
        for name in names:
            self.done(name)
        return answer

    def memory(self, set, times):
        """Peak memory of one append, beyond what the process had before, of rows that come as a stream of batches."""
        rows = self.rows(set)
        name, table = self.fresh(rows, data.KEYS[set])
        span = pc.max(rows["time"]).value - pc.min(rows["time"]).value + 1_000_000

        def batches():
            for i in range(times):
                for batch in rows.to_batches(max_chunksize=65536):
                    shift = pa.scalar(i * span, pa.duration("us"))
                    yield batch.set_column(0, "time", pc.add(batch["time"], shift))

        before = rss_mb()
        self.system.append(table, pa.RecordBatchReader.from_batches(rows.schema, batches()))
        answer = {"mb": peak_mb() - before}
        self.done(name)
        return answer


def main():
    system, folder, source = sys.argv[1:4]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        tasks = Tasks(system, folder, source)
    except ImportError as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers, flush=True)
        return
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            answer = getattr(tasks, task.pop("do"))(**task)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
