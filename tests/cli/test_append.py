"""append and import: formats, folders, globs, standard input, batches, commits, reports."""

import gzip
import re

import pyarrow as pa

from conftest import CONTRACT, OTHER_ROWS, ROWS, SCHEMA

TIMES = pa.array([1704067200000000, 1704067260000000], pa.timestamp("us", "UTC"))


def parquet(values):
    return pa.table({"time": TIMES, "device": ["a", "b"], "v": values, "n": pa.array([1, 2], pa.int32())})


def test_the_report_for_people(tl):
    tl.make_table(rows=None)
    done = tl("append", "t", tl.file("a.csv", ROWS))
    assert re.fullmatch(r"default\.t: 3 rows appended in 1 commit \(2 files, [0-9.]+ KiB\), version 2, [0-9.]+ m?s\n",
                        done.out), done
    assert done.err == ""


def test_the_report_as_json(tl):
    tl.make_table(rows=None)
    report = tl("append", "t", tl.file("a.csv", ROWS), "--json").json()
    seconds, size = report.pop("seconds"), report.pop("bytes")
    assert report == {"table": "default.t", "rows": 3, "skipped": 0, "files": 2, "commits": 1, "duplicates": 0,
                      "version": 2, "added_columns": []}
    assert seconds > 0 and size > 0


def test_every_format(tl):
    tl.make_table(rows=None)
    one = "time,device,v,n\n2024-01-01T00:00:00Z,{},1,1\n"
    files = [tl.file("1.csv", one.format("csv")),
             tl.file("2.csv.gz", gzip.compress(one.format("csv-gz").encode())),
             tl.file("3.tsv", one.format("tsv").replace(",", "\t")),
             tl.file("4.tsv.gz", gzip.compress(one.format("tsv-gz").replace(",", "\t").encode())),
             tl.file("5.parquet", parquet([1.0, 2.0]).slice(0, 1))]
    tl("append", "t", *files)
    assert [row["device"] for row in tl.rows("SELECT device FROM t ORDER BY device")] == [
        "a", "csv", "csv-gz", "tsv", "tsv-gz"]


def test_a_folder_and_a_glob(tl):
    tl.make_table(rows=None)
    for name in ("x1", "y2", "z2"):
        tl.file(f"in/{name}.csv", f"time,device,v,n\n2024-01-01T00:00:00Z,{name},1,1\n")
    assert tl("append", "t", tl.folder / "in", "--json").json()["rows"] == 3
    assert tl("append", "t", tl.folder / "in/*2.csv", "--json").json()["rows"] == 2
    assert tl.rows("SELECT DISTINCT device FROM t ORDER BY device") == [
        {"device": "x1"}, {"device": "y2"}, {"device": "z2"}]


def test_standard_input(tl):
    tl.make_table(rows=None)
    tl("append", "t", "-", "--input-format", "csv", stdin=ROWS)
    assert tl.rows("SELECT count(*) AS n FROM t") == [{"n": 3}]
    packed = gzip.compress(OTHER_ROWS.replace(",", "\t").encode())
    tl("append", "t", "-", "--input-format", "tsv", stdin=packed)
    assert tl.rows("SELECT count(*) AS n FROM t") == [{"n": 5}]
    data = tl.file("p.parquet", parquet([3.0, 4.0])).read_bytes()
    assert tl("append", "t", "-", "--input-format", "parquet", "--json", stdin=data).json()["rows"] == 2


def test_an_error_in_standard_input_names_it_and_leaves_no_copy(tl):
    tl.make_table(rows=None)
    (tl.folder / "tmp").mkdir()
    done = tl.fails("append", "t", "-", "--input-format", "csv", stdin="time,device,v,n\n2024-01-01T00:00:00Z,a,x,1\n",
                    env={"TMPDIR": str(tl.folder / "tmp")}, says=["standard input", '"v"', '"x"'])
    assert "timelake-stdin" not in done.err
    assert list((tl.folder / "tmp").iterdir()) == []


def test_a_batch_id_counts_once(tl):
    tl.make_table(rows=None)
    path = tl.file("a.csv", ROWS)
    first = tl("append", "t", path, "--batch-id", "b1", "--json").json()
    again = tl("append", "t", path, "--batch-id", "b1", "--json").json()
    assert first["duplicates"] == 0 and first["version"] == 2
    assert again["duplicates"] == 1 and again["version"] == 2
    assert "known by batch id" in tl("append", "t", path, "--batch-id", "b1").out
    assert len(tl("snapshots", "t", "--json").json()) == 1


def test_rows_per_commit(tl):
    tl.make_table(rows=None)
    files = [tl.file(f"{i}.csv", f"time,device,v,n\n2024-01-0{i}T00:00:00Z,a,1,1\n") for i in (1, 2, 3)]
    assert tl("append", "t", *files, "--rows-per-commit", "0", "--json").json()["commits"] == 3
    assert tl("append", "t", *files, "--json").json()["commits"] == 1


def test_what_was_committed_before_an_error_is_told(tl):
    tl.make_table(rows=None)
    good = tl.file("good.csv", ROWS)
    bad = tl.file("bad.csv", "time,device,v,n\n2024-01-01T00:00:00Z,z,oops,1\n")
    done = tl.fails("append", "t", good, bad, "--rows-per-commit", "0", says=["bad.csv", "oops"])
    assert "note: 1 commit with 3 rows made before the error stay, version 2" in done.err
    assert tl.rows("SELECT count(*) AS n FROM t") == [{"n": 3}]
    done = tl.run("append", "t", bad, "--json")
    assert done.code == 1
    report = done.json()
    assert report["rows"] == 0 and report["commits"] == 0 and "oops" in report["error"]
    assert "note: nothing was committed" in done.err


def test_null_spellings(tl):
    tl.make_table(rows=None)
    tl("append", "t", "-", "--input-format", "csv",
       stdin="time,device,v,n\n2024-01-01T00:00:00Z,a,NA,1\n2024-01-01T00:00:00Z,b,null,\n")
    assert tl.rows("SELECT count(v) AS v, count(n) AS n FROM t") == [{"v": 0, "n": 1}]
    tl("append", "t", "-", "--input-format", "csv", "--null", "-", "--null", "none",
       stdin="time,device,v,n\n2024-01-01T00:00:00Z,c,-,1\n2024-01-01T00:00:00Z,d,none,1\n")
    assert tl.rows("SELECT count(v) AS v, count(*) AS n FROM t") == [{"v": 0, "n": 4}]


def test_a_delimiter_and_a_time_without_a_zone(tl):
    tl.make_table(rows=None)
    done = tl("append", "t", "-", "--input-format", "csv", "--delimiter", ";", "-v",
              stdin="time;device;v;n\n2024-07-01 12:00:00;a;1;1\n")
    assert "UTC" in done.err
    assert tl.rows("SELECT time FROM t") == [{"time": "2024-07-01T12:00:00Z"}]


def test_rows_from_the_future_are_skipped_on_request(tl):
    tl.make_table(rows=None)
    text = ROWS + "2199-01-01T00:00:00Z,a,1,1\n"
    report = tl("append", "t", "-", "--input-format", "csv", "--on-future", "skip", "--json", stdin=text).json()
    assert report["rows"] == 3 and report["skipped"] == 1
    text = "time,device,v,n\n2199-01-01T00:00:00Z,a,1,1\n"
    done = tl("append", "t", "-", "--input-format", "csv", "--on-future", "skip", stdin=text)
    assert "1 row too far in the future skipped" in done.out


def test_a_setting_for_one_append(tl):
    tl.make_table(rows=None)
    text = "time,device,v,n\n2199-01-01T00:00:00Z,a,1,1\n"
    tl("append", "t", "-", "--input-format", "csv", "--set", "max-future=off", stdin=text)
    assert tl.rows("SELECT count(*) AS n FROM t") == [{"n": 1}]


def test_import_creates_and_appends(tl):
    path = tl.file("a.csv", ROWS)
    report = tl("import", "ns.t", path, *CONTRACT, "--chunk", "month", "--retention", "90000d", "--json").json()
    assert report["table"] == "ns.t" and report["rows"] == 3
    info = tl("info", "ns.t", "--json").json()
    assert info["chunk"] == "month" and info["rows"] == 3
    assert [column["type"] for column in info["columns"]] == ["timestamptz", "string", "double", "long"]


def test_import_of_an_existing_table(tl):
    path = tl.file("a.csv", ROWS)
    tl("import", "t", path, *CONTRACT)
    tl.fails("import", "t", path, *CONTRACT, says=["default.t", "already exists"])
    other = tl.file("b.csv", OTHER_ROWS)
    tl("import", "t", other, *CONTRACT, "--if-not-exists")
    assert tl.rows("SELECT count(*) AS n FROM t") == [{"n": 5}]


def test_an_import_that_fails_leaves_no_table(tl):
    bad = tl.file("bad.csv", "time,device,v\n2024-01-01T00:00:00Z,a,1\n,b,2\n")
    done = tl.fails("import", "t", bad, *CONTRACT, says=["bad.csv", '"time"'])
    assert "note: nothing was committed" in done.err
    assert tl("ls").out == ""
    tl.fails("info", "t", says="does not exist")
    tl("import", "t", tl.file("a.csv", ROWS), *CONTRACT)


def test_an_import_that_fails_late_says_what_stays(tl):
    good = tl.file("good.csv", ROWS)
    bad = tl.file("bad.csv", "time,device,v,n\n2024-01-01T00:00:00Z,z,oops,1\n")
    done = tl.fails("import", "t", good, bad, *CONTRACT, "--rows-per-commit", "0", says="bad.csv")
    assert "1 commit with 3 rows made before the error stay" in done.err
    assert tl("ls").out == "default.t\n"


def test_import_without_a_time_column_notes_it(tl):
    done = tl("import", "t", tl.file("a.csv", ROWS))
    assert "note: without --time-column this is a plain table" in done.err


def test_a_schema_with_required_columns(tl):
    tl("create", "t", "--schema", SCHEMA.replace("device:string", "device:string!"), *CONTRACT)
    tl.fails("append", "t", "-", "--input-format", "csv", stdin="time,device,v,n\n2024-01-01T00:00:00Z,,1,1\n",
             says='"device"')
    tl("append", "t", "-", "--input-format", "csv", stdin='time,device,v,n\n2024-01-01T00:00:00Z,"",1,1\n')
