"""Values of query parameters, of every Python type that SQL has a value for."""

import datetime
import decimal
import uuid

import numpy as np
import pandas as pd
import pytest

UTC = datetime.UTC
TOKYO = datetime.timezone(datetime.timedelta(hours=9))

VALUES = [
    (None, "NULL", '"NULL"'),
    (True, "true", "BOOLEAN"),
    (41, "41", "BIGINT"),
    (2**63, "9223372036854775808", "HUGEINT"),
    (-(2**63), "-9223372036854775808", "BIGINT"),
    (2.5, "2.5", "DOUBLE"),
    (float("inf"), "inf", "DOUBLE"),
    ("it's", "it's", "VARCHAR"),
    (b"\x00a\xff'\\", "\\x00a\\xFF\\x27\\x5C", "BLOB"),
    (
        datetime.datetime(2026, 1, 3, 5, tzinfo=TOKYO),
        "2026-01-02 20:00:00+00",
        "TIMESTAMP WITH TIME ZONE",
    ),
    (
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "1969-12-31 23:59:59.999999",
        "TIMESTAMP",
    ),
    (datetime.date(2026, 1, 3), "2026-01-03", "DATE"),
    (datetime.time(5, 6, 7, 250000), "05:06:07.25", "TIME"),
    (datetime.timedelta(minutes=1, microseconds=-1), "00:00:59.999999", "INTERVAL"),
    (datetime.timedelta(days=-1), "-24:00:00", "INTERVAL"),
    (decimal.Decimal("12.340"), "12.340", "DECIMAL(5,3)"),
    (decimal.Decimal("-0.001"), "-.001", "DECIMAL(3,3)"),
    (decimal.Decimal("1e3"), "1000", "DECIMAL(4,0)"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005", "UUID"),
    (np.int32(7), "7", "BIGINT"),
    (np.float64(0.5), "0.5", "DOUBLE"),
    (np.bool_(True), "true", "BOOLEAN"),
    (np.datetime64("2026-01-03T05:00:00.000000001"), "2026-01-03 05:00:00", "TIMESTAMP"),
    (np.timedelta64(90, "s"), "00:01:30", "INTERVAL"),
    (pd.Timestamp("2026-01-03", tz="UTC"), "2026-01-03 00:00:00+00", "TIMESTAMP WITH TIME ZONE"),
    ([1, 2], "[1, 2]", "BIGINT[]"),
    ((1, 2.5), "[1.0, 2.5]", "DOUBLE[]"),
    (["a", None], "[a, NULL]", "VARCHAR[]"),
    ([], "[]", '"NULL"[]'),
    (np.array([1.5, 2.5]), "[1.5, 2.5]", "DOUBLE[]"),
    ([datetime.date(2026, 1, 3)], "[2026-01-03]", "DATE[]"),
    ([[1], [2, 3]], "[[1], [2, 3]]", "BIGINT[][]"),
]


@pytest.mark.parametrize(
    ("value", "text", "kind"), VALUES, ids=[repr(value)[:40] for value, _, _ in VALUES]
)
def test_value(lake, value, text, kind):
    for params in ({"v": value}, [value]):
        name = "$v" if isinstance(params, dict) else "?"
        query = f"SELECT x::VARCHAR AS text, typeof(x) AS kind FROM (SELECT {name} AS x)"
        (row,) = lake.sql(query, params).to_pylist()
        assert (row["text"] if row["text"] is not None else "NULL", row["kind"]) == (text, kind)


def test_in_conditions(lake, table):
    assert lake.sql("SELECT v FROM readings WHERE device IN $d", {"d": ["b", "c"]})[
        "v"
    ].to_pylist() == [2.5, 4.5]
    start = datetime.datetime(2026, 1, 4, tzinfo=UTC)
    query = "SELECT v FROM readings WHERE time >= $s AND time < $s + $w ORDER BY v"
    assert lake.sql(query, {"s": start, "w": datetime.timedelta(minutes=1)})["v"].to_pylist() == [
        3.5
    ]
    assert lake.sql("SELECT v FROM readings WHERE time < $1 AND device = $2", ["2026-01-04", "a"])[
        0
    ].to_pylist() == [1.5]


def test_wrong_ones(lake):
    with pytest.raises(ValueError, match="Values were not provided|parameters: a"):
        lake.sql("SELECT $a")
    with pytest.raises(ValueError):
        lake.sql("SELECT 1", {"a": 1})
    with pytest.raises(TypeError, match="parameter: object is no value of SQL"):
        lake.sql("SELECT $a", {"a": object()})
    with pytest.raises(TypeError, match="params: int"):
        lake.sql("SELECT $a", 5)
    with pytest.raises(ValueError, match="no type in common"):
        lake.sql("SELECT $a", {"a": [True, datetime.date(2026, 1, 3)]})
    with pytest.raises(ValueError, match="no decimals"):
        lake.sql("SELECT $a", {"a": decimal.Decimal("nan")})
    with pytest.raises(ValueError, match="38 digits"):
        lake.sql("SELECT $a", {"a": decimal.Decimal(10**40)})
