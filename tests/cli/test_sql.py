"""sql: where the text comes from, several statements, parameters, settings, streams."""

import json

import pytest

from conftest import OTHER_ROWS


def test_text_from_argument_file_and_standard_input(table):
    query = "SELECT count(*) AS n FROM t"
    path = table.file("q.sql", query + ";\n")
    assert table("sql", query, "--format", "csv").out == "n\n3\n"
    assert table("sql", "-f", path, "--format", "csv").out == "n\n3\n"
    assert table("sql", "--format", "csv", stdin=query).out == "n\n3\n"
    assert table("sql", "-", "--format", "csv", stdin=query).out == "n\n3\n"
    assert table("sql", "-f", "-", "--format", "csv", stdin=query).out == "n\n3\n"
    table.fails("sql", query, "-f", path, code=2, says="--file")


def test_a_query_that_starts_with_a_comment(table):
    assert table("sql", "-- how many\nSELECT count(*) AS n FROM t", "--format", "csv").out == "n\n3\n"


def test_several_statements(table):
    script = "SELECT 1 AS a; SELECT 'x;y' AS b; -- the end;\n"
    assert table("sql", script, "--format", "csv").out == "a\n1\nb\nx;y\n"
    assert table("sql", script).out == "a\n-\n1\n\nb\n---\nx;y\n"


def test_statements_without_a_result_print_nothing(table):
    script = "SET TimeZone = 'UTC'; CREATE TEMP TABLE x AS SELECT 1 AS a; INSERT INTO x VALUES (2); SELECT 2 AS b"
    assert table("sql", script, "--format", "csv").out == "b\n2\n"
    assert table("sql", script, "--format", "ndjson").out == '{"b":2}\n'


def test_an_error_in_a_script_names_the_statement(table):
    done = table.run("sql", "SELECT 1 AS a; SELECT nothing FROM t; SELECT 3", "--format", "csv")
    assert done.code == 1
    assert done.out == "a\n1\n"
    assert done.err.startswith("error: statement 2 of 3: ") and "nothing" in done.err


def test_a_query_without_rows_prints_its_header(table):
    assert table("sql", "SELECT device, v FROM t WHERE false", "--format", "csv").out == "device,v\n"
    assert table("sql", "SELECT device FROM t WHERE false", "--format", "json").out == "[]\n"
    assert table("sql", "SELECT device FROM t WHERE false", "--format", "ndjson").out == ""
    assert table("sql", "SELECT device FROM t WHERE false").out == "device\n------\n"


def test_namespaces(tl):
    tl.make_table("ns.t")
    assert tl("sql", "SELECT count(*) AS n FROM ns.t", "--format", "csv").out == "n\n3\n"
    assert tl("sql", "SELECT count(*) AS n FROM t", "--namespace", "ns", "--format", "csv").out == "n\n3\n"
    tl.fails("sql", "SELECT count(*) AS n FROM t", says="t")


@pytest.mark.parametrize("text, value, kind", [
    ("x=12", 12, "BIGINT"), ("x=-3", -3, "BIGINT"), ("x=1.5", 1.5, "DOUBLE"), ("x=1e3", 1000.0, "DOUBLE"),
    ("x=true", True, "BOOLEAN"), ("x=false", False, "BOOLEAN"), ("x=abc", "abc", "VARCHAR"), ("x=", "", "VARCHAR"),
    ("x=a=b", "a=b", "VARCHAR"), ("x=nan", "nan", "VARCHAR"), ("x=9223372036854775807", 9223372036854775807, "BIGINT"),
    ('x:="12"', "12", "VARCHAR"), ("x:=12", 12, "BIGINT"), ("x:=1.0", 1.0, "DOUBLE"), ("x:=true", True, "BOOLEAN")])
def test_parameters_are_typed(tl, text, value, kind):
    row = json.loads(tl("sql", "SELECT $x AS x, typeof($x) AS kind", "--param", text, "--format", "ndjson").out)
    assert row == {"x": value, "kind": kind}


def test_null_and_positional_parameters(tl):
    assert tl("sql", "SELECT $x IS NULL AS y", "--param", "x:=null", "--format", "csv").out == "y\ntrue\n"
    assert tl("sql", "SELECT $2 AS b, $1 AS a", "--param", "1=x", "--param", "2=7", "--format", "csv").out == "b,a\n7,x\n"
    assert tl("sql", "SELECT ? AS a", "--param", "1=x", "--format", "csv").out == "a\nx\n"


def test_parameters_go_to_the_statements_that_name_them(table):
    script = "SELECT 1 AS one; SELECT count(*) AS n FROM t WHERE device = $device; SELECT $other AS o"
    done = table("sql", script, "--param", "device=a", "--param", "other=2", "--format", "csv")
    assert done.out == "one\n1\nn\n2\no\n2\n"


def test_session_options(table):
    query = "SELECT current_setting('threads') AS threads"
    assert table("sql", query, "--threads", "1", "--format", "csv").out == "threads\n1\n"
    table("sql", "SELECT count(*) FROM t", "--memory-limit", "1GB", "--temp-directory", table.folder / "spill")


def test_a_session_setting(table):
    table("sql", "SELECT count(*) FROM t", "--set", "commit-timeout=5s")


def test_catalog_statements(table):
    assert table("sql", "SHOW TABLES", "--format", "csv").csv()[1:] == [["t"]]
    names = [row[0] for row in table("sql", "DESCRIBE t", "--format", "csv").csv()[1:]]
    assert names == ["time", "device", "v", "n"]
    tables = table("sql", "SELECT table_schema, table_name FROM information_schema.tables", "--format", "csv").csv()
    assert ["default", "t"] in tables


def test_explain_is_readable(table):
    out = table("sql", "EXPLAIN SELECT count(*) FROM t").out
    assert "\\n" not in out and len(out.splitlines()) > 5


def test_an_output_file_appears_when_it_is_complete(table):
    target = table.folder / "out.csv"
    table("sql", "SELECT device FROM t ORDER BY ALL", "--format", "csv", "--output", target)
    assert target.read_text() == "device\na\na\nb\n"
    table.fails("sql", "SELECT error('no') FROM t", "--format", "csv", "--output", target, says="no")
    assert target.read_text() == "device\na\na\nb\n"
    assert [path.name for path in table.folder.glob("out.csv*")] == ["out.csv"]


def test_verbose_tells_on_stderr(table):
    path = table.file("more.csv", OTHER_ROWS)
    assert table("append", "t", path, "--json").err == ""
    done = table("-v", "append", "t", path, "--json")
    assert json.loads(done.out)["rows"] == 2
    assert "info: " in done.err and "append.rows 2" in done.err


def test_tables_are_written_by_sql(tl):
    script = """CREATE TABLE t (time TIMESTAMPTZ, device VARCHAR, n INTEGER) WITH (time_column = 'time', series_key = 'device');
                INSERT INTO t VALUES ('2026-01-01', 'a', 1), ('2026-01-01', 'b', 2);
                INSERT INTO t SELECT time, device, n + 10 FROM t WHERE device = 'a';
                SELECT device, n FROM t ORDER BY device;"""
    assert tl("sql", script, "--format", "csv").out == "device,n\na,11\nb,2\n"
    assert [snapshot["operation"] for snapshot in tl("snapshots", "t", "--json").json()] == ["append", "append"]
    tl("sql", "ALTER TABLE t SET (retention = '30d')")
    assert tl("info", "t", "--json").json()["properties"]["timelake.retention"] == "30d"
    tl("sql", "DROP TABLE t")
    assert tl("ls").out == ""


def test_time_travel_and_metadata_tables(table):
    query = "SELECT snapshot_id FROM t$snapshots ORDER BY sequence_number LIMIT 1"
    first = table("sql", query, "--format", "csv").csv()[1][0]
    table("append", "t", table.file("more.csv", OTHER_ROWS))
    count = "SELECT count(*) AS n FROM t"
    assert table("sql", count, "--format", "csv").out == "n\n5\n"
    assert table("sql", f"{count} AT (VERSION => {first})", "--format", "csv").out == "n\n3\n"
    rows = table("sql", 'SELECT sum(record_count) AS n FROM "t$files"', "--format", "csv").out
    assert rows == "n\n5\n"


def test_a_file_goes_in_and_out(table):
    out = table.folder / "out.csv"
    table("sql", f"COPY (SELECT * FROM t ORDER BY ALL) TO '{out}'")
    assert out.read_text().startswith("time,device,v,n\n")
    table("sql", f"CREATE TABLE u WITH (time_column = 'time', series_key = 'device') AS FROM '{out}'")
    same = "SELECT count(*) AS n FROM (SELECT time, device, v, n FROM t EXCEPT SELECT time, device, v, n FROM u)"
    assert table("sql", same, "--format", "csv").out == "n\n0\n"
