"""Tables written by PyIceberg, read here: renamed and widened columns, other partition specs, deletes."""

import datetime
import pathlib
import re
import shutil

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (DoubleType, FloatType, IntegerType, LongType, NestedField, StringType, TimestamptzType)

UTC = datetime.timezone.utc


def catalog(lake):
    lake.root.mkdir(parents=True, exist_ok=True)
    made = SqlCatalog("c", uri=f"sqlite:///{lake.root}/c.db", warehouse=f"file://{lake.root}")
    made.create_namespace_if_not_exists("default")
    return made


def publish(lake, table, version):
    """Gives the newest metadata file of a PyIceberg table the name that Hadoop-style readers look for."""
    newest = pathlib.Path(re.sub("^file://", "", table.metadata_location))
    shutil.copy(newest, lake.folder("t") / f"metadata/v{version}.metadata.json")
    (lake.folder("t") / "metadata/version-hint.text").write_text(str(version))


SCHEMA = Schema(NestedField(1, "time", TimestamptzType(), required=False), NestedField(2, "device", StringType()),
                NestedField(3, "n", IntegerType()), NestedField(4, "f", FloatType()))


def arrow(rows):
    return pa.Table.from_pylist(rows, pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()),
                                                 ("n", pa.int32()), ("f", pa.float32())]))


def row(i):
    return dict(time=datetime.datetime(1969, 12, 31, 22, tzinfo=UTC) + datetime.timedelta(hours=i), device=f"d{i % 4}",
                n=i, f=i / 4)


@pytest.mark.parametrize("transform", [None, "day", "hour", "month", "bucket[4]", "truncate[1]", "identity"])
def test_any_partition_spec(lake, transform):
    source = 1 if transform in ("day", "hour", "month") else 2
    spec = PartitionSpec(PartitionField(source, 1000, parse_transform(transform), "p")) if transform else PartitionSpec()
    location = f"file://{lake.folder('t')}"
    table = catalog(lake).create_table("default.t", SCHEMA, location=location, partition_spec=spec)
    table.append(arrow([row(i) for i in range(20)]))
    table.append(arrow([row(i) for i in range(20, 40)]))
    publish(lake, table, 3)
    assert lake.sql("SELECT count(*) AS n, sum(n) AS s FROM t") == [{"n": 40, "s": 780}]
    assert lake.sql("SELECT count(*) AS n FROM t WHERE device = 'd3'") == [{"n": 10}]
    assert lake.sql("SELECT n FROM t WHERE time = '1969-12-31 23:00:00+00'") == [{"n": 1}]
    # A table without a contract can be appended to as well: partitioned by its own spec.
    assert lake.append("t", arrow([row(100)]))["rows"] == 1
    assert lake.sql("SELECT count(*) AS n FROM t WHERE n = 100") == [{"n": 1}]


def test_renamed_widened_and_added_columns(lake):
    table = catalog(lake).create_table("default.t", SCHEMA, location=f"file://{lake.folder('t')}")
    table.append(arrow([row(i) for i in range(10)]))
    with table.update_schema() as update:
        update.rename_column("device", "machine")
        update.update_column("n", LongType())
        update.update_column("f", DoubleType())
        update.add_column("extra", StringType())
    more = pa.table({"time": pa.array([row(50)["time"]], pa.timestamp("us", "UTC")), "machine": ["m"],
                     "n": pa.array([5_000_000_000], pa.int64()), "f": pa.array([0.1], pa.float64()), "extra": ["x"]})
    table.append(more)
    publish(lake, table, 4)
    assert lake.sql("SELECT count(machine) AS m, count(extra) AS e, max(n) AS n FROM t") == \
        [{"m": 11, "e": 1, "n": 5_000_000_000}]
    assert lake.sql("SELECT n FROM t WHERE n = 7") == [{"n": 7}]
    assert lake.sql("SELECT n FROM t WHERE n > 100") == [{"n": 5_000_000_000}]
    assert lake.sql("SELECT f FROM t WHERE n = 1") == [{"f": 0.25}]


def test_spec_evolution(lake):
    table = catalog(lake).create_table("default.t", SCHEMA, location=f"file://{lake.folder('t')}")
    table.append(arrow([row(i) for i in range(10)]))
    with table.update_spec() as update:
        update.add_field("time", "day", "time_day")
    table.append(arrow([row(i) for i in range(10, 60)]))
    publish(lake, table, 4)
    assert lake.sql("SELECT count(*) AS n FROM t WHERE time >= '1970-01-01'") == [{"n": 58}]
    assert lake.sql("SELECT count(*) AS n FROM t WHERE n = 5 OR n = 55") == [{"n": 2}]


def test_snapshots_of_pyiceberg_make_the_table_shared(lake):
    table = catalog(lake).create_table("default.t", SCHEMA, location=f"file://{lake.folder('t')}")
    table.append(arrow([row(1)]))
    publish(lake, table, 2)
    import json
    assert json.loads(lake.run("info", "t", "--json").stdout)["shared"] is True


def test_identity_partitions_are_encoded_in_the_path_and_raw_in_the_manifest(lake, duck):
    """O10: apache/iceberg PR 10329, apache/iceberg-python 1458, apache/iceberg-rust 2874."""
    from pyiceberg.table import StaticTable
    spec = PartitionSpec(PartitionField(2, 1000, parse_transform("identity"), "tenant"))
    table = catalog(lake).create_table("default.t", SCHEMA, location=f"file://{lake.folder('t')}", partition_spec=spec)
    publish(lake, table, 1)
    odd = "dev/app 1#x"
    rows = [dict(row(1), device=odd), dict(row(2), device=None), dict(row(3), device="plain")]
    assert lake.append("t", arrow(rows))["rows"] == 3
    folders = sorted(path.name for path in (lake.folder("t") / "data").iterdir())
    assert folders == ["tenant=dev%2Fapp+1%23x", "tenant=null", "tenant=plain"]
    assert lake.sql(f"SELECT n FROM t WHERE device = '{odd}'") == [{"n": 1}]
    ours = StaticTable.from_metadata(str(lake.folder("t")))
    assert ours.scan(row_filter=f"device = '{odd}'").to_arrow()["n"].to_pylist() == [1]
    assert ours.scan(row_filter="device is null").to_arrow()["n"].to_pylist() == [2]
    assert {task.file.partition[0] for task in ours.scan().plan_files()} == {odd, None, "plain"}
    found = duck.execute(f"SELECT n FROM iceberg_scan('{lake.folder('t')}') WHERE device = '{odd}'").fetchall()
    assert found == [(1,)]


def test_a_promoted_column_keeps_old_bounds_and_gets_wide_ones(lake):
    """O12: apache/iceberg-python 3744, ClickHouse 117072, risingwave 26375."""
    from pyiceberg.table import StaticTable
    table = catalog(lake).create_table("default.t", SCHEMA, location=f"file://{lake.folder('t')}")
    publish(lake, table, 1)
    lake.append("t", arrow([dict(row(1), n=79)]))
    catalog_table = StaticTable.from_metadata(str(lake.folder("t")))
    task = next(iter(catalog_table.scan().plan_files()))
    assert task.file.lower_bounds[3].hex() == task.file.upper_bounds[3].hex() == "4f000000"
    # Promote by hand what PyIceberg's catalog would: the catalog does not know our version.
    import json
    metadata = json.loads((lake.folder("t") / "metadata/v2.metadata.json").read_text())
    metadata["schemas"].append(dict(metadata["schemas"][0], **{"schema-id": 1}))
    metadata["schemas"][1] = json.loads(json.dumps(metadata["schemas"][1]).replace('"type": "int"', '"type": "long"'))
    metadata["current-schema-id"] = 1
    (lake.folder("t") / "metadata/v3.metadata.json").write_text(json.dumps(metadata))
    (lake.folder("t") / "metadata/version-hint.text").write_text("3")
    wide = pa.table({"time": arrow([row(5)])["time"], "device": ["x"], "n": pa.array([5_000_000_000], pa.int64()),
                     "f": pa.array([1.0], pa.float32())})
    lake.append("t", wide)
    assert lake.sql("SELECT n FROM t WHERE n = 79") == [{"n": 79}]
    assert lake.sql("SELECT n FROM t WHERE n > 100") == [{"n": 5_000_000_000}]
    ours = StaticTable.from_metadata(str(lake.folder("t")))
    assert sorted(task.file.upper_bounds[3].hex() for task in ours.scan().plan_files()) == \
        ["00f2052a01000000", "4f000000"]
    assert ours.scan(row_filter="n = 79").to_arrow()["n"].to_pylist() == [79]
    assert ours.scan(row_filter="n > 100").to_arrow()["n"].to_pylist() == [5_000_000_000]


def test_string_bounds_are_whole_characters(lake, duck):
    """O02: duckdb-iceberg 1136, 1334, apache/iceberg PR 11161."""
    from pyiceberg.table import StaticTable
    lake.run("create", "s", "--schema", "s:string")
    texts = ["A" * 15 + "\u2022 x", "El cliente pidi\u00f3 \u2014 hoy", "short", "\U0010ffff" * 20]
    bounds = [("A" * 15 + "\u2022", "A" * 15 + "\u2023"), ("El cliente pidi\u00f3", "El cliente pidi\u00f4"),
              ("short", "short"), ("\U0010ffff" * 16, None)]
    for text in texts:
        lake.append("s", pa.table({"s": [text]}))
    ours = StaticTable.from_metadata(str(lake.folder("s")))
    found = [(task.file.lower_bounds[1].decode(), (task.file.upper_bounds or {}).get(1)) for task in ours.scan().plan_files()]
    assert sorted((low, up and up.decode()) for low, up in found) == sorted(bounds)
    for text in texts:
        assert lake.sql(f"SELECT count(*) AS n FROM s WHERE s = '{text}'") == [{"n": 1}]
        assert ours.scan(row_filter=f"s = '{text}'").to_arrow().num_rows == 1
        assert duck.execute(f"SELECT count(*) FROM iceberg_scan('{lake.folder('s')}') WHERE s = '{text}'").fetchone() == (1,)


def test_decimal_bounds_are_shortest_twos_complement(lake):
    """O11: apache/iceberg-python 3522, apache/iceberg-rust PR 1998, pg_lake PR 431."""
    import decimal
    from pyiceberg.table import StaticTable
    lake.run("create", "d", "--schema", "d:decimal(9,2)")
    want = {"-1.28": "80", "1.28": "0080", "-327.68": "8000", "0.00": "00", "-0.01": "ff", "12.34": "04d2"}
    for text in want:
        lake.append("d", pa.table({"d": pa.array([decimal.Decimal(text)], pa.decimal128(9, 2))}))
    files = [task.file for task in StaticTable.from_metadata(str(lake.folder("d"))).scan().plan_files()]
    assert sorted(file.lower_bounds[1].hex() for file in files) == sorted(want.values())
    lake.run("create", "w", "--schema", "d:decimal(38,0)", "--prop", "row-group-rows=1")
    lake.append("w", pa.table({"d": pa.array([decimal.Decimal(5), decimal.Decimal(-7 * 10**30)], pa.decimal128(38, 0))}))
    file = next(iter(StaticTable.from_metadata(str(lake.folder("w"))).scan().plan_files())).file
    assert int.from_bytes(file.lower_bounds[1], "big", signed=True) == -7 * 10**30
    assert int.from_bytes(file.upper_bounds[1], "big", signed=True) == 5
