"""One system in a process of its own: reads queries, one JSON object a line, from stdin; answers
with the time that the query took until its rows were all there as Arrow, and the rows if asked.

    serve.py SYSTEM FOLDER THREADS [dedup=off]
    serve.py SYSTEM FOLDER load

SYSTEM is ours, peer, duckdb, clickhouse or truth; FOLDER is a section's, with data/ and
tables.json. The second form fills the system's tables. The first answer, "ready", comes when the
libraries are imported; the first query opens the tables. What a client prints goes to stderr:
stdout is for answers.
"""

import base64
import json
import os
import pathlib
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq


def files_of(folder, spec):
    return [str(file) for part in spec["parts"]
            for file in sorted((folder / "data" / part).glob("*.parquet"))]


def appends(folder, spec):
    for file in files_of(folder, spec):
        table = pq.read_table(file)
        rows = spec["slice"] or table.num_rows
        for begin in range(0, table.num_rows, rows):
            yield table.slice(begin, rows)


class Ours:
    home = "ours"

    def __init__(self, folder, specs):
        import timelake

        self.client, self.folder, self.specs = timelake, folder, specs

    def load(self, **more):
        lake = self.client.Lake(str(self.folder / self.home))
        for spec in self.specs:
            schema = pq.read_schema(files_of(self.folder, spec)[0])
            table = lake.create_table(spec["name"], schema, time_column="time",
                                      series_key=[spec["key"]], **more)
            for part in appends(self.folder, spec):
                table.append(part, maintain=None if spec["maintain"] else False)

    def open(self, threads, dedup):
        settings = {} if dedup else {"read-dedup": "false"}
        session = self.client.Lake(str(self.folder / self.home), settings=settings).session()
        session.sql(f"SET threads = {threads}").arrow()
        return lambda query: session.sql(query).arrow()


class Peer(Ours):
    home = "peer"

    def load(self):
        super().load(ingest_time=False)

    def open(self, threads, dedup):
        settings = {} if dedup else {"read-dedup": "false"}
        return self.client.Lake(str(self.folder / self.home), settings=settings).sql


class DuckDb:
    """Reads the data files of our tables."""
    home = "ours"

    def __init__(self, folder, specs):
        import duckdb

        self.client, self.folder, self.specs = duckdb, folder, specs

    def connect(self, threads):
        connection = self.client.connect()
        connection.execute(f"SET threads = {threads}")
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def open(self, threads, dedup):
        connection = self.connect(threads)
        for spec in self.specs:
            data = f"{self.folder}/ours/default/{spec['name']}/data/*/*.parquet"
            connection.execute(f"CREATE VIEW {spec['name']} AS SELECT * FROM "
                               f"read_parquet('{data}', hive_partitioning = false)")
        return lambda query: connection.execute(query).to_arrow_table()


class Truth(DuckDb):
    """The rows that were appended; with dedup, the last of each series and time."""

    def open(self, threads, dedup):
        connection = self.connect(threads)
        for spec in self.specs:
            name, files = spec["name"], files_of(self.folder, spec)
            connection.execute(f"CREATE TABLE {name} AS SELECT *, 0 AS part FROM '{files[0]}' "
                               "LIMIT 0")
            for number, file in enumerate(files):
                connection.execute(f"INSERT INTO {name} SELECT *, {number} FROM '{file}'")
            last = ("QUALIFY row_number() OVER "
                    f"(PARTITION BY {spec['key']}, time ORDER BY part DESC) = 1")
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * EXCLUDE (part) "
                               f"FROM {name} {last if dedup else ''}")
        return lambda query: connection.execute(query).to_arrow_table()


class ClickHouse:
    """MergeTree tables of its own, ordered by series and time."""
    home = "clickhouse"

    def __init__(self, folder, specs):
        from chdb import session

        self.client, self.folder, self.specs = session, folder, specs

    def load(self):
        client = self.client.Session(str(self.folder / self.home))
        client.query("CREATE DATABASE bench ENGINE = Atomic")
        for spec in self.specs:
            table, files = f"bench.{spec['name']}", files_of(self.folder, spec)
            missing = {name for file in files for name in columns_with_null(file)}
            columns = []
            for field in pq.read_schema(files[0]):
                nullable = "Nullable({})" if field.name in missing else "{}"
                kind = clickhouse_type(field.type, nullable, many=field.name == "device")
                columns.append(f"{field.name} {kind}")
            client.query(f"CREATE TABLE {table} ({', '.join(columns)}) ENGINE = MergeTree "
                         f"PARTITION BY toDate(time) ORDER BY ({spec['key']}, time) "
                         "SETTINGS allow_nullable_key = 1")
            for file in files:
                client.query(f"INSERT INTO {table} SELECT * FROM file('{file}', Parquet)")
            client.query(f"OPTIMIZE TABLE {table} FINAL")

    def open(self, threads, dedup):
        client = self.client.Session(str(self.folder / self.home))
        client.query("USE bench")

        def run(query):
            answer = client.query(f"{query} SETTINGS max_threads = {threads}", "ArrowStream")
            return pa.ipc.open_stream(answer.bytes()).read_all()

        return run


def columns_with_null(file):
    metadata = pq.read_metadata(file)
    for group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            column = metadata.row_group(group).column(i)
            if column.statistics.null_count:
                yield column.path_in_schema


def clickhouse_type(kind, nullable, many):
    if pa.types.is_timestamp(kind):
        return nullable.format("DateTime64(6, 'UTC')")
    if pa.types.is_string(kind):
        return nullable.format("String") if many else f"LowCardinality({nullable.format('String')})"
    numbers = {pa.float64(): "Float64", pa.int64(): "Int64", pa.bool_(): "Bool"}
    return nullable.format(numbers[kind])


SYSTEMS = {"ours": Ours, "peer": Peer, "duckdb": DuckDb, "clickhouse": ClickHouse, "truth": Truth}


def encode(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def serve(open_tables, answers):
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        answer = {}
        try:
            start = time.perf_counter()
            run = run or open_tables()
            opened = time.perf_counter()
            rows = run(request["sql"])
            ms = (time.perf_counter() - opened) * 1000
            answer = {"open_ms": (opened - start) * 1000, "ms": ms}
            if request.get("rows"):
                answer["rows"] = encode(rows)
        except Exception as error:  # each client has its own
            answer["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), file=answers, flush=True)


def main():
    name, folder, threads = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    system = SYSTEMS[name](folder, json.loads((folder / "tables.json").read_text()))
    if threads == "load":
        system.load()
        return
    print("ready", file=answers, flush=True)
    serve(lambda: system.open(int(threads), "dedup=off" not in sys.argv), answers)


if __name__ == "__main__":
    main()
