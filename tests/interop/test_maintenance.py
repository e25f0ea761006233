"""Tables after our maintenance, read by every engine; compactions of ours and of the peer in turn."""

import datetime
import json

import pyarrow as pa

from conftest import peer, pyiceberg_table

SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
START = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)


def rows_of(i):
    """Rows of append i: two days, late ones, times that come again, a NULL key."""
    rows = []
    for r in range(6):
        at = START + datetime.timedelta(days=(i + r) % 2, seconds=(i * 7 + r * 3) % 11)
        rows.append({"time": at, "device": [None, "a", "b"][r % 3], "v": 100.0 * i + r})
    return rows


def winners(appends):
    """The last write of each series and time, as engines show it."""
    last = {}
    for rows in appends:
        for row in rows:
            last[row["device"], row["time"]] = row["v"]
    return sorted(((device or "", time, v) for (device, time), v in last.items()))


def shown(rows):
    return sorted((row["device"] or "", row["time"], row["v"]) for row in rows)


def make(lake, appends, **properties):
    extra = [part for name, value in properties.items() for part in ("--prop", f"{name.replace('_', '-')}={value}")]
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
             "--series-key", "device", *extra)
    for rows in appends:
        lake.append("t", pa.Table.from_pylist(rows, SCHEMA))


def maintain(lake, *arguments):
    (report,) = json.loads(lake.run("maintain", "t", "--json", *arguments).stdout)
    return report


def by_pyiceberg(lake):
    return shown(pyiceberg_table(lake.folder("t")).scan().to_arrow().to_pylist())


def by_duckdb(lake, duck):
    return shown(duck.execute(f"SELECT device, time, v FROM iceberg_scan('{lake.folder('t')}')").to_arrow_table()
                 .to_pylist())


def by_peer(lake):
    out = json.loads(peer("""
        import json, sys, timelake
        rows = timelake.Lake(sys.argv[1]).sql("SELECT device, time, v FROM t").to_pylist()
        print(json.dumps([[r["device"], r["time"].timestamp(), r["v"]] for r in rows]))
    """, lake.root))
    at = lambda seconds: datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)  # noqa: E731
    return sorted((device or "", at(seconds), v) for device, seconds, v in out)


def by_us(lake):
    return shown(lake.arrow("SELECT device, time, v FROM t").to_pylist())


def expect(lake, duck, expected):
    assert by_us(lake) == expected
    assert by_pyiceberg(lake) == expected
    assert by_duckdb(lake, duck) == expected
    assert by_peer(lake) == expected
    newest = {}
    for device, time, v in expected:
        newest[device] = max(newest.get(device, (time, v)), (time, v))
    latest = json.loads(lake.run("latest", "t", "--format", "json").stdout)
    assert {row["device"] or "": row["v"] for row in latest} == {d: v for d, (_, v) in newest.items()}


def test_every_engine_reads_a_compacted_table(lake, duck):
    appends = [rows_of(i) for i in range(9)]
    make(lake, appends, auto_maintain="false")
    report = maintain(lake)
    assert report["files_rewritten"] == 18 and report["files_written"] == 2
    expect(lake, duck, winners(appends))
    more = [rows_of(i) for i in range(20, 23)]
    for rows in more:
        lake.append("t", pa.Table.from_pylist(rows, SCHEMA))
    maintain(lake, "--full")
    expect(lake, duck, winners(appends + more))


def test_every_engine_reads_it_after_deletes(lake, duck):
    appends = [rows_of(i) for i in range(9)]
    make(lake, appends, auto_maintain="false")
    left = winners(appends)

    def delete(where, gone):
        (done,) = [json.loads(lake.run("delete", "t", "--where", where, "--json").stdout)]
        nonlocal left
        kept = [row for row in left if not gone(*row)]
        assert done["rows"] == len(left) - len(kept) > 0
        left = kept
        assert by_us(lake) == by_peer(lake) == left

    delete("v >= 300 AND v < 500", lambda device, time, v: 300 <= v < 500)
    delete("device IS NULL AND v < 200", lambda device, time, v: device == "" and v < 200)
    second = START + datetime.timedelta(days=1)
    # Other engines show every row, also those that a later write replaced.
    maintain(lake)
    expect(lake, duck, left)
    delete("device = 'a' AND v > 600", lambda device, time, v: device == "a" and v > 600)
    expect(lake, duck, left)
    delete(f"time >= '{second.isoformat()}'", lambda device, time, v: time >= second)
    expect(lake, duck, left)
    more = [rows_of(i) for i in range(20, 23)]
    for rows in more:
        lake.append("t", pa.Table.from_pylist(rows, SCHEMA))
    maintain(lake)
    expect(lake, duck, winners([[{"device": d or None, "time": t, "v": v} for d, t, v in left]] + more))


def test_every_engine_reads_it_when_the_past_is_gone(lake, duck):
    appends = [rows_of(i) for i in range(6)]
    make(lake, appends, snapshot_retention="0s", min_snapshots="1", metadata_min_age="300ms", delete_min_age="300ms")
    assert maintain(lake)["snapshots_expired"] == 6

    def files():
        return list((lake.folder("t") / "data").rglob("*.parquet"))

    for _ in range(100):  # a run frees what is old enough then
        maintain(lake)
        if len(files()) == 2:
            break
    assert len(files()) == 2
    expect(lake, duck, winners(appends))


def test_compactions_of_ours_and_of_the_peer_in_turn(lake, duck):
    make(lake, [], shared="true")
    appends = []
    for turn in range(6):
        appends.append(rows_of(turn))
        lake.append("t", pa.Table.from_pylist(appends[-1], SCHEMA))
        appends.append(rows_of(turn + 50))
        peer("""
            import json, sys, datetime, pyarrow as pa, timelake
            table = timelake.Lake(sys.argv[1]).table("t")
            schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
            rows = json.loads(sys.argv[2])
            for row in rows:
                row["time"] = datetime.datetime.fromtimestamp(row["time"], datetime.timezone.utc)
            table.append(pa.Table.from_pylist(rows, schema), maintain=False)
            if sys.argv[3] == "1":
                table.maintain(expire=False)
        """, lake.root, json.dumps([{**row, "time": row["time"].timestamp()} for row in appends[-1]]),
             int(turn % 2 == 1))
        if turn % 2 == 0:
            maintain(lake)
        assert by_us(lake) == winners(appends)
    maintain(lake)
    expect(lake, duck, winners(appends))
