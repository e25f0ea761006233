"""Every output format, read back by a second reader."""

import datetime
import decimal
import io
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

QUERY = """
SELECT * FROM (VALUES
  (1, true, 9007199254740993::BIGINT, 1.5::DOUBLE, 'plain', TIMESTAMPTZ '2024-01-02 03:04:05.678901+00',
   DATE '2024-02-29', 12.34::DECIMAL(9,2)),
  (2, false, (-9223372036854775808)::BIGINT, 'nan'::DOUBLE, 'comma, "quote"' || chr(10) || 'line',
   TIMESTAMPTZ '1969-12-31 23:59:59.5+00', DATE '1969-12-31', -0.05::DECIMAL(9,2)),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, true, 0, '-inf'::DOUBLE, '', TIMESTAMPTZ '0001-01-01 00:00:00+00', DATE '0001-01-01', 0::DECIMAL(9,2))
) r(id, b, i, f, s, t, d, m) ORDER BY id"""


def test_table(tl):
    lines = tl("sql", QUERY).out.splitlines()
    assert lines[0].split() == ["id", "b", "i", "f", "s", "t", "d", "m"]
    assert set(lines[1]) == {"-", " "}
    assert lines[2] == (" 1  true       9007199254740993        1.5  plain           "
                        "2024-01-02T03:04:05.678901Z  2024-02-29  12.34")
    assert lines[3].split()[:4] == ["2", "false", "-9223372036854775808", "NaN"]
    assert lines[4].strip() == "line"  # the second line of a text
    assert lines[5].split() == ["3"] + ["NULL"] * 7
    assert len(lines) == 7


def test_table_aligns_wide_and_combining_text(tl):
    out = tl("sql", "SELECT * FROM (VALUES ('\u65e5\u672c', 1), ('e\u0301x', 22), ('abcdef', 333)) r(s, n)").out
    assert out == ("s         n\n------  ---\n\u65e5\u672c      1\n" "e\u0301x       22\nabcdef  333\n")


def test_table_sends_no_control_characters_to_the_terminal(tl):
    assert tl("sql", "SELECT chr(27) || '[31m' || chr(9) || 'x' AS s").out.splitlines()[2] == "\\x1B[31m\\tx"


def test_table_of_more_rows_than_are_measured(tl):
    lines = tl("sql", "SELECT range AS n, 'x' || range AS s FROM range(5000)").out.splitlines()
    assert len(lines) == 5002
    assert [line.split() for line in lines[2:]] == [[str(i), f"x{i}"] for i in range(5000)]


def test_csv(tl):
    done = tl("sql", QUERY, "--format", "csv")
    assert done.csv() == [
        ["id", "b", "i", "f", "s", "t", "d", "m"],
        ["1", "true", "9007199254740993", "1.5", "plain", "2024-01-02T03:04:05.678901Z", "2024-02-29", "12.34"],
        ["2", "false", "-9223372036854775808", "NaN", 'comma, "quote"\nline', "1969-12-31T23:59:59.500Z", "1969-12-31",
         "-0.05"],
        ["3", "", "", "", "", "", "", ""],
        ["4", "true", "0", "-Infinity", "", "0001-01-01T00:00:00Z", "0001-01-01", "0.00"]]
    lines = done.out.splitlines()
    assert lines[4] == "3,,,,,,,"  # NULL
    assert '-Infinity,"",0001' in lines[5]  # the empty text


def check_json(rows):
    assert rows[0] == {"id": 1, "b": True, "i": 9007199254740993, "f": 1.5, "s": "plain",
                       "t": "2024-01-02T03:04:05.678901Z", "d": "2024-02-29", "m": 12.34}
    assert rows[1] == {"id": 2, "b": False, "i": -9223372036854775808, "f": "NaN", "s": 'comma, "quote"\nline',
                       "t": "1969-12-31T23:59:59.500Z", "d": "1969-12-31", "m": -0.05}
    assert rows[2] == {"id": 3, **dict.fromkeys("bifstdm")}
    assert rows[3]["f"] == "-Infinity" and rows[3]["s"] == ""
    assert len(rows) == 4


def test_json(tl):
    done = tl("sql", QUERY, "--format", "json")
    check_json(done.json())
    assert tl("sql", QUERY, "--json").out == done.out


def test_ndjson(tl):
    check_json([json.loads(line) for line in tl("sql", QUERY, "--format", "ndjson").out.splitlines()])


def check_arrow(data):
    rows = data.to_pylist()
    utc = datetime.timezone.utc
    assert rows[0] == {"id": 1, "b": True, "i": 9007199254740993, "f": 1.5, "s": "plain",
                       "t": datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, utc), "d": datetime.date(2024, 2, 29),
                       "m": decimal.Decimal("12.34")}
    assert math.isnan(rows[1]["f"]) and rows[1]["s"] == 'comma, "quote"\nline'
    assert rows[2] == {"id": 3, **dict.fromkeys("bifstdm")}
    assert rows[3]["d"] == datetime.date(1, 1, 1)
    assert data.schema.field("t").type == pa.timestamp("us", "UTC")


def test_parquet(tl):
    check_arrow(pq.read_table(io.BytesIO(tl("sql", QUERY, "--format", "parquet").raw)))
    path = tl.folder / "out.parquet"
    assert tl("sql", QUERY, "--format", "parquet", "--output", path).raw == b""
    check_arrow(pq.read_table(path))


def test_arrow(tl):
    check_arrow(pa.ipc.open_stream(tl("sql", QUERY, "--format", "arrow").raw).read_all())


def test_bytes_go_through_csv_unchanged(tl):
    schema, contract = "time:timestamptz, b:binary, f:fixed(3)", ["--time-column", "time"]
    rows = pa.table({"time": pa.array(range(260), pa.timestamp("us", "UTC")),
                     "b": pa.array([bytes([i]) for i in range(256)] + [b"", None, b' \\x41"', "é".encode()], pa.binary()),
                     "f": pa.array([bytes([i, 92, 0]) for i in range(256)] + [None] * 4, pa.binary(3))})
    tl.make_table("first", schema, contract, None)
    tl("append", "first", tl.file("rows.parquet", rows))
    tl.make_table("second", schema, contract, None)
    tl("append", "second", tl.file("rows.csv", tl("sql", "FROM first", "--format", "csv").out))
    read = lambda name: pa.ipc.open_stream(tl("sql", f"FROM {name} ORDER BY time", "--format", "arrow").raw).read_all()
    assert read("first").equals(read("second"))
    assert read("second").column("b").to_pylist() == rows.column("b").to_pylist()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_binary_formats_of_no_rows_keep_the_schema(tl, form):
    raw = tl("sql", f"SELECT * FROM ({QUERY}) WHERE false", "--format", form).raw
    data = pq.read_table(io.BytesIO(raw)) if form == "parquet" else pa.ipc.open_stream(raw).read_all()
    assert data.num_rows == 0 and data.column_names == ["id", "b", "i", "f", "s", "t", "d", "m"]


def test_none(tl):
    done = tl("sql", "SELECT * FROM range(100000)", "--format", "none")
    assert done.out == ""
    assert done.err.startswith("note: 100,000 rows in ")


def test_nested_values_are_json(tl):
    query = """SELECT [1, NULL, 3] AS l, {'a': 1, 'b': 'x"y'} AS s, MAP {'k': 1.5} AS m, [{'t': DATE '2024-01-01'}] AS n"""
    (row,) = tl.rows(query)
    want = {"l": [1, None, 3], "s": {"a": 1, "b": 'x"y'}, "m": {"k": 1.5}, "n": [{"t": "2024-01-01"}]}
    assert row == want
    header, cells = tl("sql", query, "--format", "csv").csv()
    assert {name: json.loads(cell) for name, cell in zip(header, cells)} == want


def test_other_types(tl):
    (row,) = tl.rows("""SELECT TIME '01:02:03.5' AS t, INTERVAL '14 months 3 days 01:00:00' AS i, '\\x00ab'::BLOB AS b,
                               'c0ffee00-1234-5678-9abc-def012345678'::UUID AS u, 1.5::FLOAT AS f, 3::DOUBLE AS d,
                               255::UTINYINT AS s, 18446744073709551615::UBIGINT AS x, TIMESTAMP '2024-01-01' AS ts,
                               'a'::ENUM('a', 'b') AS e""")
    assert row == {"t": "01:02:03.500", "i": "1 year 2 months 3 days 01:00:00", "b": "\\x00ab",
                   "u": "c0ffee00-1234-5678-9abc-def012345678", "f": 1.5, "d": 3.0, "s": 255,
                   "x": 18446744073709551615, "ts": "2024-01-01T00:00:00", "e": "a"}


def test_equal_column_names(tl):
    assert tl.rows("SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_1": 2}]


def test_csv_goes_back_in(tl):
    """What sql prints as CSV, append reads as the same rows."""
    tl("create", "t", "--schema", "time:timestamptz, s:string, f:double, b:boolean, d:date, m:decimal(9,2)",
       "--time-column", "time")
    query = """SELECT * FROM (VALUES
        (TIMESTAMPTZ '2024-01-01 00:00:00.000001+00', '', 'nan'::DOUBLE, true, DATE '1969-12-31', 1.10),
        (TIMESTAMPTZ '2024-01-01 00:00:01+00', NULL, NULL, NULL, NULL, NULL),
        (TIMESTAMPTZ '2024-01-01 00:00:02+00', ' a,"b"' || chr(10), '-inf'::DOUBLE, false, DATE '2024-01-01', -1)
        ) r(time, s, f, b, d, m)"""
    text = tl("sql", query, "--format", "csv").raw
    tl("append", "t", "-", "--input-format", "csv", stdin=text)
    assert tl("sql", "FROM t ORDER BY time", "--format", "csv").raw == text


def test_latest_in_every_format(table):
    assert table("latest", "t", "--format", "csv").csv()[1:] == [
        ["2024-01-02T00:00:00Z", "a", "", "3"], ["2024-01-01T00:01:00Z", "b", "2.5", "2"]]
    want = [{"time": "2024-01-02T00:00:00Z", "device": "a", "v": None, "n": 3},
            {"time": "2024-01-01T00:01:00Z", "device": "b", "v": 2.5, "n": 2}]
    assert table("latest", "t", "--json").json() == want
    assert [json.loads(line) for line in table("latest", "t", "--format", "ndjson").out.splitlines()] == want
    assert table("latest", "t").out.splitlines()[2:] == [
        "2024-01-02T00:00:00Z  a       NULL  3", "2024-01-01T00:01:00Z  b        2.5  2"]
    assert pa.ipc.open_stream(table("latest", "t", "--format", "arrow").raw).read_all().num_rows == 2
    assert pq.read_table(io.BytesIO(table("latest", "t", "--format", "parquet").raw)).num_rows == 2
    assert table("latest", "t", "--format", "none").out == ""
