"""Rollups between engines: ours read by others, the peer's read, refreshed and used by ours."""

import datetime
import json

import pyarrow as pa
from conftest import peer, pyiceberg_table

T0 = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("host", pa.string()), ("v", pa.float64())])
SELECT = ("SELECT host, time_bucket('1h', time) AS bucket, count(*) AS n, count(v) AS cv, sum(v) AS sv, min(v) AS mn, max(v) AS mx, "
          "avg(v) AS av FROM raw GROUP BY host, bucket")


def some(first, count, step=7):
    return pa.Table.from_pylist([{"time": T0 + datetime.timedelta(minutes=first + i * step), "host": f"h{i % 3}",
                                  "v": None if i % 11 == 0 else i * 0.25} for i in range(count)], SCHEMA)


def rows_of(table):
    return sorted([r["host"], str(r["bucket"])[:19].replace("T", " "), r["n"], r["cv"], r["sv"], r["mn"], r["mx"], r["av"]]
                  for r in table)


def make(lake):
    lake.run("create", "raw", "--schema", "time:timestamptz, host:string, v:double", "--time-column", "time", "--series-key", "host")
    lake.append("raw", some(0, 200))


def test_others_read_our_rollups(lake, duck):
    make(lake)
    lake.run("rollup", "create", "hourly", SELECT)
    ours = rows_of(lake.sql("FROM hourly"))
    assert ours == rows_of(lake.sql(SELECT.replace("FROM raw", "FROM raw AT (TIMESTAMP => now())")))
    assert rows_of(pyiceberg_table(lake.folder("hourly")).scan().to_arrow().to_pylist()) == ours
    found = duck.execute(f"SELECT * FROM iceberg_scan('{lake.folder('hourly')}')").to_arrow_table().to_pylist()
    assert rows_of(found) == ours
    theirs = json.loads(peer("""
        import json, sys, timelake
        print(json.dumps(timelake.Lake(sys.argv[1]).sql("select * from hourly").to_pylist(), default=str))
    """, lake.root))
    assert rows_of(theirs) == ours


def properties(lake, table):
    return json.loads(lake.run("info", table, "--json").stdout)["properties"]


def test_a_definition_that_the_peer_has_is_the_same_table(lake):
    make(lake)
    lake.run("rollup", "create", "ours", SELECT)
    peer("""
        import sys, timelake
        lake = timelake.Lake(sys.argv[1])
        lake.sql("CREATE MATERIALIZED ROLLUP default.theirs AS " + sys.argv[2].replace("FROM raw", "FROM default.raw"))
    """, lake.root, SELECT.replace("'1h'", "'1 hour'"))
    ours, theirs = properties(lake, "ours"), properties(lake, "theirs")
    for name in ("rollup-source", "rollup-bucket", "rollup-aggregates", "time-column", "series-key", "chunk-interval", "dedup"):
        assert ours["timelake." + name] == theirs["timelake." + name]
    assert properties(lake, "raw")["timelake.rollups"] == "default.ours,default.theirs"
    schemas = [[(f.field_id, f.name, str(f.field_type), f.required) for f in pyiceberg_table(lake.folder(t)).schema().fields]
               for t in ("ours", "theirs")]
    assert schemas[0] == schemas[1]


def test_rollups_are_refreshed_in_turn(lake):
    make(lake)
    lake.run("rollup", "create", "ours", SELECT)
    lake.run("rollup", "create", "own", SELECT.replace("min(v) AS mn", "stddev(v) AS mn"))
    peer("""
        import sys, timelake
        lake = timelake.Lake(sys.argv[1])
        lake.sql("CREATE MATERIALIZED ROLLUP default.theirs AS " + sys.argv[2].replace("FROM raw", "FROM default.raw"))
    """, lake.root, SELECT.replace("'1h'", "'1 hour'"))
    assert properties(lake, "raw")["timelake.rollup-tables"] == "default.own"
    for round in range(2):
        lake.append("raw", some(500 + round, 60))
        assert json.loads(lake.run("rollup", "refresh", "theirs", "--json").stdout)["changed"]
        wanted = rows_of(lake.sql(SELECT.replace("FROM raw", "FROM raw AT (TIMESTAMP => now())")))
        assert rows_of(lake.sql("FROM theirs")) == wanted
        peer("""
            import sys, timelake
            lake = timelake.Lake(sys.argv[1])
            lake.sql("REFRESH MATERIALIZED ROLLUP default.ours")
        """, lake.root)
        assert rows_of(lake.sql("FROM ours")) == wanted
        assert not json.loads(lake.run("rollup", "refresh", "ours", "--json").stdout)["changed"]
        lake.run("rollup", "refresh", "own")
        plan = json.dumps(lake.sql("EXPLAIN " + SELECT))
        assert "ours" in plan or "theirs" in plan
