"""One system in a process of its own: reads queries, one JSON object a line, from stdin; answers with the time that the
query took until its rows were all there as Arrow, and with the rows if asked.

    serve.py SYSTEM FOLDER DATA THREADS

SYSTEM is ours, peer, duckdb or clickhouse. The first answer says that the data is loaded. What a client prints goes to
stderr: stdout is for answers.
"""

import base64
import glob
import json
import os
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq


def load(lake, schema, files, **options):
    try:
        return lake.table("cpu")
    except Exception:  # each client has its own
        table = lake.create_table("cpu", schema, time_column="time", series_key=["hostname"], **options)
        for file in files:
            table.append(pq.read_table(file))
        return table


def ours(folder, files, threads):
    import timelake

    lake = timelake.Lake(folder)
    load(lake, pq.read_schema(files[0]), files)
    session = lake.session()
    session.sql(f"SET threads = {threads}").arrow()
    return lambda query: session.sql(query).arrow()


def peer(folder, files, threads):
    import timelake

    lake = timelake.Lake(folder)
    load(lake, pq.read_schema(files[0]), files, ingest_time=False)
    return lambda query: lake.sql(query)


def duckdb(folder, files, threads):
    """Reads the data files of our table."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET TimeZone = 'UTC'")
    data = f"{folder}/default/cpu/data/*/*.parquet"
    connection.execute(f"CREATE VIEW cpu AS SELECT * FROM read_parquet('{data}', hive_partitioning = false)")
    return lambda query: connection.execute(query).to_arrow_table()


def clickhouse(folder, files, threads):
    """A MergeTree table of its own, ordered by host and time."""
    from chdb import session

    made = os.path.isdir(folder)
    client = session.Session(folder)
    if not made:
        columns = []
        for field in pq.read_schema(files[0]):
            kind = "DateTime64(6, 'UTC')" if pa.types.is_timestamp(field.type) else (
                "Float64" if pa.types.is_floating(field.type) else "LowCardinality(String)")
            columns.append(f"{field.name} {kind}")
        client.query("CREATE DATABASE IF NOT EXISTS bench ENGINE = Atomic")
        client.query(f"CREATE TABLE bench.cpu ({', '.join(columns)}) ENGINE = MergeTree PARTITION BY toDate(time) "
                     "ORDER BY (hostname, time)")
        for file in files:
            client.query(f"INSERT INTO bench.cpu SELECT * FROM file('{file}', Parquet)")
        client.query("OPTIMIZE TABLE bench.cpu FINAL")

    def run(query):
        query = query.replace("FROM cpu", "FROM bench.cpu") + f" SETTINGS max_threads = {threads}"
        answer = client.query(query, "ArrowStream")
        return pa.ipc.open_stream(answer.bytes()).read_all()

    return run


def encode(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def main():
    system, folder, data, threads = sys.argv[1:5]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    files = sorted(glob.glob(f"{data}/*.parquet"))
    run = {"ours": ours, "peer": peer, "duckdb": duckdb, "clickhouse": clickhouse}[system](folder, files, int(threads))
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {}
        try:
            start = time.perf_counter()
            rows = run(request["sql"])
            answer["ms"] = (time.perf_counter() - start) * 1000
            if request.get("rows"):
                answer["rows"] = encode(rows)
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
