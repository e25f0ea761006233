"""Table.delete: rows that a condition holds for; also from asyncio."""

import asyncio

import pytest


def devices(lake):
    return lake.sql("SELECT device, v FROM readings ORDER BY time").to_pylist()


def test_rows_are_deleted(lake, table):
    before = table.snapshots()[-1]["snapshot_id"]
    report = table.delete("device = 'a' AND v > 2")
    assert (report["rows"], report["files_dropped"]) == (1, 0)
    assert report["files_rewritten"] == report["files_written"] == 1
    assert report["version"] == table.version
    assert report["snapshot_id"] == table.snapshots()[-1]["snapshot_id"]
    assert [row["v"] for row in devices(lake)] == [1.5, 2.5, 4.5]
    assert {row["device"]: row["v"] for row in table.latest().to_pylist()} == {"a": 1.5, "b": 4.5}
    table.rollback(before)
    assert len(devices(lake)) == 4


def test_an_earlier_row_does_not_come_to_light(lake, table):
    table.append([{"time": "2026-01-03T00:00:00Z", "device": "a", "v": -1.0}])
    assert table.delete("v = 1.5")["rows"] == 0
    assert table.delete("v < 0")["rows"] == 1
    assert [row["v"] for row in devices(lake)] == [2.5, 3.5, 4.5]


def test_a_dry_run_counts(lake, table):
    version = table.version
    assert table.delete("v > 2", dry_run=True) == {
        "rows": 3,
        "files_dropped": 0,
        "files_rewritten": 0,
        "files_written": 0,
        "version": version,
        "snapshot_id": 0,
    }
    table.refresh()
    assert table.version == version


def test_sql_deletes_too(lake, table):
    assert lake.sql("DELETE FROM readings WHERE v < ?", params=[2]).to_pylist() == [{"Count": 1}]
    assert lake.sql("TRUNCATE readings").to_pylist() == [{"Count": 3}]
    assert devices(lake) == []


def test_a_wrong_condition_is_refused(timelake, lake, table):
    for where in ("", "nosuch = 1", "v >"):
        with pytest.raises(timelake.InvalidArgumentError, match="readings"):
            table.delete(where)
    with pytest.raises(timelake.InvalidArgumentError, match="None"):
        table.delete(None)
    assert len(devices(lake)) == 4


def test_asyncio(timelake, table, lake):
    async def main():
        async with timelake.AsyncLake(lake.location) as other:
            own = await other.table("readings")
            return await own.delete("device = 'b'")

    assert asyncio.run(main())["rows"] == 2
    assert [row["device"] for row in devices(lake)] == ["a", "a"]
