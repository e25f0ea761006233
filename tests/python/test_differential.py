"""Random tables and random queries: ours against plain DuckDB over the rows that are left after deduplication.

Some of the tables have files that PyIceberg wrote: not sorted, with repeated keys, without a page index. Some queries run
with rewrites, statistics or dedup on read off: the same rows must come, or those that are stored.

TIMELAKE_DIFFERENTIAL_QUERIES (default 300) queries are run, from TIMELAKE_DIFFERENTIAL_SEED (default: one a day) on; the
seed of a failure is in its message.
"""

import contextlib
import datetime
import json
import math
import os
import pathlib
import random
import re
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

QUERIES_PER_TABLE = 50
ZERO = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
HOSTS = [None, "", "a", "b", "host_1", "host_10", "host_2", "h\u00f6st", "x" * 20]
TEXTS = [None, "", "red", "green", "blue", "a much longer text than the others are"]
FLOATS = [None, 0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), -float("inf"), 1e300, 42.0]
COLUMNS = {
    "time": pa.timestamp("us", "UTC"),
    "host": pa.string(),
    "unit": pa.int32(),
    "v": pa.float64(),
    "n": pa.int64(),
    "s": pa.string(),
    "flag": pa.bool_(),
}

AGGREGATES = [
    "count(*)",
    "count(n)",
    "count(s)",
    "min(time)",
    "max(time)",
    "min(host)",
    "max(host)",
    "max(unit)",
    "min(n)",
    "max(s)",
    "min(v)",
    "max(v)",
]
WIDTHS = ["'1 minute'", "'7 minutes'", "'1 hour'", "'1 day'"]


class Rows:
    """Batches of random rows with late ones and repeated keys."""

    def __init__(self, rnd):
        self.rnd = rnd
        self.hosts = rnd.sample(HOSTS, rnd.randint(1, 6))
        self.batches = [self.batch(number) for number in range(rnd.randint(1, 6))]

        # The newest rows have nothing but their keys.
        if rnd.random() < 0.3:
            last = self.batches[-1].to_pylist()
            late = ZERO + datetime.timedelta(days=30)
            empty = [{**row, "time": late, "v": None, "n": None, "s": None} for row in last[:5]]
            self.batches[-1] = pa.Table.from_pylist(last + empty, schema=self.batches[-1].schema)

    def row(self, number):
        rnd = self.rnd
        minute = rnd.randint(0, 600) + number * (0 if rnd.random() < 0.1 else 300)
        return {
            "time": ZERO + datetime.timedelta(minutes=minute * rnd.choice([1, 1, 10])),
            "host": rnd.choice(self.hosts),
            "unit": rnd.choice([None, 0, 1, 2]),
            "v": rnd.choice(FLOATS + [rnd.uniform(-10, 10)] * 5),
            "n": rnd.choice([None, 0, 7, -(2**62), 2**62, rnd.randint(-50, 50)]),
            "s": rnd.choice(TEXTS),
            "flag": rnd.choice([None, True, False]),
        }

    def batch(self, number):
        rows = [self.row(number) for _ in range(self.rnd.randint(1, 400))]
        if self.rnd.random() < 0.5:
            rows.sort(key=lambda row: row["time"])
        return pa.Table.from_pylist(rows, schema=pa.schema(list(COLUMNS.items())))


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMPTZ '{value:%Y-%m-%d %H:%M:%S}+00'"
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"
    return str(value)


class Queries:
    def __init__(self, rnd, rows):
        self.rnd = rnd
        self.values = {
            name: [value for batch in rows.batches for value in batch.column(name).to_pylist()]
            for name in COLUMNS
        }

    def value(self, column):
        value = None
        while value is None:
            if all(candidate is None for candidate in self.values[column]):
                return {"v": 1.0, "s": "red", "host": "a", "flag": True}.get(column, 1)
            value = self.rnd.choice(self.values[column])
        if isinstance(value, datetime.datetime) and self.rnd.random() < 0.3:
            value += datetime.timedelta(seconds=self.rnd.choice([-1, 1, 30]))
        return value

    def test(self, columns):
        rnd = self.rnd
        column = rnd.choice(columns)
        kind = rnd.random()
        if kind < 0.45:
            return f"{column} {rnd.choice(['=', '<>', '<', '<=', '>', '>='])} {literal(self.value(column))}"
        if kind < 0.6:
            return f"{column} IN ({', '.join(literal(self.value(column)) for _ in range(rnd.randint(1, 4)))})"
        if kind < 0.7:
            low, high = literal(self.value(column)), literal(self.value(column))
            return f"{column} BETWEEN {low} AND {high}"
        if kind < 0.8:
            return f"{column} IS {rnd.choice(['', 'NOT '])}NULL"
        if kind < 0.88 and "host" in columns:
            return f"host LIKE {literal(rnd.choice(['host%', 'a%', '%1', '', 'h_st%']))}"
        if kind < 0.94:
            return f"NOT ({self.test(columns)})"
        return f"({self.test(columns)} OR {self.test(columns)})"

    def where(self, columns=tuple(COLUMNS), most=3):
        tests = [self.test(list(columns)) for _ in range(self.rnd.randint(0, most))]
        return " WHERE " + " AND ".join(tests) if tests else ""

    def query(self):
        rnd = self.rnd
        key = rnd.choice(["host", "host, unit"])
        everything = ", ".join(COLUMNS)
        shapes = [
            lambda: (
                f"SELECT {', '.join(rnd.sample(list(COLUMNS), rnd.randint(1, 7)))} FROM t{self.where()}"
            ),
            lambda: f"SELECT count(*) FROM t{self.where()}",
            lambda: (
                f"SELECT count(*), count(v), min(time), max(time), min(n), max(n), min(s), max(s), min(v), max(v)"
                f" FROM t{self.where()}"
            ),
            lambda: (
                f"SELECT {key}, count(*), max(time), min(time), count(DISTINCT s) FROM t{self.where()} GROUP BY {key}"
            ),
            lambda: (
                f"SELECT {everything} FROM t{self.where()} ORDER BY time {rnd.choice(['DESC', 'ASC'])}, {everything}"
                f" LIMIT {rnd.randint(1, 20)} OFFSET {rnd.choice([0, 0, 3])}"
            ),
            lambda: (
                f"SELECT time FROM t{self.where()} ORDER BY time {rnd.choice(['DESC', 'ASC'])} LIMIT {rnd.randint(1, 9)}"
            ),
            lambda: f"SELECT max(time), count(*) FROM t{self.where()}",
            # From metadata, file by file, as far as it goes.
            lambda: (
                f"SELECT {', '.join(rnd.sample(AGGREGATES, rnd.randint(1, 5)))} FROM t"
                f"{self.where(['time', 'time', 'host', 'unit', 'n'], 2)}"
            ),
            lambda: (
                f"SELECT a.time, a.host, a.unit, b.time AS before, b.n, b.v FROM t a ASOF "
                f"{rnd.choice(['JOIN', 'LEFT JOIN'])} t b ON a.host = b.host AND a.unit = b.unit AND a.time "
                f"{rnd.choice(['>', '>=', '<', '<='])} b.time WHERE a.time {rnd.choice(['<', '>='])} "
                f"{literal(self.value('time'))}{rnd.choice(['', ' AND a.unit = 1', ' AND a.n > 0'])}"
            ),
            lambda: (
                f"SELECT date_trunc('hour', time) AS h, count(*), max(n) FROM t{self.where()} GROUP BY h"
            ),
            # Aggregated run by run, and the last buckets first.
            lambda: (
                f"SELECT {key}, time_bucket(INTERVAL {rnd.choice(WIDTHS)}, time) AS b, count(*), count(v), sum(n), avg(n),"
                f" max(n), min(v), max(time) FROM t{self.where()} GROUP BY {key}, b"
            ),
            lambda: f"SELECT {key}, avg(n), max(v), count(s) FROM t{self.where()} GROUP BY {key}",
            lambda: (
                f"SELECT time_bucket(INTERVAL {rnd.choice(WIDTHS)}, time) AS b, count(*), max(n) FROM t{self.where()}"
                f" GROUP BY b ORDER BY b {rnd.choice(['DESC', 'ASC'])} LIMIT {rnd.randint(1, 5)}"
            ),
            lambda: (
                f"SELECT a.host, a.time, b.n FROM t a JOIN t b ON a.host = b.host AND a.time = b.time AND a.unit = b.unit"
                f" WHERE a.flag AND b.n > 0"
            ),
            # The newest rows: from the index where nothing but the key is asked for.
            lambda: (
                f"SELECT {everything} FROM (SELECT *, row_number() OVER (PARTITION BY host, unit ORDER BY time DESC) AS r"
                f" FROM t{self.where(['host', 'unit'])}) WHERE r = 1"
            ),
            lambda: (
                f"SELECT {everything} FROM t{self.where()} QUALIFY row_number() OVER (PARTITION BY host, unit"
                f" ORDER BY time DESC) = 1"
            ),
            lambda: (
                f"SELECT DISTINCT ON (host, unit) {everything} FROM t{self.where(['host', 'unit'])}"
                f" ORDER BY host, unit, time DESC"
            ),
            lambda: (
                f"SELECT host, unit, max(time), arg_max(v, time), arg_max(s, time) FROM t"
                f"{self.where(['host', 'unit'])} GROUP BY host, unit"
            ),
            lambda: f"SELECT max(time) FROM t{self.where(['host', 'unit'])}",
            lambda: (
                f"SELECT {everything} FROM t WHERE host = {literal(self.value('host'))} AND unit = "
                f"{literal(self.value('unit'))} ORDER BY time DESC LIMIT 1"
            ),
        ]
        return rnd.choice(shapes)()


def plain(value):
    """Comparable, with equal NaNs."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and value == 0:
        return 0.0
    return value


def rows_of(table):
    rows = [tuple(plain(value) for value in row.values()) for row in table.to_pylist()]
    return sorted(
        rows, key=lambda row: [(value is not None, str(type(value)), str(value)) for value in row]
    )


class ForeignWriter:
    """PyIceberg in a process of its own."""

    def __init__(self):
        python = os.environ.get("TIMELAKE_ICEBERG_PYTHON", str(ROOT / ".deps/venv/bin/python"))
        self.process = subprocess.Popen(
            [python, str(pathlib.Path(__file__).with_name("foreign_writer.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            text=True,
        )

    def append(self, folder, batch):
        rows = folder / "rows.parquet"
        pq.write_table(batch, rows)
        self.process.stdin.write(json.dumps({"folder": str(folder / "default/t"), "rows": str(rows)}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer == "ok", answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


# What has no one answer where rows of one series and time are stored twice.
ONE_OF_EQUALS = re.compile("ASOF|row_number|DISTINCT ON|arg_max|LIMIT 1$")


# Settings of a query, and which rows are expected with them.
MODES = [
    ([], "t"),
    (["SET timelake_aggregates_from_metadata = 'off'"], "t"),
    (["SET timelake_latest_from_index = 'off'"], "t"),
    (["SET disabled_optimizers = 'statistics_propagation,join_order'"], "t"),
    (["SET timelake_read_dedup = 'off'"], "all"),
]
RESET = [
    "RESET timelake_aggregates_from_metadata",
    "RESET timelake_latest_from_index",
    "RESET disabled_optimizers",
    "RESET timelake_read_dedup",
]


def tables(timelake, duckdb, folder, rnd, foreign):
    rows = Rows(rnd)
    lake = timelake.Lake(folder)
    settings = {
        "row-group-rows": str(rnd.choice([50, 300, 1048576])),
        "data-page-rows": str(rnd.choice([5, 40, 20000])),
        "target-file-size-bytes": str(rnd.choice([4096, 268435456])),
        "shared": "true",
    }
    with_foreign = rnd.random() < 0.4
    table = lake.create_table(
        "t",
        pa.schema(list(COLUMNS.items())),
        time_column="time",
        series_key=["host", "unit"],
        chunk=rnd.choice(["hour", "day", "month"]),
        properties=settings,
    )
    oracle = duckdb.connect()
    oracle.execute("SET TimeZone = 'UTC'")
    oracle.execute("SET threads = 1")
    foreign_batches = []
    for number, batch in enumerate(rows.batches):
        if with_foreign and rnd.random() < 0.5:
            foreign.append(folder, batch)
            foreign_batches.append(number)
        else:
            table.append(batch)
        oracle.register("batch", batch)
        make = "CREATE TABLE written AS" if number == 0 else "INSERT INTO written"
        oracle.execute(
            f"{make} SELECT *, {number} AS batch, row_number() OVER () AS row FROM batch"
        )
    for number in range(len(rows.batches)):
        oracle.execute(
            f"CREATE TABLE t{number} AS SELECT {', '.join(COLUMNS)} FROM written"
            f" WHERE batch <= {number} QUALIFY row_number() OVER "
            "(PARTITION BY host, unit, time ORDER BY batch DESC, row DESC) = 1"
        )
        # Our appends keep the last row of a key and time only.
        oracle.execute(
            f"CREATE TABLE all{number} AS SELECT {', '.join(COLUMNS)} FROM written WHERE batch <= {number}"
            f" QUALIFY batch IN ({', '.join(str(n) for n in foreign_batches) or '-1'}) OR row_number() OVER "
            "(PARTITION BY batch, host, unit, time ORDER BY row DESC) = 1"
        )
    snapshots = [snapshot["snapshot_id"] for snapshot in table.snapshots()]
    assert len(snapshots) == len(rows.batches)
    return rows, lake, oracle, snapshots


def of(query, table):
    """The query with another name for t."""
    return re.sub(r"\b(FROM|JOIN) t\b", rf"\1 {table}", query)


def run(timelake, duckdb, folder, first_seed, queries, foreign):
    for start in range(0, queries, QUERIES_PER_TABLE):
        seed = first_seed + start
        rnd = random.Random(seed)
        rows, lake, oracle, snapshots = tables(timelake, duckdb, folder / str(seed), rnd, foreign)
        generate = Queries(rnd, rows)
        with lake, lake.session() as session:
            for _ in range(min(QUERIES_PER_TABLE, queries - start)):
                query = generate.query()
                # The newest version, or one of the past.
                newest = len(snapshots) - 1
                travels = rnd.random() < 0.2 and " JOIN " not in query  # aliases and AT do not go
                number = rnd.randrange(len(snapshots)) if travels else newest
                version = f"t AT (VERSION => {snapshots[number]})"
                asked = query if number == newest else of(query, version)
                settings, base = rnd.choice(MODES)
                if base == "all" and ONE_OF_EQUALS.search(query):
                    settings, base = MODES[0]
                oracles = of(query, f"{base}{number}")
                if " ASOF " in query:  # plain DuckDB lets NULL keys meet in large ones
                    oracles = re.sub(
                        r"JOIN (\w+) b ON",
                        r"JOIN (FROM \1 WHERE host IS NOT NULL AND unit IS NOT NULL) b ON",
                        oracles,
                    )
                expected = rows_of(oracle.execute(oracles).to_arrow_table())
                for setting in settings:
                    session.sql(setting)
                got = rows_of(session.sql(asked).arrow())
                for setting in RESET if settings else []:
                    session.sql(setting)
                assert got == expected, (
                    f"seed {seed}: {'; '.join([*settings, asked])}\nours     {got[:20]}\nexpected {expected[:20]}"
                )


def test_random_queries_agree_with_duckdb(timelake, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    seed = int(
        os.environ.get("TIMELAKE_DIFFERENTIAL_SEED", datetime.date.today().toordinal() * 1000)
    )
    queries = int(os.environ.get("TIMELAKE_DIFFERENTIAL_QUERIES", "300"))
    print(f"seed {seed}, {queries} queries")
    with contextlib.closing(ForeignWriter()) as foreign:
        run(timelake, duckdb, tmp_path, seed, queries, foreign)
