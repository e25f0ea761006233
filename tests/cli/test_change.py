"""alter, rollback, drop."""

import json

from conftest import OTHER_ROWS, SCHEMA


def test_alter_sets_and_unsets(table):
    report = table("alter", "t", "--set", "retention=30d", "--set", "max-snapshots=50", "--json").json()
    assert report == {"table": "default.t", "version": 3, "set": {"max-snapshots": "50", "retention": "30d"},
                      "unset": []}
    properties = table("info", "t", "--json").json()["properties"]
    assert properties["timelake.retention"] == "30d" and properties["timelake.max-snapshots"] == "50"
    assert table("alter", "t", "--unset", "retention", "--set", "min-snapshots=3").out == (
        "default.t: 1 set, 1 unset, version 4\n")
    properties = table("info", "t", "--json").json()["properties"]
    assert "timelake.retention" not in properties and properties["timelake.min-snapshots"] == "3"
    assert len(table("snapshots", "t", "--json").json()) == 1


def test_alter_takes_names_in_every_spelling(table):
    table("alter", "t", "--set", "timelake.row_group_rows=1000")
    assert table("info", "t", "--json").json()["properties"]["timelake.row-group-rows"] == "1000"


def test_a_value_may_hold_an_equals_sign(table):
    table("alter", "t", "--set", "my.note=a=b=c")
    assert table("info", "t", "--json").json()["properties"]["my.note"] == "a=b=c"


def test_rollback(table):
    (first,) = table("snapshots", "t", "--json").json()
    table("append", "t", table.file("more.csv", OTHER_ROWS))
    assert table.rows("SELECT count(*) AS n FROM t") == [{"n": 5}]
    report = table("rollback", "t", first["snapshot_id"], "--json").json()
    assert report == {"table": "default.t", "snapshot_id": first["snapshot_id"], "version": 4}
    assert table.rows("SELECT count(*) AS n FROM t") == [{"n": 3}]
    assert [row["device"] for row in table("latest", "t", "--json").json()] == ["a", "b"]
    second = table("snapshots", "t", "--json").json()[1]
    assert not second["current"]
    out = table("rollback", "t", second["snapshot_id"]).out
    assert out == f"default.t: snapshot {second['snapshot_id']} is current again, version 5\n"


def test_drop_and_create_again(table):
    assert table("drop", "t").out == "t: dropped\n"
    table.fails("info", "t", says=["default.t", "does not exist"])
    table.fails("sql", "SELECT * FROM t", says="t")
    table("create", "t", "--schema", SCHEMA)
    assert table("info", "t", "--json").json()["rows"] == 0


def test_drop_if_exists(tl):
    assert tl("drop", "t", "--if-exists").out == "t: does not exist\n"
    assert tl("drop", "t", "--if-exists", "--json").json() == {"table": "t", "dropped": False, "purged": False}


def test_purge_warns_and_deletes_the_data(table):
    done = table("drop", "t", "--purge", "--json")
    assert done.json() == {"table": "t", "dropped": True, "purged": True}
    assert done.err.startswith("warning: --purge deletes the files of t now")
    # The versions stay as the memory of the place; what they named is gone.
    assert all(name.endswith((".metadata.json", "version-hint.text")) for name in table.tree()), table.tree()


def test_drop_without_purge_keeps_the_data(table):
    before = {name for name in table.tree() if name.endswith(".parquet")}
    table("drop", "t")
    assert before <= set(table.tree())


def test_a_table_with_the_name_of_a_command(tl):
    tl.make_table("files")
    assert tl("info", "files", "--json").json()["rows"] == 3
    assert json.loads(tl("files", "files", "--json").out)


def columns(table):
    return table("sql", "--format", "csv", "SELECT column_name FROM (DESCRIBE t)").out.split()[1:]


def test_alter_changes_columns_in_one_commit(table):
    before = columns(table)
    version = table("info", "t", "--json").json()["version"]
    report = table("alter", "t", "--add-column", "p=double", "--add-column", "note=string", "--after", "device",
                   "--json").json()
    expected = [part for name in before for part in ([name, "p", "note"] if name == "device" else [name])]
    assert report == {"table": "default.t", "version": version + 1, "columns": expected}
    assert columns(table) == expected
    out = table("alter", "t", "--drop-column", "note", "--rename-column", "p=q", "--add-column", "note=list<int>").out
    expected = [{"p": "q"}.get(name, name) for name in expected if name != "note"] + ["note"]
    assert out == f"default.t: columns {', '.join(expected)}, version {version + 2}\n"
    assert len(table("snapshots", "t", "--json").json()) == 1
    assert table.rows("SELECT count(*) AS n, count(q) AS q FROM t") == [{"n": 3, "q": 0}]
    # Nothing to change is no commit.
    assert table("alter", "t", "--rename-column", "q=q", "--json").json()["version"] == version + 2


def test_alter_refuses_columns(table):
    before = columns(table)
    for arguments, says in (
            (["--drop-column", "time"], "time column"),
            (["--rename-column", "device=d"], "series key"),
            (["--widen-column", "time=string"], "cannot become string"),
            (["--add-column", "DEVICE=int"], "only in case"),
            (["--add-column", "x=nope"], "nope"),
            (["--add-column", "x=int", "--after", "nope"], "there is no column \"nope\""),
            (["--drop-column", "nope"], "there is no column \"nope\""),
            (["--add-column", "fine=int", "--drop-column", "nope"], "nope")):
        table.fails("alter", "t", *arguments, says=says)
    for arguments, says in (
            (["--add-column", "x"], "NAME=TYPE"),
            (["--rename-column", "x="], "NAME=NAME"),
            (["--after", "time", "--drop-column", "x"], "--after"),
            (["--add-column", "x=int", "--set", "retention=1d"], "separate commands")):
        table.fails("alter", "t", *arguments, says=says, code=2)
    assert columns(table) == before


def test_new_columns_come_with_the_files(table):
    one = table.file("one.csv", "time,device,p\n2026-03-01T00:00:00Z,x,1.5\n2026-03-01T00:00:01Z,x,\n")
    two = table.file("two.csv", "time,device,q,p\n2026-03-01T00:00:02Z,x,word,2\n")
    table.fails("append", "t", one, says=["\"p\"", "not in the table's schema"])
    three = table.file("three.csv", "time,device,p\n2026-03-01T00:00:02Z,x,word\n")
    table.fails("append", "t", one, three, "--set", "new-columns=add",
                says=["new column \"p\"", "double", "string", "one.csv", "three.csv"])
    # One commit: the types hold the values of all files.
    report = table("append", "t", two, one, "--set", "new-columns=add", "--json").json()
    assert report["added_columns"] == ["q", "p"] and report["rows"] == 3 and report["commits"] == 1
    out = table("append", "t", table.file("four.csv", "time,device,s\n2026-03-01T00:00:02Z,y,1\n"),
                "--set", "new-columns=add").out
    assert "; new columns: s" in out
    table("alter", "t", "--drop-column", "s")
    assert table.rows("SELECT sum(p) AS p, max(q) AS q, count(*) AS n FROM t") == [{"p": 3.5, "q": "word", "n": 7}]
    table("alter", "t", "--set", "new-columns=add")
    piped = table("append", "t", "-", "--input-format", "csv", "--json",
                  stdin="time,device,r\n2026-03-01T00:00:03Z,x,true\n").json()
    assert piped["added_columns"] == ["r"]


def test_an_import_takes_columns_of_all_files(tl):
    one = tl.file("one.csv", "time,device,v\n2026-03-01T00:00:00Z,x,1.5\n")
    two = tl.file("two.csv", "time,device,q\n2026-03-01T00:00:01Z,x,7\n")
    contract = ["--time-column", "time", "--series-key", "device"]
    tl.fails("import", "t", one, two, *contract, says=["two.csv", "\"q\""])
    report = tl("import", "t", one, two, *contract, "--set", "new-columns=add", "--json").json()
    assert report["added_columns"] == ["q"] and report["commits"] == 1
    assert tl.rows("SELECT v, q FROM t ORDER BY time") == [{"v": 1.5, "q": None}, {"v": None, "q": 7}]
    follow = tl("append", "t", "-", "--input-format", "csv", "--follow", "--set", "new-columns=add", "--json",
                stdin="time,device,r\n2026-03-01T00:00:02Z,x,word\n")
    assert tl.rows("SELECT count(r) AS r FROM t") == [{"r": 1}], follow
