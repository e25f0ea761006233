"""One system of the rollup benchmark in a process of its own: reads tasks, one JSON object a line, from stdin; answers
with what they took.

    serve.py SYSTEM FOLDER TAGS STEP

SYSTEM is ours or peer; TAGS sensors have a value every STEP seconds. What a client prints goes to stderr.
"""

import json
import os
import pathlib
import resource
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import data


def columns(width):
    return (f"tag, time_bucket('{width} seconds', time) AS bucket, count(*) AS n, count(value) AS c, sum(value) AS total, "
            "min(value) AS low, max(value) AS high")


QUERIES = {
    "hourly mean of all tags": "SELECT tag, time_bucket('1 hour', time) AS b, avg(value) AS v FROM plant.raw GROUP BY 1, 2",
    "daily count, mean, extremes": "SELECT tag, time_bucket('1 day', time) AS b, count(value) AS n, avg(value) AS v, "
                                   "min(value) AS low, max(value) AS high FROM plant.raw GROUP BY 1, 2",
    "hourly mean of one tag": "SELECT time_bucket('1 hour', time) AS b, avg(value) AS v FROM plant.raw "
                              "WHERE tag = 'tag0007' GROUP BY 1",
    "mean of each tag": "SELECT tag, avg(value) AS v FROM plant.raw GROUP BY 1",
}


class System:
    def __init__(self, timelake, name, folder, tags, step):
        self.timelake, self.name, self.folder, self.tags, self.step = timelake, name, folder, tags, step
        self.lake = self.plain = None

    def load(self, days):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        lake = self.timelake.Lake(str(self.folder))
        options = {"ingest_time": False} if self.name == "peer" else {}
        table = lake.create_table("plant.raw", data.batch(self.tags, self.step, 0, 1, 0).schema, time_column="time",
                                  series_key=["tag"], **options)
        for day in range(days):
            table.append(data.batch(self.tags, self.step, day * 24, 24, day))
        table.maintain()
        # What tends the table is not timed; the rollup is left to itself.
        table.set_properties({"auto-maintain": "false"})
        self.lake, self.plain = (self.timelake.Lake(str(self.folder), settings={"rollup-routing": routing})
                                 for routing in ("true", "false"))

    def build(self, name, width):
        return self.lake.sql(f"CREATE MATERIALIZED ROLLUP plant.{name} AS SELECT {columns(width)} FROM plant.raw "
                             "GROUP BY tag, bucket WITH (refresh_interval = 'off')").to_pylist()

    def drop(self, name):
        return self.lake.sql(f"DROP MATERIALIZED ROLLUP plant.{name}").to_pylist()

    def append(self, first_hour, hours):
        return self.lake.table("plant.raw").append(data.batch(self.tags, self.step, first_hour, hours, first_hour))

    def maintain(self):
        return self.lake.table("plant.raw").maintain()

    def refresh(self, name):
        return self.lake.sql(f"REFRESH MATERIALIZED ROLLUP plant.{name}").to_pylist()

    def query(self, name, routed):
        result = (self.lake if routed else self.plain).sql(QUERIES[name])
        return result.fetch_all() if self.name == "ours" else result

    def explain(self, name):
        return str((self.lake).sql("EXPLAIN " + QUERIES[name]).to_pylist())

    def rows(self, name, routed):
        """In an order of their own, floats apart: what systems and ways are compared by."""
        found = [list(row.values()) for row in self.query(name, routed).to_pylist()]
        return sorted([[str(v) if not isinstance(v, (int, float)) else v for v in row] for row in found])

    def size(self):
        return {table: sum(f.stat().st_size for f in (self.folder / "plant" / table).rglob("*.parquet"))
                for table in ("raw", "narrow")}


def main():
    out = os.dup(1)
    os.dup2(2, 1)
    name, folder, tags, step = sys.argv[1:]
    import timelake

    system = System(timelake, name, pathlib.Path(folder), int(tags), int(step))

    def answer(value):
        os.write(out, (json.dumps(value, default=str) + "\n").encode())

    answer({"ready": True})
    for line in sys.stdin:
        task = json.loads(line)
        do = task.pop("do")
        try:
            cpu = resource.getrusage(resource.RUSAGE_SELF)
            begin = time.perf_counter()
            result = getattr(system, do)(**task)
            took = time.perf_counter() - begin
            after = resource.getrusage(resource.RUSAGE_SELF)
            answer({"seconds": took, "cpu": after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime,
                    "result": result if do in ("rows", "size", "explain", "build", "refresh") else None})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})


main()
