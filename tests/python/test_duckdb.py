"""timelake.attach: the tables of a lake in the user's own DuckDB."""

import datetime
import gc

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from conftest import ROWS, SCHEMA

UTC = datetime.UTC


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture
def attached(timelake, lake, table, connection):
    lake.create_table("plant.pumps", "name:string, rack:int").append(
        {"name": ["a", "b"], "rack": [1, 2]}
    )
    return timelake.attach(connection, lake, "lake")


def test_query_and_join(attached, connection):
    connection.execute("CREATE TABLE limits AS SELECT 'a' AS device, 2.0 AS most")
    query = "SELECT time, v FROM lake.readings JOIN limits USING (device) WHERE v > most"
    assert connection.execute(query).fetchall() == [
        (datetime.datetime(2026, 1, 4, tzinfo=UTC), 3.5)
    ]
    query = "SELECT r.v, p.rack FROM lake.readings r JOIN lake.plant.pumps p ON p.name = r.device ORDER BY ALL LIMIT 1"
    assert connection.execute(query).fetchall() == [(1.5, 1)]
    assert repr(attached).startswith("<timelake.Attachment 'lake': 2 tables of file://")


def test_counting(attached, connection):
    assert connection.execute("SELECT count(*) FROM lake.readings").fetchall() == [(4,)]
    assert connection.execute("SELECT 1 FROM lake.readings").fetchall() == [(1,)] * 4


@pytest.mark.parametrize(
    "condition",
    [
        "time >= '2026-01-04'",
        "time < TIMESTAMPTZ '2026-01-03 00:01:00+00'",
        "time BETWEEN '2026-01-03 00:01:00+00' AND '2026-01-04 00:00:00+00'",
        "device = 'a'",
        "device = 'a' AND time >= '2026-01-04'",
        "device IN ('a', 'zz')",
        "device = ') and (v > 1000'",
        "device <> 'a'",
        "device LIKE 'b%'",
        "v > 2.4999999999",
        "v >= 2.5 AND v <= 3.5",
        "v IS NULL",
        "v IS NOT NULL OR device = 'a'",
        "device = 'a' OR v = 4.5",
        "NOT (device = 'a' AND v > 2)",
        "v = 1.5 AND device = 'a' AND time < now()",
    ],
)
def test_conditions(attached, lake, connection, condition):
    """The same rows as from the lake itself, whatever is pushed down."""
    query = f"SELECT v FROM {{}}readings WHERE {condition} ORDER BY v"
    wanted = lake.sql(query.format("")).column("v").to_pylist()
    assert [row[0] for row in connection.execute(query.format("lake.")).fetchall()] == wanted


def test_each_query_sees_the_newest_version(attached, connection, table):
    table.append([{"time": "2026-01-05", "device": "c", "v": 9}])
    assert connection.execute("SELECT count(*), max(v) FROM lake.readings").fetchall() == [(5, 9.0)]


def test_refresh_and_detach(attached, connection, lake):
    lake.create_table("more", SCHEMA, time_column="time").append(ROWS)
    lake.drop_table("plant.pumps")
    attached.refresh()
    assert connection.execute("SELECT count(*) FROM lake.more").fetchall() == [(4,)]
    with pytest.raises(duckdb.CatalogException):
        connection.execute("FROM lake.plant.pumps")
    attached.detach()
    with pytest.raises(duckdb.CatalogException):
        connection.execute("FROM lake.readings")
    attached._lake.sql("SELECT 1")


def test_names(timelake, lake, table, connection):
    timelake.attach(connection, lake.location, 'odd "name"')
    gc.collect()  # nothing but the connection refers to it
    assert connection.execute('SELECT count(*) FROM "odd ""name""".readings').fetchall() == [(4,)]
    with pytest.raises(FileExistsError, match="already"):
        timelake.attach(connection, lake, 'ODD "name"')
    with pytest.raises(FileExistsError, match="'memory'"):
        timelake.attach(connection, lake, "memory")
    with pytest.raises(ValueError, match="empty"):
        timelake.attach(connection, lake, "")


def test_two_lakes_and_a_cursor(timelake, lake, table, connection, tmp_path):
    other = timelake.Lake(tmp_path / "other")
    other.create_table("readings", SCHEMA, time_column="time").append(ROWS)
    timelake.attach(connection, lake, "one")
    timelake.attach(connection, other, "two")
    query = "SELECT count(*) FROM one.readings JOIN two.readings USING (time, device)"
    assert connection.execute(query).fetchall() == [(4,)]


def test_what_prunes():
    """Only comparisons that the text of an expression shows for certain."""
    from timelake._duckdb import _conditions

    field = pc.field
    time = pa.scalar(datetime.datetime(2026, 1, 3, tzinfo=UTC), pa.timestamp("us", "UTC"))
    assert _conditions(
        str((field("time") >= time) & (field("i") < 5) & (field("s") == "a-b c"))
    ) == [
        "\"time\" >= TIMESTAMPTZ '2026-01-03 00:00:00.000000+00'",
        '"i" < 5',
        "\"s\" = 'a-b c'",
    ]
    assert _conditions(str((field("v") > 0.1) & (field("i") == -3))) == ['"i" = -3']
    assert _conditions(str((field("i") == 1) | (field("i") == 2))) == []
    assert _conditions(str((field("i") == 7) & ((field("a") == 1) | (field("b") == 2)))) == [
        '"i" = 7'
    ]
    assert _conditions(str(~(field("i") == 1))) == []
    for nasty in (
        'x" and (i > 5) and (s == "y',
        ") and (i > 5",
        "it's",
        "a\\",
        "a or b)",
        "\u00e4",
    ):
        assert _conditions(str((field("s") == nasty))) in ([], [f"\"s\" = '{nasty}'"])
        assert not any("i" in c.split()[0] for c in _conditions(str(field("s") == nasty)))
