"""Bad input of every kind: each is refused with a message that helps, and leaves everything as it was."""

import dataclasses
import gzip
import io
import json
import os
import pathlib
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Timelake

HEAD = "time,device,v,n\n"
GOOD = HEAD + "2024-01-05T00:00:00Z,z,1,1\n"
CREATE = ["create", "new", "--schema"]
COLUMNS = "time:timestamptz, device:string, v:double"


@dataclasses.dataclass
class Bad:
    """One bad input. In `arguments`, IN is the input file, DIR its folder."""
    name: str
    arguments: list
    says: list  # all of them in the message
    content: object = None  # of the input file
    suffix: str = ".csv"
    code: int = 1
    stdin: object = None


def append(name, content, says, suffix=".csv", table="t", more=()):
    return Bad(name, ["append", table, "IN", *more], says, content, suffix)


def parquet(**columns):
    data = {"time": pa.array([1704067200000000], pa.timestamp("us", "UTC")), "device": ["z"], "v": [1.0], **columns}
    return pa.table({name: values for name, values in data.items() if values is not None})


def parquet_bytes():
    sink = io.BytesIO()
    pq.write_table(pa.table({"time": pa.array(range(1000), pa.timestamp("us", "UTC")), "device": ["z"] * 1000}), sink)
    return sink.getvalue()


NAMES = [
    Bad("table name with a blank", ["create", "bad name", "--schema", "a:int"],
        ['table name "bad name" must be [namespace.]table using [A-Za-z0-9_-]']),
    Bad("table name of three parts", ["create", "a.b.c", "--schema", "a:int"], ['table name "a.b.c"']),
    Bad("empty table name", ["create", "", "--schema", "a:int"], ["table name"]),
    Bad("table name that leaves the folder", ["create", "../x", "--schema", "a:int"], ['table name "../x"']),
    Bad("table that exists", ["create", "t", "--schema", "a:int"], ["default.t", "already exists"]),
]

SCHEMAS = [
    Bad("empty schema", CREATE + [""], ["schema", "name:type"], code=1),
    Bad("column without a type", CREATE + ["time"], ['column "time" has no type']),
    Bad("unknown type", CREATE + ["time:timestmap"], ['column "time"', '"timestmap"', '"timestamp"', "accepted"]),
    Bad("decimal that is too wide", CREATE + ["a:decimal(99,2)"], ['"a"', "decimal(99,2)", "1..38"]),
    Bad("decimal without numbers", CREATE + ["a:decimal"], ['"a"', "precision"]),
    Bad("list that is not closed", CREATE + ["a:list<int"], ['"a"', ">"]),
    Bad("text behind the schema", CREATE + ["a:int b"], ['"a"']),
    Bad("column given twice", CREATE + ["a:int, a:string"], ['"a"', "twice"]),
    Bad("columns that differ only in case", CREATE + ["a:int, A:string"], ['"a"', '"A"', "case"]),
    Bad("missing time column", CREATE + [COLUMNS, "--time-column", "tim"],
        ['time column "tim" is not in the schema', '"time"']),
    Bad("time column that is no timestamp", CREATE + [COLUMNS, "--time-column", "v"],
        ['time column "v" must be a timestamp', "double"]),
    Bad("missing series key column", CREATE + [COLUMNS, "--time-column", "time", "--series-key", "device,hos"],
        ['"hos" is not in the schema']),
    Bad("series key without a time column", CREATE + [COLUMNS, "--series-key", "device"], ["requires a time column"]),
    Bad("time column in the series key", CREATE + [COLUMNS, "--time-column", "time", "--series-key", "time"],
        ['series key column "time"']),
    Bad("series key column given twice",
        CREATE + [COLUMNS, "--time-column", "time", "--series-key", "device,device"], ['"device"', "twice"]),
    Bad("wrong chunk", CREATE + [COLUMNS, "--time-column", "time", "--chunk", "week"],
        ["--chunk", '"week"', "hour, day, month, year"], code=2),
    Bad("neither a schema nor a file", ["create", "new"], ["--schema", "--from"], code=2),
    Bad("both a schema and a file", ["create", "new", "--schema", "a:int", "--from", "IN"], ["--schema", "--from"],
        GOOD, code=2),
]

SETTINGS = [
    Bad("wrong retention", CREATE + [COLUMNS, "--time-column", "time", "--retention", "90x"], ["retention", "90x"]),
    Bad("negative retention", CREATE + [COLUMNS, "--time-column", "time", "--retention=-1d"], ["retention", "-1d"]),
    Bad("retention of a plain table", CREATE + [COLUMNS, "--retention", "1d"], ["retention", "time column"]),
    Bad("unknown setting", CREATE + [COLUMNS, "--prop", "row-grup-rows=5"],
        ['unknown setting "row-grup-rows"', "row-group-rows", "timelake settings"]),
    Bad("no rows in a row group", CREATE + [COLUMNS, "--prop", "row-group-rows=0"],
        ["row-group-rows", '"0"', "accepted: 1 .. "]),
    Bad("number that is none", CREATE + [COLUMNS, "--prop", "row-group-rows=many"], ["row-group-rows", '"many"']),
    Bad("compression level 99", CREATE + [COLUMNS, "--prop", "write.parquet.compression-level=99"],
        ["compression-level", "99", "1 .. 22"]),
    Bad("unknown codec", CREATE + [COLUMNS, "--prop", "write.parquet.compression-codec=zip"],
        ["compression-codec", '"zip"', "zstd"]),
    Bad("setting of the library's own", CREATE + [COLUMNS, "--prop", "commit-id=x"], ["commit-id", "not by hand"]),
    Bad("delete age above metadata age", CREATE + [COLUMNS, "--prop", "delete-min-age=2h"],
        ["delete-min-age", "metadata-min-age"]),
    Bad("property that is no pair", CREATE + [COLUMNS, "--prop", "x"], ['--prop: "x" is not name=value'], code=2),
    Bad("property given twice", CREATE + [COLUMNS, "--prop", "a.b=1", "--prop", "a.b=2"], ['"a.b" is given twice'],
        code=2),
    Bad("alter of what is fixed", ["alter", "t", "--set", "time-column=v"],
        ["time-column", "fixed when the table is created"]),
    Bad("alter of an unknown setting", ["alter", "t", "--set", "retentoin=1d"], ["retentoin", "retention"]),
    Bad("alter with one wrong of two", ["alter", "t", "--set", "retention=1d", "--set", "max-snapshots=0"],
        ["max-snapshots", '"0"']),
    Bad("alter to fewer than the least", ["alter", "t", "--set", "min-snapshots=200", "--set", "max-snapshots=100"], ["min-snapshots", "max-snapshots"]),
    Bad("unset of an unknown setting", ["alter", "t", "--unset", "nonsense"], ["nonsense"]),
    Bad("alter of nothing", ["alter", "t"], ["--set", "--unset"], code=2),
    Bad("alter of a missing table", ["alter", "nothere", "--set", "retention=1d"], ["nothere", "does not exist"]),
    Bad("append with an unknown setting", ["append", "t", "IN", "--set", "nonsense=1"], ["nonsense"], GOOD),
    Bad("append with a setting of the table", ["append", "t", "IN", "--set", "retention=1d"],
        ["retention", "call level", "table"], GOOD),
    Bad("session with an unknown setting", ["sql", "SELECT 1", "--set", "nonsense=1"], ["nonsense"]),
]

TEXT_FILES = [
    append("missing file", None, ["IN"]),
    Bad("pattern that matches nothing", ["append", "t", "DIR/*.nothing"], ["*.nothing"]),
    append("empty file", "", ["IN", "empty"]),
    append("too few fields", HEAD + "2024-01-05T00:00:00Z,z,1,1\n2024-01-05T00:00:01Z,z\n", ["IN", "line 3", "2", "4"]),
    append("too many fields", HEAD + "2024-01-05T00:00:00Z,z,1,1,9\n", ["IN", "line 2"]),
    append("quote that is not closed", HEAD + '2024-01-05T00:00:00Z,"z,1,1\n', ["IN", "line 2"]),
    append("text in a number column", GOOD + "2024-01-05T00:00:01Z,z,warm,1\n", ["IN", "line 3", '"v"', '"warm"']),
    append("dash in a number column", HEAD + "2024-01-05T00:00:01Z,z,-,1\n", ["IN", "line 2", '"v"', '"-"']),
    append("fraction in an integer column", HEAD + "2024-01-05T00:00:01Z,z,1,1.5\n", ["IN", "line 2", '"n"', '"1.5"']),
    append("integer that is too large", HEAD + "2024-01-05T00:00:01Z,z,1,3000000000\n",
           ["IN", "line 2", '"n"', '"3000000000"']),
    append("no time", HEAD + ",z,1,1\n", ["IN", "line 2", '"time"']),
    append("time in words", HEAD + "yesterday,z,1,1\n", ["IN", "line 2", '"time"', '"yesterday"']),
    append("day and month to be guessed", HEAD + "01/02/2024,z,1,1\n", ["IN", "line 2", '"time"', '"01/02/2024"']),
    append("day that does not exist", HEAD + "2024-02-30T00:00:00Z,z,1,1\n", ["IN", "line 2", '"2024-02-30T00:00:00Z"']),
    append("column of the file that the table lacks", "time,device,v,n,extra\n2024-01-05T00:00:00Z,z,1,1,5\n",
           ["IN", '"extra"']),
    append("column in other case", "time,Device,v,n\n2024-01-05T00:00:00Z,z,1,1\n", ['"Device"', '"device"']),
    append("no key column", "time,v,n\n2024-01-05T00:00:00Z,1,1\n", ['"device"', "series key"]),
    append("no time column", "device,v,n\nz,1,1\n", ['"time"', "time column"]),
    append("row of the year 2199", HEAD + "2199-01-01T00:00:00Z,z,1,1\n", ["line 2", "2199", "max-future"]),
    append("bytes that are no UTF-8", HEAD.encode() + b"2024-01-05T00:00:00Z,\xff\xfe,1,1\n", ["IN", "UTF-8"]),
    append("NaN in a key", "time,k,v\n2024-01-05T00:00:00Z,NaN,1\n", ["line 2", '"k"', "NaN"], table="floats"),
    append("NULL in a required column", "time,device\n2024-01-05T00:00:00Z,\n", ['"device"'], table="strict"),
    append("gzip that is none", b"\x1f\x8b" + bytes(range(200)), ["IN"], suffix=".csv.gz"),
    append("gzip that is cut off", gzip.compress((GOOD * 1000).encode())[:-30], ["IN"], suffix=".csv.gz"),
    append("gzip with a wrong byte", gzip.compress(GOOD.encode())[:20] + b"\0\0\0\0" + gzip.compress(GOOD.encode())[24:],
           ["IN"], suffix=".csv.gz"),
    append("unknown suffix", GOOD, ["IN"], suffix=".xyz"),
    append("delimiter of two characters", GOOD, ["delimiter"], more=["--delimiter", "::"]),
    Bad("bad file behind a good one", ["append", "t", "DIR/good.csv", "IN"], ["IN", "line 2", '"oops"'],
        HEAD + "2024-01-05T00:00:00Z,z,oops,1\n"),
    Bad("missing table", ["append", "tt", "IN"], ["default.tt", "does not exist"], GOOD),
    Bad("standard input of no known format", ["append", "t", "-"], ["--input-format"], stdin=GOOD, code=2),
    Bad("standard input twice", ["append", "t", "-", "-", "--input-format", "csv"], ["twice"], stdin=GOOD, code=2),
    Bad("unknown input format", ["append", "t", "IN", "--input-format", "xml"], ['"xml"', "parquet, csv, tsv"], GOOD,
        code=2),
    Bad("negative rows in a commit", ["append", "t", "IN", "--rows-per-commit=-1"], ["--rows-per-commit"], GOOD, code=2),
    Bad("import of nothing", ["import", "new", "IN", "--time-column", "time"], ["IN", "empty"], ""),
    Bad("import without its time column", ["import", "new", "IN", "--time-column", "zeit"], ['"zeit"'], GOOD),
    Bad("import that fails in its last line", ["import", "new", "IN", "--time-column", "time"], ["IN", '"time"'],
        GOOD * 1 + ",z,1,1\n"),
    Bad("create from nothing", ["create", "new", "--from", "IN"], ["IN", "empty"], ""),
    Bad("create from a missing file", ["create", "new", "--from", "DIR/none.csv"], ["none.csv"]),
]

PARQUET_FILES = [
    append("Parquet that is cut off", parquet_bytes()[:-100], ["IN"], suffix=".parquet"),
    append("Parquet that is text", GOOD, ["IN"], suffix=".parquet"),
    append("Parquet that is empty", b"", ["IN"], suffix=".parquet"),
    append("Parquet with one column too many", parquet(extra=[1]), ['"extra"'], suffix=".parquet"),
    append("Parquet with text for a number", parquet(v=["warm"]), ['"v"', '"warm"'], suffix=".parquet"),
    append("Parquet with a number that is too large", parquet(n=pa.array([3000000000], pa.int64())),
           ['"n"', "3000000000"], suffix=".parquet"),
    append("Parquet with nanoseconds", parquet(time=pa.array([1704067200000000001], pa.timestamp("ns", "UTC"))),
           ['"time"'], suffix=".parquet"),
    append("Parquet without a time", parquet(time=pa.array([None], pa.timestamp("us", "UTC"))), ['"time"'],
           suffix=".parquet"),
    append("Parquet without the key", parquet(device=None), ['"device"'], suffix=".parquet"),
    append("Parquet with a list for text", parquet(device=[["z"]]), ['"device"'], suffix=".parquet"),
]

QUERIES = [
    Bad("broken SQL", ["sql", "SELEC 1"], ["SELEC"]),
    Bad("unknown table", ["sql", "SELECT * FROM nothere"], ["nothere"]),
    Bad("unknown column", ["sql", "SELECT devise FROM t"], ["devise", "device"]),
    Bad("unknown function", ["sql", "SELECT tim_bucket(1, 2)"], ["tim_bucket"]),
    Bad("unknown namespace", ["sql", "SELECT * FROM t", "--namespace", "nothere"], ["t"]),
    Bad("namespace with a wrong character", ["sql", "SELECT 1", "--namespace", "a b"], ["a b"]),
    Bad("error in the middle of the rows", ["sql", "SELECT CASE WHEN n = 3 THEN error('at three') END FROM t"],
        ["at three"]),
    Bad("text that is no number", ["sql", "SELECT 'warm'::INT"], ["warm"]),
    Bad("no statement", ["sql", ""], ["no SQL statement"], stdin="", code=2),
    Bad("nothing but a comment", ["sql", "-- nothing"], ["no SQL statement"], code=2),
    Bad("two results in one Parquet file", ["sql", "SELECT 1; SELECT 2", "--format", "parquet"], ["one result"], code=2),
    Bad("two results in one Arrow stream", ["sql", "SELECT 1; SELECT 2", "--format", "arrow"], ["one result"], code=2),
    Bad("parameter that is no pair", ["sql", "SELECT $x", "--param", "x"], ['"x" is not name=value'], code=2),
    Bad("parameter given twice", ["sql", "SELECT $x", "--param", "x=1", "--param", "x=2"], ['"x" is given twice'],
        code=2),
    Bad("parameter with broken JSON", ["sql", "SELECT $x", "--param", "x:=[1"], ["--param x", "[1"], code=2),
    Bad("parameter that nothing uses", ["sql", "SELECT 1", "--param", "x=1"], ["no statement has a parameter $x"], code=2),
    Bad("parameter that is missing", ["sql", "SELECT $x"], ["x"]),
    Bad("positional parameter that is missing", ["sql", "SELECT $2", "--param", "2=1"], ["1 is missing"], code=2),
    Bad("unknown output format", ["sql", "SELECT 1", "--format", "xml"], ['"xml"', "table, csv, json"], code=2),
    Bad("format given twice over", ["sql", "SELECT 1", "--format", "csv", "--json"], ["--json"], code=2),
    Bad("file of statements that is missing", ["sql", "-f", "DIR/none.sql"], ["none.sql", "No such file"]),
    Bad("output in a missing folder", ["sql", "SELECT 1", "--output", "DIR/none/x.csv"], ["none/x.csv", "No such file"]),
    Bad("type that Parquet lacks", ["sql", "SELECT INTERVAL '1 day' AS i", "--format", "parquet"], ["Parquet", "interval"]),
    Bad("wrong number of threads", ["sql", "SELECT 1", "--threads", "0"], ["--threads"], code=2),
    Bad("wrong memory limit", ["sql", "SELECT 1", "--memory-limit", "lots"], ["lots"]),
    Bad("insert of a value that does not fit", ["sql", "INSERT INTO t VALUES (now(), 'x', 1, 1.5)"],
        ['default.t, column "n", row 1: 1.5 does not fit']),
    Bad("insert into a missing table", ["sql", "INSERT INTO nothere VALUES (1)"], ["nothere"]),
    Bad("update by SQL", ["sql", "UPDATE t SET n = 1"], ["UPDATE is not supported"]),
    Bad("drop of a missing table by SQL", ["sql", "DROP TABLE lake.nothere"], ["nothere"]),
    Bad("insert between BEGIN and COMMIT", ["sql", "BEGIN; INSERT INTO t VALUES (now(), 'x', 1, 1)"],
        ["INSERT is not possible between BEGIN and COMMIT"]),
    Bad("snapshot that is not there", ["sql", "FROM t AT (VERSION => 5)"], ["default.t", "no snapshot 5", "it holds"]),
]

COMMANDS = [
    Bad("rollback to an unknown snapshot", ["rollback", "t", "123"], ["default.t", "123", "timelake snapshots"]),
    Bad("rollback to no number", ["rollback", "t", "abc"], ['"abc" is not a snapshot id'], code=2),
    Bad("rollback to a number beyond 64 bits", ["rollback", "t", "99999999999999999999"], ["snapshot id"], code=2),
    Bad("drop of a missing table", ["drop", "nothere"], ["default.nothere", "does not exist"]),
    Bad("latest of a plain table", ["latest", "plain"], ["default.plain", "no time column"]),
    Bad("latest of a missing table", ["latest", "t1"], ["default.t1", "does not exist"]),
    Bad("info of a missing table", ["info", "ns.t"], ["ns.t", "does not exist"]),
    Bad("settings of a missing table", ["settings", "nothere"], ["nothere", "does not exist"]),
    Bad("files of a missing table", ["files", "nothere"], ["nothere", "does not exist"]),
    Bad("unknown scheme", ["-w", "ftp://host/x", "ls"], ["ftp", "file"]),
    Bad("unknown storage option", ["-o", "nonsense=1", "ls"], ["nonsense"]),
    Bad("storage option that is no pair", ["-o", "nonsense", "ls"], ['-o: "nonsense" is not name=value'], code=2),
    Bad("warehouse that is a file", ["-w", "IN", "create", "x", "--schema", "a:int"], ["IN"], GOOD),
    Bad("table in a warehouse that is a file", ["-w", "IN", "info", "t"], ["IN", "is a file"], GOOD),
    Bad("empty warehouse", ["-w", "", "ls"], ["location is empty"]),
]

ALL = NAMES + SCHEMAS + SETTINGS + TEXT_FILES + PARQUET_FILES + QUERIES + COMMANDS


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """One warehouse for all: each case proves that it left it as it was."""
    tl = Timelake(tmp_path_factory.mktemp("bad"))
    tl.make_table()
    tl.make_table("plain", "a:int", [], "a\n1\n")
    tl.make_table("floats", "time:timestamptz, k:double, v:double", ["--time-column", "time", "--series-key", "k"], None)
    tl.make_table("strict", "time:timestamptz, device:string!", ["--time-column", "time"], None)
    tl.file("in/good.csv", GOOD)
    tl.before = tl.tree()
    tl.rows_before = tl("sql", "FROM t ORDER BY ALL", "--format", "csv").out
    return tl


def test_names_are_unique():
    assert len({bad.name for bad in ALL}) == len(ALL) >= 45


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name.replace(" ", "-"))
def test_bad_input(lake, bad):
    file = "in/" + re.sub(r"\W+", "-", bad.name) + bad.suffix
    path = lake.folder / file if bad.content is None else lake.file(file, bad.content)
    put = lambda text: text.replace("IN", str(path)) if text == "IN" else text.replace("DIR", str(path.parent))
    before = lake.before
    done = lake.fails(*map(put, bad.arguments), code=bad.code, stdin=bad.stdin,
                      says=[str(path) if text == "IN" else text for text in bad.says])
    assert done.out == "" or done.out.strip() in ("CASE", "[]"), done
    # Not a message of a library underneath, no status code, no source place.
    for foreign in ("Invalid:", "IOError:", "Key error:", "Binder Error:", ".cc:", "terminate called", "nlohmann"):
        assert foreign not in done.err, done
    # An import that fails drops the table that it created; the drop itself is a version of that table.
    after = {name: content for name, content in lake.tree().items() if not name.startswith("default/new/metadata/")}
    assert after == before, sorted(set(after) ^ set(before))


def test_a_text_that_is_no_time_draws_no_note_about_zones(table):
    done = table.fails("append", "t", table.file("words.csv", HEAD + "yesterday,z,1,1\n"), says='"yesterday"')
    assert "without a zone" not in done.err, done


def test_the_line_counts_as_an_editor_does(table):
    rows = HEAD + '\n2024-01-05T00:00:00Z,"two\nlines",1,1\n2024-01-05T00:00:00Z,z,1,1\n2199-01-05T00:00:00Z,z,1,1\n'
    table.fails("append", "t", table.file("lines.csv", rows), says=["line 6", "2199"])


@pytest.mark.parametrize("text", ["\\", "\\x4", "\\xZZ", "\\n", "ab\\x0"])
def test_a_backslash_that_begins_no_byte(tl, text):
    tl.make_table("blobs", "time:timestamptz, b:binary", ["--time-column", "time"], None)
    tl.fails("append", "blobs", tl.file("b.csv", f"time,b\n2024-01-05T00:00:00Z,{text}\n"),
             says=["b.csv", "line 2", '"b"', "x and two hex digits"])


def test_after_all_of_them_the_table_is_as_before(lake):
    assert lake("sql", "FROM t ORDER BY ALL", "--format", "csv").out == lake.rows_before
    assert lake("ls").out == "default.floats\ndefault.plain\ndefault.strict\ndefault.t\n"
    lake("append", "t", lake.folder / "in/good.csv")
    assert lake.rows("SELECT count(*) AS n FROM t") == [{"n": 4}]


def edit_json(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


DAMAGE = {
    "metadata cut off": (lambda path: path.write_text(path.read_text()[:300]), ["v2.metadata.json"]),
    "metadata empty": (lambda path: path.write_text(""), ["v2.metadata.json"]),
    "metadata that is text": (lambda path: path.write_text("hello"), ["v2.metadata.json"]),
    "metadata without a schema": (lambda path: edit_json(path, lambda data: data.pop("schemas")),
                                  ["v2.metadata.json", "schemas"]),
    "snapshot id that is no number": (
        lambda path: edit_json(path, lambda data: data.update({"current-snapshot-id": "x"})),
        ["v2.metadata.json", "current-snapshot-id"]),
    "table format of the future": (
        lambda path: edit_json(path, lambda data: data["properties"].update({"timelake.format-version": "0.9.0"})),
        ["default.t", "0.9.0", "0.3.0", "upgrade"]),
    "Iceberg format of the future": (lambda path: edit_json(path, lambda data: data.update({"format-version": 9})),
                                     ["9"]),
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.damaged
def test_damaged_metadata(table, name):
    damage, says = DAMAGE[name]
    damage(table.metadata())
    before = table.tree()
    path = table.file("good.csv", GOOD)
    for command in (["info", "t"], ["append", "t", path], ["sql", "FROM t"], ["latest", "t"],
                    ["alter", "t", "--set", "retention=1d"]):
        if command[0] == "sql" and name == "table format of the future":
            continue  # the test below
        table.fails(*command, says=says)
    assert table.tree() == before


@pytest.mark.damaged
def test_a_table_format_of_the_future_is_not_queried(table):
    damage, says = DAMAGE["table format of the future"]
    damage(table.metadata())
    table.fails("sql", "FROM t", says=says)


@pytest.mark.parametrize("pattern", ["metadata/snap-*.avro", "metadata/*-m.avro", "data/*/*.parquet"])
@pytest.mark.parametrize("how", ["missing", "cut off", "garbage"])
@pytest.mark.damaged
def test_damaged_files(table, pattern, how):
    victim = sorted((table.warehouse / "default/t").glob(pattern))[0]
    content = victim.read_bytes()
    if how == "missing":
        victim.unlink()
    else:
        victim.write_bytes(content[:len(content) // 2] if how == "cut off" else b"\x07" * len(content))
    before = table.tree()
    done = table.fails("sql", "SELECT sum(v), count(DISTINCT device) FROM t", says=victim.name)
    assert "terminate" not in done.err
    assert table.tree() == before


@pytest.mark.parametrize("hint", ["", "abc", "1", "999", "-5", "2\n", "99999999999999999999"])
def test_a_hint_that_is_garbage_does_no_harm(table, hint):
    (table.warehouse / "default/t/metadata/version-hint.text").write_text(hint)
    assert table.rows("SELECT count(*) AS n FROM t") == [{"n": 3}]
    assert table("append", "t", table.file("good.csv", GOOD), "--json").json()["version"] == 3


def test_a_warehouse_that_is_a_broken_link(tl):
    tl.warehouse.symlink_to(tl.folder / "gone")
    tl.fails("create", "t", "--schema", "a:int", says=str(tl.warehouse), timeout=20)


def test_a_folder_that_cannot_be_written(tl):
    if os.geteuid() == 0:
        if not pathlib.Path("/proc/self").exists():
            pytest.skip("root may write anywhere here")
        tl.fails("-w", "/proc/warehouse", "create", "t", "--schema", "a:int", says="/proc", timeout=20)
        return
    tl.make_table()
    for folder in (tl.warehouse / "default/t").rglob("*"):
        if folder.is_dir():
            folder.chmod(0o555)
    before = tl.tree()
    tl.fails("append", "t", tl.file("good.csv", GOOD), says=["default.t", "Permission denied"])
    assert tl.tree() == before
