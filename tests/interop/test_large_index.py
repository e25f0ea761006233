"""A last-value index in parts: what other engines make of it."""

import datetime
import json

import pyarrow as pa

from conftest import peer, pyiceberg_table

SERIES = 17_000
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])


def rows(devices, minute, v):
    time = START + datetime.timedelta(minutes=minute)
    return pa.table([[time] * len(devices), devices, [v] * len(devices)], schema=SCHEMA)


def named(lake):
    summary = pyiceberg_table(lake.folder("t")).current_snapshot().summary
    return {key.removeprefix("timelake."): value for key, value in summary.additional_properties.items() if "index" in key}


def latest(lake):
    return {row["device"]: (row["time"], row["v"])
            for row in json.loads(lake.run("latest", "t", "--format", "json").stdout)}


def theirs(lake):
    return json.loads(peer("""
        import json, sys, timelake
        rows = timelake.Lake(sys.argv[1]).latest("t").to_pylist()
        print(json.dumps({r["device"]: r["v"] for r in rows}))
    """, lake.root))


def test_an_index_in_parts(lake, duck):
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device")
    everyone = [f"device-{i:05}" for i in range(SERIES)]
    lake.append("t", rows(everyone, 0, 0.0))
    assert set(named(lake)) == {"last-value-index", "index-rows"}
    lake.append("t", rows(["device-00003", "new"], 5, 1.0))
    lake.append("t", rows(["device-00004"], -5, 2.0))
    lake.append("t", rows(["device-00005"], 0, 3.0))
    assert set(named(lake)) == {"index-base", "index-part", "index-rows"}
    expected = {device: 0.0 for device in everyone} | {"device-00003": 1.0, "new": 1.0, "device-00005": 3.0}
    assert {device: v for device, (_, v) in latest(lake).items()} == expected

    # The SQL that the command gives to users of DuckDB reads both parts.
    sql = lake.run("duckdb", "t").stdout.split("at this version:\n")[1]
    assert dict(duck.sql("SELECT device, v FROM (" + sql.strip().rstrip(";") + ")").fetchall()) == expected

    # The peer is not misled: it finds no index, scans, and adds none.
    assert theirs(lake) == expected
    peer("""
        import sys, datetime, pyarrow as pa, timelake
        time = datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.timezone.utc)
        timelake.Lake(sys.argv[1]).table("t").append(pa.table({"time": [time], "device": ["device-00007"], "v": [4.0]}))
    """, lake.root)
    expected["device-00007"] = 4.0
    assert named(lake) == {}
    assert {device: v for device, (_, v) in latest(lake).items()} == expected
    assert theirs(lake) == expected

    # Ours goes on from there with a complete one, since the table is shared now.
    lake.append("t", rows(["device-00008"], 120, 5.0))
    expected["device-00008"] = 5.0
    assert set(named(lake)) == {"last-value-index", "index-rows"}
    assert {device: v for device, (_, v) in latest(lake).items()} == expected
    assert theirs(lake) == expected
