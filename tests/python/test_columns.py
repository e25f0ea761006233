"""Columns of a table change: Table.alter, and appends that bring new ones."""

import pyarrow as pa
import pytest
from conftest import ROWS, SCHEMA

ADD = {"new-columns": "add"}


@pytest.fixture
def table(timelake, tmp_path):
    lake = timelake.Lake(tmp_path / "wh")
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    table.append(ROWS)
    return table


def test_alter_is_one_commit(table):
    names = table.schema.names
    version = table.version
    table.alter(add={"p": "float", "note": "string"}, after="device")
    assert table.version == version + 1
    at = names.index("device") + 1
    assert table.schema.names == [*names[:at], "p", "note", *names[at:]]
    table.alter(drop="note", rename={"p": "q"}, widen={"q": "double"}, add={"note": "list<int>"})
    assert table.version == version + 2
    assert table.schema.names == [*names[:at], "q", *names[at:], "note"]
    assert table.schema.field("q").type == pa.float64()
    assert len(table.snapshots()) == 1
    rows = table.lake.sql("SELECT count(*) AS n, count(q) AS q, count(v) AS v FROM t")
    assert rows.to_pylist() == [{"n": 4, "q": 0, "v": 4}]


def test_alter_refuses(timelake, table):
    version = table.version
    with pytest.raises(timelake.InvalidArgumentError, match="time column"):
        table.alter(drop=["time"])
    with pytest.raises(ValueError, match="series key"):
        table.alter(rename={"device": "d"})
    with pytest.raises(ValueError, match="only in case"):
        table.alter(add={"V": "int"})
    with pytest.raises(ValueError, match="cannot become float"):
        table.alter(widen={"v": "float"})
    with pytest.raises(ValueError, match="nothing to change"):
        table.alter()
    with pytest.raises(ValueError, match="after is the place"):
        table.alter(drop=["v"], after="device")
    assert table.version == version


def test_new_columns_with_an_append(timelake, table):
    rows = [{"time": "2026-02-01T00:00:00Z", "device": "z", "p": 1.5, "note": "x"}]
    with pytest.raises(ValueError, match="not in the table's schema"):
        table.append(rows)
    report = table.append(rows, settings=ADD)
    assert report["added_columns"] == ["p", "note"] and report["attempts"] == 1
    assert table.append(rows)["added_columns"] == []
    assert table.schema.names[-2:] == ["p", "note"]
    latest = table.latest().arrow().to_pylist()
    assert [row["p"] for row in latest] == [None, None, 1.5]
    table.set_properties({"new_columns": "add"})
    more = pa.table({"time": pa.array([1_770_000_000_000_000]).cast(pa.timestamp("us", "UTC")),
                     "device": ["z"], "tags": [[1, 2]]})
    assert table.append(more)["added_columns"] == ["tags"]
    assert table.lake.sql("SELECT tags FROM t WHERE tags IS NOT NULL").to_pylist() == [{"tags": [1, 2]}]


def test_new_columns_of_files(table, tmp_path):
    file = tmp_path / "in.csv"
    file.write_text("time,device,p\n2026-02-01T00:00:00Z,z,1\n2026-02-01T00:00:01Z,z,2.5\n")
    report = table.import_files(file, settings=ADD)
    assert report["added_columns"] == ["p"] and report["commits"] == 1
    assert table.lake.sql("SELECT sum(p) AS p FROM t").to_pylist() == [{"p": 3.5}]


def test_new_columns_with_an_appender(table):
    with table.appender(settings=ADD) as appender:
        appender.append([{"time": "2026-02-01T00:00:00Z", "device": "z", "v": 1}])
        appender.append([{"time": "2026-02-01T00:00:01Z", "device": "z", "p": 2}])
    rows = table.lake.sql("SELECT v, p FROM t WHERE device = 'z' ORDER BY time").to_pylist()
    assert rows == [{"v": 1.0, "p": None}, {"v": None, "p": 2}]


def test_the_sql_door(table):
    lake = table.lake
    lake.sql("ALTER TABLE t ADD COLUMN p INTEGER").fetch_all()
    lake.sql("ALTER TABLE t ALTER COLUMN P TYPE BIGINT").fetch_all()
    table.refresh()
    assert table.schema.field("p").type == pa.int64()
