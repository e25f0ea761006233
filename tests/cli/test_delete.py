"""delete: rows that a condition holds for go, and what is said of it."""

import pytest

ROWS = """time,device,v,n
2024-01-01T00:00:00Z,a,1,1
2024-01-01T00:00:01Z,b,2,1
2024-01-02T00:00:00Z,a,3,1
"""


@pytest.fixture
def filled(tl):
    tl.make_table("t", rows=None)
    tl("append", "t", tl.file("rows.csv", ROWS))
    return tl


def test_rows_are_deleted(filled):
    done = filled("delete", "t", "--where", "device = 'a'", "--json").json()
    assert (done["rows"], done["files_dropped"], done["files_rewritten"], done["files_written"]) == (2, 1, 1, 1)
    assert done["version"] == filled("info", "t", "--json").json()["version"]
    assert done["snapshot_id"] == filled("snapshots", "t", "--json").json()[-1]["snapshot_id"]
    assert filled.rows("SELECT device, v FROM t") == [{"device": "b", "v": 2}]


def test_it_says_what_it_did(filled):
    version = filled("info", "t", "--json").json()["version"]
    out = filled("delete", "t", "--where", "device = 'a'", "--dry-run").out
    assert out == "default.t: would delete 2 rows\n"
    assert filled("info", "t", "--json").json()["version"] == version
    out = filled("delete", "t", "--where", "device = 'a'").out
    assert out == f"default.t: 2 rows deleted, 1 file dropped, 1 file rewritten, version {version + 1}\n"
    assert filled("delete", "t", "--where", "device = 'a'").out == "default.t: no row matches\n"
    assert filled("delete", "t", "--where", "true -- all").out == (
        f"default.t: 1 row deleted, 1 file dropped, version {version + 2}\n")


def test_a_rollback_takes_it_back(filled):
    before = filled("snapshots", "t", "--json").json()[-1]["snapshot_id"]
    filled("delete", "t", "--where", "true")
    assert filled.rows("SELECT count(*) AS n FROM t") == [{"n": 0}]
    filled("rollback", "t", before)
    assert filled.rows("SELECT count(*) AS n FROM t") == [{"n": 3}]


@pytest.mark.parametrize("where, said", [("", "condition"), ("nosuch = 1", "nosuch"), ("v >", "syntax error")])
def test_a_wrong_condition_is_refused(filled, where, said):
    filled.fails("delete", "t", "--where", where, says=[said, "default.t"])
    assert filled.rows("SELECT count(*) AS n FROM t") == [{"n": 3}]


def test_a_condition_is_required(filled):
    filled.fails("delete", "t", code=2, says="--where")
