"""rollup: tables of aggregates, made, refreshed, listed and dropped."""

import pytest

ROWS = """time,device,v,n
2024-01-01T00:00:00Z,a,1,1
2024-01-01T00:10:00Z,a,2,1
2024-01-01T01:00:00Z,b,3,1
"""
MORE = "time,device,v,n\n2024-01-01T00:20:00Z,a,5,1\n"
SELECT = "SELECT device, time_bucket('1h', time) AS bucket, sum(v) AS v, count(*) AS n FROM t GROUP BY ALL"


@pytest.fixture
def filled(tl):
    tl.make_table("t", rows=None)
    tl("append", "t", tl.file("rows.csv", ROWS))
    return tl


def test_a_rollup_is_made_refreshed_listed_and_dropped(filled):
    done = filled("rollup", "create", "r", SELECT, "--set", "rollup-refresh-interval=off", "--json").json()
    assert (done["rollup"], done["rows"], done["changed"]) == ("default.r", 2, True)
    assert filled.rows("SELECT device, v, n FROM r ORDER BY ALL") == [{"device": "a", "v": 3, "n": 2}, {"device": "b", "v": 3, "n": 1}]
    filled("append", "t", filled.file("more.csv", MORE))
    (listed,) = filled("rollup", "ls", "--json").json()
    assert listed["source"] == "default.t" and listed["keys"] == ["device"] and listed["stale"]
    assert "behind" in filled("rollup", "ls").out
    assert filled("rollup", "refresh", "r").out == "default.r: 1 row written\n"
    assert filled("rollup", "refresh", "r").out == "default.r: nothing new\n"
    assert filled("rollup", "refresh", "r", "--full", "--json").json()["rows"] == 2
    assert filled.rows("SELECT sum(v) AS v FROM r") == [{"v": 11}]
    info = filled("info", "r", "--json").json()
    assert info["rollup_of"] == "default.t"
    assert filled("info", "t", "--json").json()["rollups"] == ["default.r"]
    assert "default.t" in filled("ls", "-l").out
    assert filled("rollup", "drop", "r").out == "r: dropped\n"
    assert filled("rollup", "drop", "r", "--if-exists").out == "r: does not exist\n"
    assert filled("rollup", "ls", "--json").json() == []


def test_maintain_refreshes_rollups(filled):
    filled("rollup", "create", "r", SELECT, "--set", "rollup-refresh-interval=off")
    filled("append", "t", filled.file("more.csv", MORE))
    assert "default.r is behind" in filled("maintain", "t", "--dry-run").out
    (report,) = filled("maintain", "t", "--no-rollups", "--json").json()
    assert report["rollups_refreshed"] == 0
    (report,) = filled("maintain", "t", "--json").json()
    assert (report["rollups_refreshed"], report["rollup_rows"]) == (1, 2)


def test_mistakes_are_named(filled):
    filled("rollup", "create", "r", SELECT)
    filled.fails("rollup", "create", "r", SELECT, says="already exists")
    filled("rollup", "create", "r", SELECT, "--if-not-exists")
    filled("rollup", "create", "r", SELECT.replace("sum(v)", "max(v)"), "--replace")
    filled.fails("rollup", "create", "x", SELECT.replace("sum(v)", "median(v)"), says="median(v) cannot be kept")
    filled.fails("drop", "t", says="has rollups: default.r")
    filled.fails("append", "r", filled.file("rows.csv", "bucket,v\n2024-01-01,1\n"), says="rollup of default.t")
    filled.fails("rollup", "drop", "t", says="is not a rollup")
    filled("drop", "t", "--cascade")
    assert filled("ls").out == ""
