"""Rollups: random tables, rollups and queries; what is answered from rollups is what the table says, and a rollup is
what its query says from scratch."""

import asyncio
import datetime
import math
import os
import random

import pytest
import timelake

QUERIES = int(os.environ.get("TL_ROLLUP_QUERIES", "150"))
START = 1_767_225_600_000_000  # 2026-01-01 in UTC
HOUR = 3_600_000_000
SPAN = 3 * 24 * HOUR

AGGREGATES = {
    "count(*)": "count(*)",
    "count(v)": "count(v)",
    "sum(v)": "sum(v)",
    "sum(i)": "sum(i)",
    "sum(v * 2)": "sum(v * 2)",
    "min(v)": "min(v)",
    "max(i)": "max(i)",
    "min(note)": "min(note)",
    "avg(v)": "avg(v)",
    "avg(i)": "avg(i)",
    "stddev(v)": "stddev(v)",
    "var_pop(i)": "var_pop(i)",
    "first(v, time)": "first(v, time)",
    "last(note, time)": "last(note, time)",
    "m4(time, v)": "m4(time, v)",
}
WIDTHS = {
    "time_bucket('1m', time)": ["time_bucket('5m', time)", "time_bucket('1h', time)"],
    "time_bucket('15m', time)": ["time_bucket('30m', time)", "date_trunc('hour', time)"],
    "time_bucket('1h', time)": ["time_bucket('1h', time)", "time_bucket('1d', time)", "date_trunc('month', time)"],
    "date_trunc('day', time)": ["time_bucket('1 day', time)", "time_bucket('1 month', time)"],
    "time_bucket('1d', time, 'Europe/Paris')": ["time_bucket('1d', time, 'Europe/Paris')"],
    "time_bucket('1 month', time)": ["time_bucket('1 quarter', time)"],
}
FILTERS = ["i > 0", "note = 'p'"]


def at(micros: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(0, datetime.timezone.utc) + datetime.timedelta(microseconds=micros)


def rows(choose: random.Random, count: int, first: int = 0, span: int = SPAN) -> list[dict]:
    return [
        {
            "time": at(START + (first + choose.randrange(span)) // 7_000_000 * 7_000_000),
            "host": choose.choice(["a", "b", "c", None]),
            "site": choose.choice(["x", "y"]),
            "v": choose.choice([None, round(choose.uniform(-9, 9), 2)]),
            "i": choose.choice([None, choose.randrange(-100, 100), 2**62]),
            "note": choose.choice(["p", "q", None]),
        }
        for _ in range(count)
    ]


def close(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-12 * max(abs(a), abs(b), 10.0)
    return a == b


def assert_same(got: list[dict], wanted: list[dict], what: str):
    def by(row):
        return tuple((value is None, str(value)) for value in row.values() if not isinstance(value, float))

    got, wanted = sorted(got, key=by), sorted(wanted, key=by)
    assert len(got) == len(wanted), what
    for one, other in zip(got, wanted, strict=True):
        assert one.keys() == other.keys(), what
        for name in one:
            assert close(one[name], other[name]), f"{what}: {name}: {one} != {other}"


class World:
    def __init__(self, folder, seed):
        self.choose = random.Random(seed)
        self.lake = timelake.Lake(folder, settings={"auto-maintain": "false"})
        self.plain = timelake.Lake(folder, settings={"rollup-routing": "false"})
        self.table = self.lake.create_table(
            "raw",
            "time:timestamptz, host:string, site:string, v:double, i:long, note:string",
            time_column="time",
            series_key=["host", "site"],
        )
        self.rollups: dict[str, tuple] = {}

    def append(self, count: int = 0):
        if count:
            self.table.append(rows(self.choose, count))
        else:  # a few, late or not
            first = self.choose.randrange(SPAN)
            self.table.append(rows(self.choose, self.choose.randrange(1, 60), first, self.choose.choice([HOUR, 9 * HOUR])))

    def create(self):
        choose = self.choose
        width = choose.choice(list(WIDTHS))
        keys = choose.sample(["host", "site", "note"], choose.randrange(4))
        aggregates = choose.sample(list(AGGREGATES), choose.randrange(1, 8))
        where = choose.choice([None, None, None, *FILTERS])
        name = f"r{len(self.rollups)}"
        items = [*keys, f"{width} AS bucket", *(f"{sql} AS a{n}" for n, sql in enumerate(aggregates))]
        select = f"SELECT {', '.join(items)} FROM raw{f' WHERE {where}' if where else ''} GROUP BY ALL"
        self.lake.create_rollup(name, select)
        self.rollups[name] = (width, keys, aggregates, where, select)

    def check_rollups(self, plain):
        for name, (_, _, _, _, select) in self.rollups.items():
            wanted = plain.sql(select).to_pylist()
            got = self.lake.sql(f"FROM {name}").to_pylist()
            names = list(wanted[0]) if wanted else []
            assert_same([{n: row[n] for n in names} for row in got], wanted, f"{name}: {select}")

    def query(self, session, plain) -> bool:
        choose = self.choose
        width, keys, aggregates, where, _ = choose.choice(list(self.rollups.values()))
        bucket = choose.choice([None, choose.choice(WIDTHS[width])])
        groups = choose.sample(keys, choose.randrange(len(keys) + 1))
        chosen = choose.sample(aggregates, choose.randrange(1, len(aggregates) + 1))
        conditions = [where] if where else []
        if keys and choose.random() < 0.3:
            conditions.append(f"{choose.choice(keys)} IN ('a', 'x', 'p')")
        if choose.random() < 0.6:
            first = START + choose.randrange(SPAN)
            last = first + choose.choice([HOUR, 13 * HOUR + 7, SPAN])
            if choose.random() < 0.5:
                first, last = first // HOUR * HOUR, last // HOUR * HOUR
            conditions.append(f"time >= make_timestamptz({first})")
            conditions.append(choose.choice([f"time < make_timestamptz({last})", f"make_timestamptz({last}) >= time"]))
        items = [*groups, *([f"{bucket} AS bucket"] if bucket else []), *chosen]
        text = f"SELECT {', '.join(items)} FROM raw"
        if conditions:
            text += f" WHERE {' AND '.join(conditions)}"
        if groups or bucket:
            text += " GROUP BY ALL"
        assert_same(session.sql(text).to_pylist(), plain.sql(text).to_pylist(), text)
        plan = "".join(str(row) for row in session.sql("EXPLAIN " + text).to_pylist())
        return any(f"{name}\n" in plan or f".{name}" in plan for name in self.rollups)


@pytest.mark.parametrize("seed", range(3))
def test_queries_from_rollups_are_those_of_the_table(tmp_path, seed):
    world = World(tmp_path, seed)
    world.append(6000)
    routed = 0
    with world.lake.session() as session, world.lake.session() as plain:
        plain.sql("SET timelake_rollup_routing = 'off'").close()
        for number in range(QUERIES):
            step = world.choose.random()
            if step < 0.1:
                world.append()
            elif step < 0.13:
                world.table.delete(f"i % 7 = {world.choose.randrange(7)} AND host = 'a'")
            elif step < 0.15:
                world.table.maintain(rollups=False, full=True)
            elif step < 0.2 and world.rollups:
                name = world.choose.choice(list(world.rollups))
                world.lake.refresh_rollup(name, full=world.choose.random() < 0.2)
            if not world.rollups or (number % 25 == 0 and len(world.rollups) < 8):
                world.create()
            routed += world.query(session, plain)
        assert routed > QUERIES / 10
        world.table.maintain()
        world.check_rollups(plain)


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
