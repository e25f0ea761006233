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
