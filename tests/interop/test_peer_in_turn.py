"""The peer and ours append to one table in turn, past the point where the peer prunes versions."""

import json
import subprocess

import pyarrow as pa
import pytest

from conftest import PEER, peer, pyiceberg_table

PEER_LOOP = """
import sys, datetime, pyarrow as pa, timelake
lake = timelake.Lake(sys.argv[1])
schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
for line in sys.stdin:
    i = int(line)
    base = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
    rows = pa.Table.from_pylist([{"time": base + datetime.timedelta(seconds=i), "device": "peer", "v": float(i)}], schema)
    report = lake.table("t").append(rows)
    print(report["rows"], flush=True)
"""


def one(i, device):
    import datetime
    base = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
    schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
    return pa.Table.from_pylist([{"time": base + datetime.timedelta(seconds=i), "device": device, "v": float(i)}],
                                schema)


@pytest.mark.parametrize("creator", ["ours", "peer"])
def test_150_appends_in_turn(lake, creator):
    if creator == "ours":
        lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
                 "--series-key", "device", "--prop", "timelake.shared=true")
    else:
        peer("""
            import sys, pyarrow as pa, timelake
            timelake.Lake(sys.argv[1]).create_table("t", pa.schema([("time", pa.timestamp("us", "UTC")),
                ("device", pa.string()), ("v", pa.float64())]), time_column="time", series_key=["device"])
        """, lake.root)
    worker = subprocess.Popen([PEER, "-c", PEER_LOOP, str(lake.root)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for i in range(150):
            if i % 2 == 0:
                assert lake.append("t", one(i, "ours"))["rows"] == 1
            else:
                worker.stdin.write(f"{i}\n")
                worker.stdin.flush()
                assert worker.stdout.readline().strip() == "1", worker.stderr.read()
    finally:
        worker.stdin.close()
        worker.wait(timeout=60)
    assert lake.sql("SELECT count(*) AS n, count(DISTINCT v) AS d FROM t") == [{"n": 150, "d": 150}]
    latest = {row["device"]: row["v"] for row in json.loads(lake.run("latest", "t", "--format", "json").stdout)}
    assert latest == {"ours": 148.0, "peer": 149.0}
    theirs = json.loads(peer("""
        import json, sys, timelake
        lake = timelake.Lake(sys.argv[1])
        rows = {r["device"]: r["v"] for r in lake.latest("t").to_pylist()}
        print(json.dumps([lake.sql("select count(*) n from t").to_pylist()[0]["n"], rows]))
    """, lake.root))
    assert theirs == [150, latest]
    assert pyiceberg_table(lake.folder("t")).scan().to_arrow().num_rows == 150


def test_tables_of_the_peer_are_read_and_their_insertion_time_filled(lake):
    peer("""
        import sys, datetime, pyarrow as pa, timelake
        lake = timelake.Lake(sys.argv[1])
        t0 = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
        for chunk in ("hour", "day", "month"):
            name = "by_" + chunk
            schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
            table = lake.create_table(name, schema, time_column="time", series_key=["device"], chunk=chunk)
            rows = [{"time": t0 + datetime.timedelta(minutes=i), "device": f"d{i % 3}", "v": i / 2} for i in range(300)]
            table.append(pa.Table.from_pylist(rows, schema))
    """, lake.root)
    for chunk in ("hour", "day", "month"):
        name = "by_" + chunk
        assert lake.sql(f"SELECT count(*) AS n, sum(v) AS s FROM {name}") == [{"n": 300, "s": 22425.0}]
        assert lake.append(name, one(40000, "d9"))["rows"] == 1
        assert lake.sql(f"SELECT count(*) AS n FROM {name} WHERE _ingest_ts IS NULL") == [{"n": 0}]
        found = json.loads(lake.run("latest", name, "--format", "json").stdout)
        assert [(r["device"], r["v"]) for r in found] == [("d0", 148.5), ("d1", 149.0), ("d2", 149.5), ("d9", 40000.0)]
        count = peer("""
            import sys, timelake
            print(timelake.Lake(sys.argv[1]).sql(f"select count(*) n from {sys.argv[2]}").to_pylist()[0]["n"])
        """, lake.root, name)
        assert count.strip() == "301"
