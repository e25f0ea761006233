"""Table.maintain: merging, dry runs, limits, settings; also from asyncio."""

import asyncio

import pytest
from conftest import ROWS, SCHEMA


def fill(table, appends=4):
    for i in range(appends):
        day = 3 + i % 2
        table.append(
            [
                {"time": f"2026-01-0{day}T00:00:00Z", "device": "a", "v": float(i)},
                {"time": f"2026-01-0{day}T00:0{i}:30Z", "device": None, "v": 10.0 * i},
            ]
        )


def rows_of(lake):
    return lake.sql("SELECT * FROM readings ORDER BY device NULLS FIRST, time").to_pylist()


def test_small_files_are_merged(lake, empty):
    fill(empty)
    before, latest = rows_of(lake), lake.latest("readings").to_pylist()
    report = empty.maintain()
    assert report["partitions_compacted"] == 2
    assert (report["files_rewritten"], report["files_written"]) == (4, 2)
    assert report["rows_rewritten"] == len(before) == 6
    assert report["duplicates_removed"] == 2
    assert report["merges_abandoned"] == report["merges_left"] == 0
    assert rows_of(lake) == before
    assert lake.latest("readings").to_pylist() == latest
    assert len(empty.files()) == 2
    assert empty.maintain()["planned"] == []


def test_a_dry_run_only_plans(empty):
    fill(empty)
    version = empty.version
    report = empty.maintain(dry_run=True)
    assert [(s["partition"], s["reason"], s["files"], s["rows"]) for s in report["planned"]] == [
        ("time_day=2026-01-03", "small files", 2, 4),
        ("time_day=2026-01-04", "small files", 2, 4),
    ]
    assert all(step["bytes"] > 0 for step in report["planned"])
    assert report["files_rewritten"] == 0
    empty.refresh()
    assert empty.version == version


def test_tasks_and_limits(empty):
    fill(empty)
    assert empty.maintain(compact=False)["planned"] == []
    report = empty.maintain(max_bytes=1)
    assert report["files_rewritten"] == 0
    assert report["merges_left"] == 2
    assert report["bytes_left"] == sum(file["bytes"] for file in empty.files())
    assert empty.maintain(max_seconds=1e-9)["merges_left"] == 2
    assert empty.maintain(settings={"write-memory-bytes": 65536})["files_rewritten"] == 4
    report = empty.maintain(full=True)
    assert [step["reason"] for step in report["planned"]] == ["asked for"] * 2


def test_wrong_arguments_are_refused(timelake, empty):
    with pytest.raises(timelake.InvalidArgumentError, match="max_bytes -1"):
        empty.maintain(max_bytes=-1)
    with pytest.raises(timelake.InvalidArgumentError, match="no-such"):
        empty.maintain(settings={"no-such": 1})


def test_from_asyncio(timelake, lake, empty):
    fill(empty)

    async def run():
        async with timelake.AsyncLake(lake.location) as other:
            table = await other.table("readings")
            return await table.maintain(full=True, max_bytes=0)

    assert asyncio.run(run())["files_rewritten"] == 4


def test_past_partitions_are_dropped(timelake, lake):
    table = lake.create_table(
        "kept",
        "time:timestamptz, device:string, v:double",
        time_column="time",
        series_key=["device"],
        retention="30d",
    )
    old = [{"time": "2001-01-01T00:00:00Z", "device": "a", "v": 1.0}]
    with pytest.raises(timelake.InvalidArgumentError, match=r"2001-01-01.*retention \(30d\)"):
        table.append(old)
    assert table.append(old, settings={"on-expired": "skip"})["skipped"] == 1
    assert table.append(old, settings={"on-expired": "keep"})["rows"] == 1
    (step,) = table.maintain(dry_run=True)["planned"]
    assert step["task"] == "retention"
    assert step["partition"] == "time_day=2001-01-01"
    assert table.maintain(retention=False)["partitions_dropped"] == 0
    report = table.maintain()
    assert (report["partitions_dropped"], report["files_dropped"]) == (1, 1)
    assert report["rows_dropped"] == 1
    assert lake.sql("SELECT count(*) AS n FROM kept").to_pylist() == [{"n": 0}]
    assert lake.latest("kept").num_rows == 0


def test_appends_merge_small_files(lake, empty):
    def append(i, **options):
        row = {"time": f"2026-01-03T00:00:0{i}Z", "device": "a", "v": float(i)}
        return empty.append([row], **options)

    reports = [append(i) for i in range(8)]
    assert [report["files_merged"] for report in reports] == [0] * 7 + [8]
    assert all("maintenance_error" not in report for report in reports)
    assert len(empty.files()) == 1
    assert lake.sql("SELECT sum(v) AS s FROM readings").to_pylist() == [{"s": 28.0}]


def test_appends_that_shall_not_merge(empty):
    for i in range(8):
        row = {"time": f"2026-01-03T00:00:0{i}Z", "device": "a", "v": float(i)}
        assert empty.append([row], maintain=False)["files_merged"] == 0
    assert len(empty.files()) == 8


def test_of_all_tables_of_a_lake(timelake, lake, empty):
    fill(empty)
    other = lake.create_table("other", "time:timestamptz, v:double")
    for i in range(3):
        other.append([{"time": "2026-01-03T00:00:00Z", "v": float(i)}])
    plans = lake.maintain(dry_run=True)
    assert {name: len(report["planned"]) for name, report in plans.items()} == {
        "default.other": 1,
        "default.readings": 2,
    }
    with pytest.raises(timelake.NotFoundError, match="missing"):
        lake.maintain(["missing", "other"])
    assert len(other.files()) == 1  # the others are done
    assert list(lake.maintain(["readings"])) == ["readings"]


@pytest.mark.damaged
def test_verify(lake, empty):
    fill(empty)
    empty.maintain()
    report = empty.verify(deep=True)
    assert report["findings"] == []
    assert report["data_files"] == 6
    assert report["rows_read"] == 6
    damaged = next(file["path"] for file in empty.files()).removeprefix("file://")
    with open(damaged, "r+b") as file:
        file.truncate(10)
    assert damaged in empty.verify()["findings"][0]["file"]


def test_health(timelake, lake, empty):
    assert empty.health() == {
        "small_files": 0,
        "unsorted_files": 0,
        "overlapping_files": 0,
        "hint_lag": 0,
        "due": [],
    }
    fill(empty)
    health = empty.health()
    assert health["small_files"] == 4
    assert health["overlapping_files"] == 4
    assert health["hint_lag"] == 0
    assert [(s["task"], s["files"]) for s in health["due"]] == [("compaction", 2), ("compaction", 2)]
    empty.set_properties({"snapshot-retention": "0s", "min-snapshots": "1"})
    due = empty.health()["due"]
    assert (due[-1]["task"], due[-1]["files"]) == ("expiry", 3)
    empty.maintain()
    health = empty.health()
    assert (health["small_files"], health["overlapping_files"], health["due"]) == (2, 0, [])

    async def main():
        async with timelake.AsyncLake(lake.location) as other:
            return await (await other.table("readings")).health()

    assert asyncio.run(main()) == health


def test_shards(lake, empty):
    fill(empty, 8)
    before = rows_of(lake)
    reports = [empty.maintain(shard=i, shards=3) for i in range(3)]
    assert sum(report["partitions_compacted"] for report in reports) == 2
    assert rows_of(lake) == before
    assert empty.maintain(dry_run=True)["planned"] == []


def test_wrong_options(timelake, empty):
    for options in ({"shard": 2, "shards": 2}, {"shards": 0}, {"orphan_min_age": "1h"}, {"orphan_min_age": "x"}):
        with pytest.raises(timelake.InvalidArgumentError):
            empty.maintain(**options)
    assert empty.maintain(orphan_min_age="1h", force=True)["orphans_deleted"] == 0


def test_what_dropped_tables_left_goes(timelake, tmp_path):
    with timelake.Lake(tmp_path / "wh") as lake:
        ages = {"metadata-min-age": "10ms", "delete-min-age": "10ms"}
        for name in ("dropped", "kept"):
            table = lake.create_table(
                name, SCHEMA, time_column="time", series_key=["device"], properties=ages
            )
            table.append(ROWS)
        lake.drop_table("dropped")
        folder = tmp_path / "wh/default/dropped"
        assert list(folder.rglob("*.parquet"))
        orphan = folder / "data/left.parquet"
        orphan.write_bytes(b"of a writer that was interrupted")
        deleted = 0
        for _ in range(1000):  # a run frees what is old enough then
            report = lake.maintain(orphan_min_age="0s", force=True).get("default.dropped")
            deleted += report["objects_deleted"] if report else 0
            if len([path for path in folder.rglob("*") if path.is_file()]) == 2:
                break
        assert deleted > 4
        left = sorted(path.name for path in folder.rglob("*") if path.is_file())
        assert left == ["v3.metadata.json", "version-hint.text"]
        assert "default.dropped" not in lake.maintain()
        assert lake.table("kept").info()["rows"] == 4
        # The name is free, and its versions go on.
        table = lake.create_table("dropped", SCHEMA, time_column="time", series_key=["device"])
        table.append(ROWS)
        assert lake.sql("SELECT count(*) AS n FROM dropped").to_pylist() == [{"n": 4}]
