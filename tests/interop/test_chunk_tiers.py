"""Partitions that grow longer as their rows grow old, read by every engine before, in between and after."""

import datetime
import json
import random

import pyarrow as pa
import pytest

from conftest import pyiceberg_table
from test_maintenance import SCHEMA, by_duckdb, by_peer, by_pyiceberg, by_us, maintain, winners

UTC = datetime.timezone.utc
NEWEST = datetime.datetime(2026, 7, 1, 12, tzinfo=UTC)
TIERS = "hour:2d, day:30d, month"


def rows_of(i, rng):
    """Rows of append i over 100 days before NEWEST, many of them again and again."""
    at = [NEWEST - datetime.timedelta(hours=hours) for hours in (0, 1, 30, 47, 49, 72, 73, 800, 1500, 2200)]
    return [{"time": rng.choice(at) + datetime.timedelta(minutes=rng.randrange(3)),
             "device": rng.choice([None, "a", "b"]), "v": 100.0 * i + r} for r in range(30)]


def expect(lake, duck, appends):
    expected = winners(appends)
    assert by_us(lake) == expected
    for there in (by_pyiceberg(lake), by_duckdb(lake, duck)):  # they see replaced rows, too, until a merge
        assert set(expected) <= set(there)
    newest = {}
    for device, time, v in expected:
        newest[device] = max(newest.get(device, (time, v)), (time, v))
    latest = json.loads(lake.run("latest", "t", "--format", "json").stdout)
    assert {row["device"] or "": row["v"] for row in latest} == {d: v for d, (_, v) in newest.items()}
    # Pruning by any spec loses no row.
    for hours in (0, 48, 73, 1500):
        day = (NEWEST - datetime.timedelta(hours=hours)).replace(hour=0)
        text = day.strftime("%Y-%m-%d")
        of_day = [v for _, time, v in expected if day <= time < day + datetime.timedelta(days=1)]
        where = f"time >= '{text}' AND time < TIMESTAMPTZ '{text} 00:00:00+00' + INTERVAL 1 DAY"
        assert sorted(lake.arrow(f"SELECT v FROM t WHERE {where}").column(0).to_pylist()) == sorted(of_day)
        found = pyiceberg_table(lake.folder("t")).scan(
            row_filter=f"time >= '{text}T00:00:00+00:00' and time < '{(day + datetime.timedelta(days=1)).isoformat()}'")
        assert set(of_day) <= set(found.to_arrow().column("v").to_pylist())


def partitions(lake):
    return sorted(file["partition"] for file in json.loads(lake.run("files", "t", "--json").stdout))


@pytest.mark.parametrize("from_start", [True, False])
def test_every_reader_agrees_before_and_after(lake, duck, from_start):
    rng = random.Random(7)
    tiers = ["--prop", f"chunk-tiers={TIERS}"] if from_start else ["--chunk", "hour"]
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--prop", "auto-maintain=false", *tiers)
    appends = []
    for i in range(4):
        appends.append(rows_of(i, rng))
        lake.append("t", pa.Table.from_pylist(appends[-1], SCHEMA))
    if not from_start:
        assert {p.split("=")[0] for p in partitions(lake)} == {"time_hour"}
        lake.run("alter", "t", "--set", f"chunk-tiers={TIERS}")
    expect(lake, duck, appends)
    (report,) = json.loads(lake.run("maintain", "t", "--dry-run", "--json").stdout)
    assert "old enough for longer partitions" in {task["reason"] for task in report["planned"]}
    maintain(lake)
    assert partitions(lake) == [
        "time_day=2026-06-28", "time_hour=2026-06-29-11", "time_hour=2026-06-29-13", "time_hour=2026-06-30-06",
        "time_hour=2026-07-01-11", "time_hour=2026-07-01-12", "time_month=2026-03", "time_month=2026-04",
        "time_month=2026-05"]
    expect(lake, duck, appends)
    expected = winners(appends)
    assert by_pyiceberg(lake) == by_duckdb(lake, duck) == expected
    assert by_peer(lake) == expected
    (report,) = json.loads(lake.run("maintain", "t", "--dry-run", "--json").stdout)
    assert report["planned"] == []
    # Late rows go to hours again, and to the partition of their age with the next run.
    for i in range(4, 7):
        appends.append(rows_of(i, rng))
        lake.append("t", pa.Table.from_pylist(appends[-1], SCHEMA))
    expect(lake, duck, appends)
    maintain(lake)
    assert {p.split("=")[0] for p in partitions(lake)} == {"time_hour", "time_day", "time_month"}
    assert len(partitions(lake)) == len(set(partitions(lake)))
    expect(lake, duck, appends)
    assert by_pyiceberg(lake) == by_duckdb(lake, duck) == by_peer(lake) == winners(appends)
    assert json.loads(lake.run("verify", "t", "--deep", "--json").stdout)


def test_the_peer_appends_to_such_a_table(lake, duck):
    from conftest import peer

    rng = random.Random(8)
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--prop", "auto-maintain=false", "--prop", f"chunk-tiers={TIERS}")
    appends = [rows_of(0, rng)]
    lake.append("t", pa.Table.from_pylist(appends[0], SCHEMA))
    maintain(lake)
    appends.append(rows_of(1, rng))
    peer("""
        import json, sys, datetime, pyarrow as pa, timelake
        table = timelake.Lake(sys.argv[1]).table("t")
        schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
        rows = json.loads(sys.argv[2])
        for row in rows:
            row["time"] = datetime.datetime.fromtimestamp(row["time"], datetime.timezone.utc)
        table.append(pa.Table.from_pylist(rows, schema), maintain=False)
    """, lake.root, json.dumps([{**row, "time": row["time"].timestamp()} for row in appends[-1]]))
    expect(lake, duck, appends)
    maintain(lake)
    assert by_pyiceberg(lake) == by_duckdb(lake, duck) == by_us(lake) == by_peer(lake) == winners(appends)


def test_an_append_without_buckets_grows_old_without_them(lake, duck):
    """Rows over so many partitions that the append leaves the buckets away: those files reach longer partitions, too."""
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", "--partition-by", "bucket(16, device)", "--prop", "auto-maintain=false",
             "--prop", f"chunk-tiers={TIERS}")
    many = [{"time": NEWEST - datetime.timedelta(hours=hours), "device": f"d{d}", "v": hours + d / 100}
            for hours in range(0, 2400, 40) for d in range(20)]
    appends = [many]
    lake.append("t", pa.Table.from_pylist(many, SCHEMA))
    assert len(partitions(lake)) == 60 and not any("bucket" in text for text in partitions(lake))
    # One hour only, late and again: in buckets.
    late = [{"time": NEWEST - datetime.timedelta(hours=1600), "device": f"d{d}", "v": -1.0 - d} for d in range(20)]
    appends.append(late)
    lake.append("t", pa.Table.from_pylist(late, SCHEMA))
    assert len(partitions(lake)) > 60 and any("bucket" in text for text in partitions(lake))
    expect(lake, duck, appends)
    maintain(lake)
    now = partitions(lake)
    assert len(now) == len(set(now))
    # What is two days old and older left its hours, from coarse files and from those in buckets.
    assert {text.split("=")[1].split("/")[0][:10] for text in now if text.startswith("time_hour")} == {
        "2026-07-01", "2026-06-29"}
    assert any(text.startswith("time_month=2026-04") for text in now)
    expect(lake, duck, appends)
    assert by_pyiceberg(lake) == by_duckdb(lake, duck) == by_us(lake) == by_peer(lake) == winners(appends)
    (report,) = json.loads(lake.run("maintain", "t", "--dry-run", "--json").stdout)
    assert report["planned"] == []
    assert json.loads(lake.run("verify", "t", "--deep", "--json").stdout)
