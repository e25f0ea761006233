"""Tables of ours with every type, by hour, day, month and unpartitioned, read by other engines."""

import json

import pytest

import all_types
from conftest import peer, pyiceberg_table

CHUNKS = ["hour", "day", "month", None]


def write(lake, chunk):
    contract = ["--time-column", "time", "--series-key", "device", "--chunk", chunk] if chunk else []
    lake.run("create", "t", "--schema", all_types.COLUMNS, *contract)
    report = lake.append("t", all_types.table())
    assert report["rows"] == 4
    return lake.folder("t")


@pytest.mark.parametrize("chunk", CHUNKS)
def test_ourselves(lake, chunk):
    write(lake, chunk)
    assert all_types.plain_rows(lake.arrow("SELECT * FROM t").to_pylist()) == all_types.expected()


@pytest.mark.parametrize("chunk", CHUNKS)
def test_pyiceberg(lake, chunk):
    folder = write(lake, chunk)
    table = pyiceberg_table(folder)
    assert all_types.plain_rows(table.scan().to_arrow().to_pylist()) == all_types.expected()
    for condition, count in (("time = '1969-12-31T23:59:59.999999+00:00'", 1), ("s = 'El cliente pidi\u00f3 \u2014 hoy \U0001f600'", 1),
                             ("i = 2147483647", 1), ("dec9 = -327.68", 2), ("dt < '1970-01-01'", 2),
                             ("d is nan", 1), ("device is null", 1)):
        assert table.scan(row_filter=condition).to_arrow().num_rows == count, condition


@pytest.mark.parametrize("chunk", CHUNKS)
def test_duckdb(lake, duck, chunk):
    folder = write(lake, chunk)
    result = duck.execute(f"SELECT * FROM iceberg_scan('{folder}')").to_arrow_table()
    assert all_types.plain_rows(result.to_pylist()) == all_types.expected()
    for condition, count in (("time = TIMESTAMPTZ '1969-12-31 23:59:59.999999+00'", 1), ("i = 2147483647", 1),
                             ("dec9 = -327.68", 2), ("isnan(d)", 1), ("device IS NULL", 1)):
        found = duck.execute(f"SELECT count(*) FROM iceberg_scan('{folder}') WHERE {condition}").fetchone()[0]
        if chunk in ("day", "month") and condition.startswith("time ="):
            count = 0  # a fault of DuckDB 1.5.5; see test_duckdb_misses_instants_before_1970_by_day
        assert found == count, condition


def test_duckdb_misses_instants_before_1970_by_day(lake, duck):
    """The fault is DuckDB's: it misses the row in a table that PyIceberg wrote, too (duckdb-iceberg PR 1361)."""
    import datetime
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import DayTransform
    from pyiceberg.types import NestedField, TimestamptzType
    lake.root.mkdir(parents=True)
    catalog = SqlCatalog("c", uri=f"sqlite:///{lake.root}/c.db", warehouse=f"file://{lake.root}")
    catalog.create_namespace("default")
    table = catalog.create_table("default.t", Schema(NestedField(1, "time", TimestamptzType())),
                                 partition_spec=PartitionSpec(PartitionField(1, 1000, DayTransform(), "d")))
    instant = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc)
    table.append(pa.table({"time": pa.array([instant], pa.timestamp("us", "UTC"))}))
    query = (f"SELECT count(*) FROM iceberg_scan('{table.metadata_location}') "
             "WHERE time = TIMESTAMPTZ '1969-12-31 23:59:59.999999+00'")
    assert duck.execute(query).fetchone()[0] == 0


@pytest.mark.parametrize("chunk", CHUNKS)
def test_peer(lake, chunk):
    """The peer reads UUID as fixed bytes; all else is equal."""
    write(lake, chunk)
    target = lake.root / "peer.arrow"
    peer("""
        import sys, pyarrow as pa, timelake
        rows = timelake.Lake(sys.argv[1]).sql("select * from t")
        with pa.ipc.new_stream(sys.argv[2], rows.schema) as out:
            out.write_table(rows)
    """, lake.root, target)
    import pyarrow as pa
    got = pa.ipc.open_stream(target.read_bytes()).read_all()
    assert all_types.plain_rows(got.to_pylist()) == all_types.expected()


@pytest.mark.parametrize("chunk", ["day", None])
def test_duckdb_sees_the_empty_table(lake, duck, chunk):
    contract = ["--time-column", "time", "--series-key", "device"] if chunk else []
    lake.run("create", "t", "--schema", all_types.COLUMNS, *contract)
    folder = lake.folder("t")
    assert duck.execute(f"SELECT count(*) FROM iceberg_scan('{folder}')").fetchone()[0] == 0
    assert duck.execute(f"SELECT * FROM iceberg_scan('{folder}')").to_arrow_table().schema.names == \
        all_types.SCHEMA.names
    table = pyiceberg_table(folder).scan().to_arrow()
    assert table.num_rows == 0 and table.schema.names == all_types.SCHEMA.names


def test_latest_equals_the_peers(lake):
    write(lake, "day")
    ours = json.loads(lake.run("latest", "t", "--format", "json").stdout)
    theirs = json.loads(peer("""
        import json, sys, timelake
        rows = timelake.Lake(sys.argv[1]).latest("t").select(["device", "s"]).to_pylist()
        print(json.dumps(rows))
    """, lake.root))
    key = lambda row: str(row["device"])
    assert sorted(({k: r[k] for k in ("device", "s")} for r in ours), key=key) == sorted(theirs, key=key)
