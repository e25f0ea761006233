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
