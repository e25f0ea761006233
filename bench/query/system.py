"""The systems as processes, and whether their answers agree."""

import base64
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import numpy as np
import pyarrow as pa
import queries

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = {"ours": ".deps/python", "peer": ".deps/peer", "duckdb": ".deps/bench",
           "clickhouse": ".deps/bench", "truth": ".deps/bench"}
DIALECTS = {"ours": queries.Dialect(), "peer": queries.DataFusion(), "duckdb": queries.DuckDb(),
            "clickhouse": queries.ClickHouse(), "truth": queries.DuckDb()}
BUCKETS = ("minute", "ten_minutes", "hour", "day")


def command(name, folder, *arguments):
    python = ROOT / PYTHONS[name] / "bin/python"
    return [python, ROOT / "bench/query/serve.py", name, folder, *arguments]


def environment(build):
    return dict(os.environ, TZ="UTC", PYTHONPATH=str(ROOT / build / "python"))


def load(name, folder, build):
    """Fills the system's tables, once."""
    if name in ("duckdb", "truth") or (folder / f"{name}.loaded").exists():
        return
    shutil.rmtree(folder / name, ignore_errors=True)
    env = environment(build) if name == "ours" else None
    subprocess.run(command(name, folder, "load"), env=env, stdout=subprocess.DEVNULL, check=True)
    (folder / f"{name}.loaded").touch()


class System:
    """`name` is that of the system, with "-off" without dedup on read."""

    def __init__(self, name, folder, options):
        self.name = name
        kind = name.removesuffix("-off")
        self.dialect = DIALECTS[kind]
        env = environment(options["build"]) if kind == "ours" else dict(os.environ, TZ="UTC")
        self.process = subprocess.Popen(
            command(kind, folder, options["threads"], *(["dedup=off"] if kind != name else [])),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{name} did not start")

    def ask(self, sql, rows=False):
        self.process.stdin.write(json.dumps({"sql": sql, "rows": rows}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise SystemExit(f"{self.name}: {answer['error']}\n{sql}")
        if rows:
            answer["rows"] = pa.ipc.open_stream(base64.b64decode(answer["rows"])).read_all()
        return answer

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def plain_type(kind):
    """One type for what the systems give for the same value."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_boolean(kind):
        return kind
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.string()


def plain(table, ordered):
    """Columns as arrays of plain types, by position; rows in an order that all systems share."""
    arrays = []
    for i, field in enumerate(table.schema):
        column = table.column(i).combine_chunks()
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        if field.name in BUCKETS and pa.types.is_integer(field.type):  # ClickHouse's are seconds
            column = column.cast(pa.int64()).cast(pa.timestamp("s", "UTC"))
        arrays.append(column.cast(plain_type(column.type)))
    result = pa.table(arrays, names=[str(i) for i in range(len(arrays))])
    if ordered:
        return result
    floats = [str(i) for i, array in enumerate(arrays) if pa.types.is_floating(array.type)]
    others = [name for name in result.column_names if name not in floats]
    return result.sort_by([(name, "ascending") for name in others + floats])


def difference(expected, got):
    """What differs first between two plain tables, or None."""
    for i, (a, b) in enumerate(zip(expected.schema.types, got.schema.types)):
        if {a, b} == {pa.int64(), pa.float64()}:  # what a sum of integers is
            expected, got = (side.set_column(i, str(i), side.column(i).cast(pa.float64()))
                             for side in (expected, got))
    if expected.schema != got.schema:
        return f"types {expected.schema.types} and {got.schema.types}"
    if expected.num_rows != got.num_rows:
        return f"{expected.num_rows} and {got.num_rows} rows"
    for i, field in enumerate(expected.schema):
        a, b = (side.column(i).combine_chunks() for side in (expected, got))
        same = np.asarray(a.is_null()) == np.asarray(b.is_null())
        if pa.types.is_floating(field.type):
            same &= np.isclose(a.fill_null(0).to_numpy(), b.fill_null(0).to_numpy(), rtol=1e-9,
                               atol=1e-12, equal_nan=True)
        elif not a.equals(b):
            same &= np.array(a.to_pylist(), object) == np.array(b.to_pylist(), object)
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            rows = [tuple(side.slice(row, 1).to_pylist()[0].values()) for side in (expected, got)]
            return f"column {i + 1}, row {row + 1} of {len(same)}:\n{rows[0]}\n{rows[1]}"
    return None


def check(systems, query, parameters):
    """All systems give the same rows, or the run ends."""
    expected = None
    for system in systems:
        sql = query.make(parameters, system.dialect)
        if sql is None:
            continue
        rows = plain(system.ask(sql, rows=True)["rows"], query.ordered)
        expected = expected or (system.name, rows)
        differs = difference(expected[1], rows)
        if differs:
            raise SystemExit(f"{query.name}: {system.name} differs from {expected[0]}: {differs}\n"
                             f"{sql}")


def chosen(wanted, options):
    names = options["only"].split(",")
    return [query for query in wanted if not options["only"] or query.name in names]


def medians(times):
    return {name: statistics.median(values) for name, values in times.items() if values}


def tell(name, row):
    times = (f"{system} {ms:.2f} ms" for system, ms in row.items())
    print(name, *times, file=sys.stderr, flush=True)
