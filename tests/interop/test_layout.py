"""Where data files lie: what becomes of buckets when an append fans out, and names below a hash."""

import datetime
import json

import pyarrow as pa

from conftest import peer, pyiceberg_table
from test_partitions import SCHEMA, START, in_order, rows


def test_an_append_of_many_days_leaves_the_buckets_out(lake, duck):
    """Else it would write a file for each bucket of each day. Later appends to one day have buckets again."""
    lake.run("create", "t", "--schema", "time:timestamptz, tenant:string, unit:long, v:double", "--time-column", "time",
             "--series-key", "tenant,unit", "--chunk", "day", "--partition-by", "bucket(16, unit)")
    table = pyiceberg_table(lake.folder("t"))
    assert [len(spec.fields) for spec in table.metadata.partition_specs] == [2, 1]
    assert len(table.spec().fields) == 2
    days = [{"time": START + datetime.timedelta(days=day), "tenant": "a", "unit": unit, "v": float(day)}
            for day in range(100) for unit in range(40)]
    report = lake.append("t", pa.Table.from_pylist(days, SCHEMA))
    assert (report["rows"], report["files"]) == (4000, 100)
    last = [dict(row, v=-1.0) for row in days if row["time"] == START + datetime.timedelta(days=99)]
    assert 10 <= lake.append("t", pa.Table.from_pylist(last, SCHEMA))["files"] <= 16
    newest = in_order(pa.Table.from_pylist(days[:-40] + last, SCHEMA))
    assert in_order(lake.arrow("FROM t")) == newest
    there = f"iceberg_scan('{lake.folder('t')}')"
    for unit in (0, 17, 39):
        expected = [row for row in newest if row[2] == unit]
        assert in_order(lake.arrow(f"FROM t WHERE unit = {unit}")) == expected
        # Others see the replaced row as well.
        assert duck.sql(f"SELECT count(*) FROM {there} WHERE unit = {unit}").fetchone()[0] == 101
        assert pyiceberg_table(lake.folder("t")).scan(row_filter=f"unit == {unit}").to_arrow().num_rows == 101
    code = """
        import sys, json, timelake
        lake = timelake.Lake(sys.argv[1])
        print(json.dumps(lake.sql("select count(*) n, sum(v) s from t").to_pylist()[0]))
    """
    answer = json.loads(peer(code, lake.root))
    assert answer["n"] in (4000, 4040) and answer["s"] in (sum(row[3] for row in newest),
                                                           sum(row["v"] for row in days + last))
    lake.run("maintain", "t")
    assert in_order(lake.arrow("FROM t")) == newest
    (report,) = json.loads(lake.run("verify", "t", "--deep", "--json").stdout)
    assert report["findings"] == []


def test_names_below_folders_of_a_hash(lake, duck):
    """write.object-storage.enabled: Iceberg's layout for object stores; files of both layouts live beside each other."""
    lake.run("create", "t", "--schema", "time:timestamptz, tenant:string, unit:long, v:double", "--time-column", "time",
             "--series-key", "tenant,unit", "--chunk", "year", "--prop", "write.object-storage.enabled=true")
    lake.append("t", rows())
    hashed = list((lake.folder("t") / "data").glob("????/????/????/????????/time_year=*/*.parquet"))
    assert len(hashed) == 3 and not list((lake.folder("t") / "data").glob("time_year=*"))
    lake.run("alter", "t", "--set", "write.object-storage.enabled=false")
    lake.append("t", rows(late=1000.0))
    assert len(list((lake.folder("t") / "data").glob("time_year=*/*.parquet"))) == 3
    lake.run("alter", "t", "--set", "write.object-storage.enabled=true")

    def check(files):
        assert in_order(lake.arrow("FROM t")) == in_order(rows(late=1000.0))
        there = pyiceberg_table(lake.folder("t"))
        assert len(list(there.scan().plan_files())) == files
        total = rows().num_rows * files // 3
        assert there.scan().to_arrow().num_rows == total
        assert duck.sql(f"SELECT count(*) FROM iceberg_scan('{lake.folder('t')}')").fetchone()[0] == total
        (report,) = json.loads(lake.run("verify", "t", "--deep", "--json").stdout)
        assert report["findings"] == []

    check(6)
    lake.run("maintain", "t")
    check(3)
    newest = [file.file.file_path for file in pyiceberg_table(lake.folder("t")).scan().plan_files()]
    assert all(len(path.split("/data/")[1].split("/")) == 6 for path in newest)
