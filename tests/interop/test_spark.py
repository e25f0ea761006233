"""Spark with a Hadoop catalog reads our tables, and its tables are read here: renames, widening, deletes."""

import json
import os
import pathlib
import subprocess
import textwrap

import pytest

import all_types
from conftest import ROOT

pytestmark = pytest.mark.full
PYTHON = os.environ.get("TIMELAKE_SPARK_PYTHON", str(ROOT / ".deps/spark/bin/python"))
JARS = pathlib.Path(os.environ.get("TIMELAKE_SPARK_JARS", ROOT / ".deps/spark-jars"))

START = """
import json, os, sys
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
  .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
  .config("spark.jars", sys.argv[2]).config("spark.sql.session.timeZone", "UTC")
  .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
  .config("spark.sql.catalog.h", "org.apache.iceberg.spark.SparkCatalog").config("spark.sql.catalog.h.type", "hadoop")
  .config("spark.sql.catalog.h.warehouse", "file://" + sys.argv[1]).config("spark.sql.shuffle.partitions", "2")
  .getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
"""


def spark(lake, code):
    jar = next(JARS.glob("*.jar"))
    done = subprocess.run([PYTHON, "-c", START + textwrap.dedent(code), str(lake.root), str(jar)], capture_output=True,
                          text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


SPARK_TYPES = [name for name in all_types.SCHEMA.names if name != "tm"]  # Spark has no TIME


def test_reads_all_types_and_refuses_time(lake):
    columns = all_types.COLUMNS.replace("tm:time, ", "")
    lake.run("create", "plain", "--schema", columns)
    lake.append("plain", all_types.table(SPARK_TYPES))
    for chunk in ("hour", "day", "month"):
        lake.run("create", f"by_{chunk}", "--schema", columns, "--time-column", "time", "--series-key", "device",
                 "--chunk", chunk)
        lake.append(f"by_{chunk}", all_types.table(SPARK_TYPES))
    lake.run("create", "timed", "--schema", "a:int, tm:time")
    out = spark(lake, """
        import uuid
        for name in ("plain", "by_hour", "by_day", "by_month"):
            for row in spark.table("h.default." + name).collect():
                print("ROW", name, repr(row.asDict(True)).replace("\\n", " "))
            n = spark.sql(f"select count(*) from h.default.{name} where time = timestamp '1969-12-31 23:59:59.999999'").collect()[0][0]
            print("COUNT", name, n)
        try:
            spark.table("h.default.timed").collect()
            print("TIME read")
        except Exception as error:
            print("TIME refused", type(error).__name__)
    """)
    import datetime
    import decimal
    import math
    scope = {"datetime": datetime, "Decimal": decimal.Decimal, "nan": math.nan, "inf": math.inf, "bytearray": bytearray}
    for name in ("plain", "by_hour", "by_day", "by_month"):
        rows = [eval(line.split(" ", 2)[2], scope) for line in out.splitlines() if line.startswith(f"ROW {name} ")]
        for row in rows:
            row["time"] = row["time"].replace(tzinfo=datetime.timezone.utc) if row["time"].tzinfo is None else row["time"]
            row["u"] = row["u"] and row["u"].replace("-", "")
            if row["mp"] is not None:
                row["mp"] = list(row["mp"].items())
        assert all_types.plain_rows(rows, SPARK_TYPES) == all_types.expected(SPARK_TYPES), name
        assert f"COUNT {name} 1" in out
    assert "TIME refused" in out


def test_tables_of_spark(lake):
    spark(lake, """
        sql = spark.sql
        sql("create table h.default.t (time timestamp, device string, n int, f float) using iceberg "
            "partitioned by (days(time)) tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read', "
            "'write.update.mode'='merge-on-read')")
        for d in range(3):
            values = ", ".join(f"(timestamp '2026-01-0{d + 1} 00:00:{i:02d}', 'd{i % 3}', {d * 100 + i}, {i / 2})" for i in range(20))
            sql("insert into h.default.t values " + values)
        sql("alter table h.default.t rename column device to machine")
        sql("alter table h.default.t alter column n type bigint")
        sql("alter table h.default.t add partition field bucket(4, machine)")
        sql("insert into h.default.t values (timestamp '2026-01-09 00:00:00', 'd9', 5000000000, 1.5)")
        sql("delete from h.default.t where n = 105")
        sql("delete from h.default.t where n = 7")
        sql("create table h.default.b (k string, v bigint) using iceberg partitioned by (bucket(8, k), truncate(1, k)) "
            "tblproperties ('format-version'='1')")
        sql("insert into h.default.b values " + ", ".join(f"('k{i}', {i})" for i in range(50)))
    """)
    assert lake.sql("SELECT count(*) AS n, sum(n) AS s, count(machine) AS m FROM t") == \
        [{"n": 59, "s": 5_000_000_000 + sum(d * 100 + i for d in range(3) for i in range(20)) - 112, "m": 59}]
    assert lake.sql("SELECT count(*) AS n FROM t WHERE n IN (7, 105)") == [{"n": 0}]
    assert lake.sql("SELECT n FROM t WHERE time = '2026-01-02 00:00:06+00'") == [{"n": 106}]
    assert lake.sql("SELECT count(*) AS n FROM t WHERE machine = 'd1'") == [{"n": 20}]
    assert lake.sql("SELECT count(*) AS n, sum(v) AS s FROM b") == [{"n": 50, "s": 1225}]
    assert lake.sql("SELECT v FROM b WHERE k = 'k33'") == [{"v": 33}]
    assert json.loads(lake.run("info", "t", "--json").stdout)["shared"] is True


def test_in_turn_with_spark(lake):
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--prop", "timelake.shared=true")
    import datetime
    import pyarrow as pa
    schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
    at = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
    lake.append("t", pa.Table.from_pylist([dict(time=at, device="a", v=1.0)], schema))
    spark(lake, "spark.sql(\"insert into h.default.t values (timestamp '2026-01-04 00:00:00', 'a', 2.0)\")")
    lake.append("t", pa.Table.from_pylist([dict(time=at, device="b", v=3.0)], schema))
    assert lake.sql("SELECT sum(v) AS s, count(*) AS n FROM t") == [{"s": 6.0, "n": 3}]
    latest = json.loads(lake.run("latest", "t", "--format", "json").stdout)
    assert [(r["device"], r["v"]) for r in latest] == [("a", 2.0), ("b", 3.0)]
    assert spark(lake, "print('N', spark.table('h.default.t').count())").strip().endswith("N 3")


def test_a_row_deleted_by_spark_stays_hidden_behind_our_compaction(lake):
    """Merge-on-read deletes, our compaction, which applies them and takes the delete files out, a Spark append."""
    import datetime
    import pyarrow as pa
    from conftest import pyiceberg_table
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--prop", "timelake.shared=true", "--prop", "write.delete.mode=merge-on-read",
             # Iceberg's vectorised reader has no BYTE_STREAM_SPLIT, which floats most often are stored as.
             "--prop", "read.parquet.vectorization.enabled=false")
    schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
    at = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
    for i in range(4):
        lake.append("t", pa.Table.from_pylist([dict(time=at + datetime.timedelta(seconds=10 * i + r), device="a",
                                                    v=10.0 * i + r) for r in range(5)], schema))
    spark(lake, "spark.sql('delete from h.default.t where v in (3, 21, 34)')")
    info = json.loads(lake.run("info", "t", "--json").stdout)
    assert info["delete_files"] > 0
    (report,) = json.loads(lake.run("maintain", "t", "--json").stdout)
    assert report["rows_deleted"] == 3 and report["delete_files_removed"] == info["delete_files"]
    assert json.loads(lake.run("info", "t", "--json").stdout)["delete_files"] == 0
    expected = [{"n": 17, "s": sum(10 * i + r for i in range(4) for r in range(5)) - 58.0}]
    assert lake.sql("SELECT count(*) AS n, sum(v) AS s FROM t") == expected
    out = spark(lake, """
        spark.sql("insert into h.default.t values (timestamp '2026-01-03 00:05:00', 'a', 1000.0)")
        print('ROWS', spark.sql('select count(*), sum(v) from h.default.t').collect()[0])
    """)
    assert f"count(1)=18, sum(v)={expected[0]['s'] + 1000}" in out
    assert lake.sql("SELECT count(*) AS n FROM t WHERE v IN (3, 21, 34)") == [{"n": 0}]
    assert pyiceberg_table(lake.folder("t")).scan().to_arrow().num_rows == 18
    lake.run("maintain", "t")
    assert lake.sql("SELECT count(*) AS n FROM t") == [{"n": 18}]
    assert pyiceberg_table(lake.folder("t")).scan().to_arrow().num_rows == 18


def test_our_deletes_over_those_of_spark(lake):
    """Rows that a delete file marks are not seen and not counted; it goes with the last file that it applies to."""
    import datetime
    import pyarrow as pa
    from conftest import pyiceberg_table
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--prop", "timelake.shared=true", "--prop", "write.delete.mode=merge-on-read",
             "--prop", "read.parquet.vectorization.enabled=false", "--prop", "auto-maintain=false")
    schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
    at = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
    for i in range(4):
        lake.append("t", pa.Table.from_pylist([dict(time=at + datetime.timedelta(seconds=10 * i + r), device="a",
                                                    v=10.0 * i + r) for r in range(5)], schema))
    spark(lake, "spark.sql('delete from h.default.t where v in (3, 21, 33)')")
    left = {10 * i + r for i in range(4) for r in range(5)} - {3, 21, 33}

    def check():
        out = spark(lake, "print('ROWS', sorted(int(r[0]) for r in spark.sql('select v from h.default.t').collect()))")
        assert f"ROWS {sorted(left)}" in out
        assert {int(row["v"]) for row in lake.sql("SELECT v FROM t")} == left
        assert set(pyiceberg_table(lake.folder("t")).scan().to_arrow()["v"].to_pylist()) == left

    done = json.loads(lake.run("delete", "t", "--where", "v IN (3, 4, 22, 34)", "--json").stdout)
    assert (done["rows"], done["files_rewritten"]) == (3, 3)
    left -= {4, 22, 34}
    check()
    done = json.loads(lake.run("delete", "t", "--where", "time >= '2026-01-03 00:00:20+00'", "--json").stdout)
    assert done["rows"] == len({v for v in left if v >= 20})
    left = {v for v in left if v < 20}
    check()
    assert json.loads(lake.run("info", "t", "--json").stdout)["delete_files"] == 0


def test_reads_tables_whose_columns_changed(lake):
    import datetime
    import pyarrow as pa
    at = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
    # Spark's vectorised reader has no BYTE_STREAM_SPLIT.
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:float, n:int, gone:string, d:decimal(9,2)",
             "--time-column", "time", "--series-key", "device", "--prop", "float-encoding=dictionary")
    lake.append("t", pa.table({"time": pa.array([at], pa.timestamp("us", "UTC")), "device": ["a"], "v": [1.5], "n": [1],
                               "gone": ["x"], "d": pa.array(["1.25"]).cast(pa.decimal128(9, 2))}))
    lake.run("alter", "t", "--drop-column", "gone", "--rename-column", "v=w", "--widen-column", "w=double", "--widen-column",
             "n=long", "--widen-column", "d=decimal(18,2)", "--add-column", "gone=string", "--add-column", "p=int")
    at += datetime.timedelta(days=1)
    lake.append("t", pa.table({"time": pa.array([at], pa.timestamp("us", "UTC")), "device": ["a"], "w": [2.5], "n": [2**40],
                               "q": ["new"]}), set="new-columns=add")
    out = spark(lake, """
        for row in spark.sql("select w, n, d, gone, p, q from h.default.t order by time").collect():
            print("ROW", [str(value) for value in row])
        print("N", spark.sql("select count(*) from h.default.t where n = 1 or w > 2").collect()[0][0])
        spark.sql("alter table h.default.t add column s string")
        spark.sql("insert into h.default.t values (timestamp '2026-01-09 00:00:00', 'b', null, 7, null, null, null, null, 'theirs')")
    """)
    assert [line for line in out.splitlines() if line.startswith("ROW")] == [
        "ROW ['1.5', '1', '1.25', 'None', 'None', 'None']", "ROW ['2.5', '1099511627776', 'None', 'None', 'None', 'new']"]
    assert "N 2" in out
    assert lake.sql("SELECT device, n, s FROM t ORDER BY time")[-1] == {"device": "b", "n": 7, "s": "theirs"}
    lake.run("alter", "t", "--rename-column", "s=r")
    assert lake.sql("SELECT count(r) AS r FROM t") == [{"r": 1}]
