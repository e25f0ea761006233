"""Rollups: refresh, retention, what binds them to their table."""

import asyncio

import pytest
import timelake
from rollup_world import HOUR, START, World, assert_same, at


def test_a_refresh_in_parts_goes_on_where_it_was(tmp_path):
    world = World(tmp_path, 11)
    world.append(500)
    world.lake.create_rollup(
        "parts", "SELECT host, time_bucket('1h', time) AS b, count(*) AS n, sum(i) AS s FROM raw GROUP BY ALL"
    )
    world.append(500)
    done = world.lake.refresh_rollup("parts", max_bytes=1)
    assert done["changed"] and done["left"] > 0
    rounds = 0
    while done["left"]:
        done = world.lake.refresh_rollup("parts", max_bytes=1)
        rounds += 1
        assert rounds < 200
    assert_same(
        world.lake.sql("FROM parts").to_pylist(),
        world.plain.sql(
            "SELECT host, time_bucket('1h', time) AS b, count(*) AS n, sum(i)::DECIMAL(38, 0) AS s FROM raw GROUP BY ALL"
        ).to_pylist(),
        "parts",
    )


def test_appends_and_maintenance_refresh_rollups(tmp_path):
    lake = timelake.Lake(tmp_path)
    table = lake.create_table("raw", "time:timestamptz, host:string, v:double", time_column="time", series_key=["host"])
    table.append([{"time": at(START), "host": "a", "v": 1.0}])
    select = "SELECT host, time_bucket('1h', time) AS b, sum(v) AS s FROM raw GROUP BY ALL"
    lake.create_rollup("inline", select, {"rollup-refresh-interval": "0s"})
    lake.create_rollup("later", select, {"rollup-refresh-interval": "off"})
    table.append([{"time": at(START), "host": "b", "v": 2.0}])
    assert {r["rollup"]: r["stale"] for r in lake.rollups()} == {"default.inline": False, "default.later": True}
    assert lake.sql("SELECT sum(s) AS s FROM inline").to_pylist() == [{"s": 3.0}]
    report = table.maintain(dry_run=True)
    assert [s["reason"] for s in report["planned"] if s["task"] == "rollups"] == ["default.later is behind"]
    assert table.maintain(rollups=False)["rollups_refreshed"] == 0
    assert table.maintain()["rollups_refreshed"] == 1
    assert not any(r["stale"] for r in lake.rollups())


def test_what_retention_takes_stays_in_rollups(tmp_path):
    lake = timelake.Lake(tmp_path)
    table = lake.create_table(
        "raw",
        "time:timestamptz, host:string, v:double",
        time_column="time",
        series_key=["host"],
        properties={"on-expired": "keep"},
    )
    now = lake.sql("SELECT epoch_us(now()) AS n").to_pylist()[0]["n"]
    old = now - 30 * 24 * HOUR
    table.append([{"time": at(old), "host": "a", "v": 1.0}, {"time": at(now - HOUR), "host": "a", "v": 2.0}])
    lake.create_rollup("r", "SELECT host, time_bucket('1h', time) AS b, sum(v) AS s FROM raw GROUP BY ALL")
    lake.sql("ALTER TABLE raw SET (retention = '7d')").close()
    assert table.maintain()["rows_dropped"] == 1
    table.append([{"time": at(old), "host": "a", "v": 5.0}, {"time": at(now), "host": "a", "v": 3.0}])
    lake.refresh_rollup("r")
    lake.refresh_rollup("r", full=True)
    assert lake.sql("SELECT sum(s) AS s FROM r").to_pylist() == [{"s": 6.0}]
    # The table has the late row and not the one that was dropped: so does a query of it.
    assert lake.sql("SELECT sum(v) AS s FROM raw").to_pylist() == [{"s": 10.0}]


def test_a_source_snapshot_that_has_expired_costs_a_full_refresh(tmp_path):
    lake = timelake.Lake(tmp_path, settings={"auto-maintain": "false"})
    table = lake.create_table(
        "raw",
        "time:timestamptz, host:string, v:double",
        time_column="time",
        series_key=["host"],
        properties={"snapshot-retention": "0s", "min-snapshots": "1"},
    )
    table.append([{"time": at(START), "host": "a", "v": 1.0}, {"time": at(START + HOUR), "host": "a", "v": 2.0}])
    select = "SELECT host, time_bucket('1h', time) AS b, sum(v) AS s FROM raw GROUP BY ALL"
    lake.create_rollup("r", select)
    table.delete("v = 1")
    table.append([{"time": at(START + 2 * HOUR), "host": "a", "v": 3.0}])
    table.maintain(rollups=False)
    assert lake.sql("SELECT sum(v) AS s FROM raw").to_pylist() == [{"s": 5.0}]
    assert lake.refresh_rollup("r")["changed"]
    plain = timelake.Lake(tmp_path, settings={"rollup-routing": "false"})
    assert_same(lake.sql("FROM r").to_pylist(), plain.sql(select).to_pylist(), "r")


SELECT = "SELECT host, time_bucket('1h', time) AS b, sum(v) AS s, count(*) AS n FROM raw GROUP BY ALL"


class Expiring:
    """A table that keeps no snapshot but the newest, with a rollup of 48 hours."""

    def __init__(self, folder, **settings):
        self.lake = timelake.Lake(folder, settings={"auto-maintain": "false"})
        self.plain = timelake.Lake(folder, settings={"rollup-routing": "false"})
        properties = {"snapshot-retention": "0s", "min-snapshots": "1", "on-expired": "keep", **settings}
        self.table = self.lake.create_table(
            "raw", "time:timestamptz, host:string, v:double", time_column="time", series_key=["host"], properties=properties
        )
        for day in range(2):
            self.append(*(day * 24 + hour for hour in range(24)))
        self.lake.create_rollup("r", SELECT)

    def append(self, *hours, value=1.0):
        self.table.append(
            [{"time": at(START + hour * HOUR + half * HOUR // 2), "host": "a", "v": value} for hour in hours for half in range(2)]
        )

    def expire(self):
        """Of all snapshots the newest is left."""
        self.table.maintain(rollups=False, full=True)
        while len(self.table.snapshots()) > 1:
            self.table.maintain(rollups=False)

    def check(self):
        assert_same(self.lake.sql("FROM r").to_pylist(), self.plain.sql(SELECT).to_pylist(), "r")


def test_a_snapshot_that_has_expired_behind_merges_costs_nothing(tmp_path):
    world = Expiring(tmp_path)
    before = len(world.lake.table("r").snapshots())
    world.expire()
    assert not world.lake.rollups()[0]["stale"]
    assert not world.lake.refresh_rollup("r")["changed"]
    assert len(world.lake.table("r").snapshots()) == before
    assert "default.r│" in str(world.lake.sql("EXPLAIN SELECT host, sum(v) FROM raw GROUP BY ALL").to_pylist()).replace(" ", "")
    # What comes then is all that is read.
    world.append(50, 51)
    world.expire()
    assert world.lake.refresh_rollup("r")["rows"] == 2
    world.check()


def test_a_delete_behind_a_snapshot_that_has_expired_is_not_missed(tmp_path):
    world = Expiring(tmp_path)
    world.append(60)
    world.table.delete("time < make_timestamptz(%d)" % (START + 5 * HOUR))
    world.append(61)
    world.expire()
    assert world.lake.rollups()[0]["stale"]
    assert world.lake.refresh_rollup("r")["rows"] > 40  # all buckets
    world.check()
    # From then on it is known again.
    world.append(100)
    world.expire()
    assert world.lake.refresh_rollup("r")["rows"] == 1
    world.check()


def test_a_rollback_behind_a_snapshot_that_has_expired_is_not_missed(tmp_path):
    world = Expiring(tmp_path, **{"snapshot-retention": "1d"})
    newest = max(world.table.snapshots(), key=lambda s: s["sequence_number"])["snapshot_id"]
    world.append(3, value=7.0)
    world.lake.refresh_rollup("r")
    world.table.rollback(newest)
    assert world.lake.sql("SELECT sum(v) AS s FROM raw").to_pylist() == [{"s": 96.0}]
    world.append(70)
    world.append(71)
    world.table.set_properties({"snapshot-retention": "0s"})
    world.expire()
    world.lake.refresh_rollup("r")
    world.check()


def test_retention_behind_a_snapshot_that_has_expired_leaves_rollups(tmp_path):
    world = Expiring(tmp_path)
    now = world.lake.sql("SELECT epoch_us(now()) AS n").to_pylist()[0]["n"]
    world.table.set_properties({"retention": f"{(now - START - 25 * HOUR) // 1_000_000}s"})
    world.append(80)
    world.expire()
    assert world.plain.sql("SELECT count(*) AS n FROM raw").to_pylist()[0]["n"] < 98
    assert world.lake.refresh_rollup("r")["rows"] == 1
    assert world.lake.sql("SELECT sum(n)::BIGINT AS n FROM r").to_pylist() == [{"n": 98}]
    # A query of the table has what the table has.
    assert world.lake.sql("SELECT count(v) AS n FROM raw").to_pylist() == world.plain.sql("SELECT count(v) AS n FROM raw").to_pylist()


def test_more_appends_than_snapshots_are_kept_for_are_refreshed_one_by_one(tmp_path):
    world = Expiring(tmp_path, **{"max-snapshots": "3", "snapshot-retention": "1d"})
    for hour in range(12):
        world.append(100 + hour)
    world.table.maintain(rollups=False)
    assert len(world.table.snapshots()) <= 3
    assert world.lake.refresh_rollup("r")["rows"] == 12
    world.check()


def test_what_an_append_refreshes_is_bounded(tmp_path):
    lake = timelake.Lake(tmp_path, settings={"auto-maintain-bytes": "1"})
    table = lake.create_table("raw", "time:timestamptz, host:string, v:double", time_column="time", series_key=["host"])
    days = [[{"time": at(START + (24 * day + hour) * HOUR), "host": "a", "v": 1.0} for hour in range(24)] for day in range(4)]
    table.append(days[0])
    lake.create_rollup("r", SELECT, {"rollup-refresh-interval": "0s"})
    table.append([row for day in days for row in day])
    found = lake.sql("SELECT count(*) AS n FROM r").to_pylist()[0]["n"]
    assert 24 <= found < 96
    assert lake.rollups()[0]["stale"]
    for _ in range(5):
        table.append(days[0][:1])
    assert lake.sql("SELECT count(*) AS n FROM r").to_pylist() == [{"n": 96}]


def test_a_refresh_without_rows_leaves_those_that_there_are(tmp_path):
    """Its commit adds no file: what is known of the files of the one before is none of its own."""
    lake = timelake.Lake(tmp_path, settings={"auto-maintain": "false"})
    table = lake.create_table("raw", "time:timestamptz, host:string, v:double", time_column="time", series_key=["host"])
    days = [START + n * 24 * HOUR for n in range(4)]  # a file each
    table.append([{"time": at(day), "host": "a", "v": 1.0} for day in days])
    lake.create_rollup("r", SELECT)
    for n, day in enumerate(days):
        table.delete(f"time = make_timestamptz({day})")
        assert lake.refresh_rollup("r")["rows"] == 0
        assert lake.sql("SELECT count(*) AS n FROM r").to_pylist() == [{"n": 3 - n}]
        assert timelake.Lake(tmp_path).sql("SELECT count(*) AS n FROM r").to_pylist() == [{"n": 3 - n}]
    assert not lake.refresh_rollup("r")["changed"]


def test_groups_that_vanished_before_a_refresh_in_parts_go_with_its_last_part(tmp_path):
    lake = timelake.Lake(tmp_path, settings={"auto-maintain": "false"})
    table = lake.create_table("raw", "time:timestamptz, host:string, v:double", time_column="time", series_key=["host"])
    table.append([{"time": at(START + n * 12 * HOUR), "host": "a", "v": 1.0} for n in range(8)])
    lake.create_rollup("r", SELECT)
    table.delete("v = 1 AND hour(time) = 12")
    assert lake.refresh_rollup("r", max_bytes=1)["left"] > 0
    while lake.refresh_rollup("r", max_bytes=1)["left"]:
        pass
    assert lake.sql("SELECT count(*) AS n FROM r").to_pylist() == [{"n": 4}]


ALL = (
    "count(*) AS n, sum(v) AS s, min(v) AS mn, max(v) AS mx, avg(v) AS a, stddev(v) AS st, var_pop(v) AS vp, first(v, time) AS f, "
    "last(v, time) AS l, m4(time, v) AS m, time_weighted_mean(time, v) AS tw, time_weighted_mean(time, v, 'linear') AS tl"
)


@pytest.mark.damaged  # the raw files go, to show that nobody reads them
def test_a_wider_rollup_is_made_from_a_narrower_one(tmp_path):
    lake = timelake.Lake(tmp_path, settings={"auto-maintain": "false"})
    table = lake.create_table("raw", "time:timestamptz, host:string, v:double", time_column="time", series_key=["host"])
    table.append([{"time": at(START + n * HOUR // 12), "host": "ab"[n % 2], "v": n * 7 % 11 / 4 if n % 5 else None} for n in range(3000)])
    lake.create_rollup("narrow", f"SELECT host, time_bucket('15m', time) AS b, {ALL} FROM raw GROUP BY ALL")
    wide = f"SELECT host, time_bucket('1d', time) AS b, {ALL} FROM raw GROUP BY ALL"
    wanted = timelake.Lake(tmp_path, settings={"rollup-routing": "false"}).sql(wide).to_pylist()
    for file in (tmp_path / "default" / "raw" / "data").rglob("*.parquet"):
        file.unlink()  # so nothing comes from there
    lake.create_rollup("wide", wide)
    got = lake.sql("FROM wide").to_pylist()
    assert_same([{name: row[name] for name in wanted[0]} for row in got], wanted, "wide")


def test_rollups_and_their_table_are_bound_together(tmp_path):
    lake = timelake.Lake(tmp_path)
    lake.create_table("raw", "time:timestamptz, v:double", time_column="time")
    lake.create_rollup("r", "SELECT time_bucket('1h', time) AS b, sum(v) AS s FROM raw GROUP BY ALL")
    with pytest.raises(timelake.InvalidArgumentError, match="has rollups: default.r"):
        lake.drop_table("raw")
    with pytest.raises(timelake.UnsupportedError, match="rollup of default.raw"):
        lake.table("r").append([{"b": at(START), "s": 1.0}])
    assert lake.table("r").info()["rollup_of"] == "default.raw"
    assert lake.table("raw").info()["rollups"] == ["default.r"]
    lake.drop_table("raw", cascade=True)
    assert lake.tables() == []


def test_the_asynchronous_lake_has_rollups(tmp_path):
    async def run():
        async with timelake.AsyncLake(tmp_path) as lake:
            table = await lake.create_table("raw", "time:timestamptz, v:double", time_column="time")
            await table.append([{"time": at(START), "v": 1.0}])
            select = "SELECT time_bucket('1h', time) AS b, sum(v) AS s FROM raw GROUP BY ALL"
            assert (await lake.create_rollup("r", select, {"retention": "9000d"}))["rows"] == 1
            assert not (await lake.refresh_rollup("r"))["changed"]
            assert [r["retention"] for r in await lake.rollups()] == ["9000d"]
            await lake.drop_rollup("r")
            assert await lake.tables() == ["default.raw"]

    asyncio.run(run())
