"""A table whose folder was moved, made one of its new place: read and written by every engine there."""

import json
import shutil

import pyarrow as pa
import pytest

from conftest import Lake, peer, pyiceberg_table
from test_maintenance import SCHEMA, by_duckdb, by_peer, by_pyiceberg, by_us, make, rows_of, winners


def relocate(lake):
    (report,) = json.loads(lake.run("relocate", "--json").stdout)
    return report


def moved(lake, tmp_path):
    """The warehouse under another root; the old one is gone."""
    shutil.move(lake.root, tmp_path / "elsewhere")
    return Lake(tmp_path / "elsewhere")


@pytest.mark.parametrize("maintained", [False, True])
def test_every_engine_reads_it_in_its_new_place(lake, duck, tmp_path, maintained):
    appends = [rows_of(i) for i in range(3)]
    make(lake, appends, auto_maintain="false")
    if maintained:
        lake.run("maintain", "t")
    lake = moved(lake, tmp_path)
    refused = lake.run("append", "t", "-", "--input-format", "csv", check=False, stdin="time,device,v\n")
    assert refused.returncode != 0 and "timelake relocate default.t" in refused.stderr
    report = relocate(lake)
    assert report["relocated"] and report["to"].endswith("/elsewhere/default/t")
    assert not relocate(lake)["relocated"]
    appends.append(rows_of(7))
    lake.append("t", pa.Table.from_pylist(appends[-1], SCHEMA))
    lake.run("maintain", "t")
    expected = winners(appends)
    assert by_us(lake) == by_pyiceberg(lake) == by_duckdb(lake, duck) == by_peer(lake) == expected
    (verified,) = json.loads(lake.run("verify", "t", "--deep", "--json").stdout)
    assert verified["findings"] == []


def test_the_peer_writes_there(lake, duck, tmp_path):
    appends = [rows_of(i) for i in range(2)]
    make(lake, appends, auto_maintain="false")
    lake = moved(lake, tmp_path)
    relocate(lake)
    appends.append(rows_of(9))
    peer("""
        import json, sys, datetime, pyarrow as pa, timelake
        table = timelake.Lake(sys.argv[1]).table("t")
        schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())])
        rows = json.loads(sys.argv[2])
        for row in rows:
            row["time"] = datetime.datetime.fromtimestamp(row["time"], datetime.timezone.utc)
        table.append(pa.Table.from_pylist(rows, schema), maintain=False)
    """, lake.root, json.dumps([{**row, "time": row["time"].timestamp()} for row in appends[-1]]))
    assert by_us(lake) == winners(appends)
    assert pyiceberg_table(lake.folder("t")).location().endswith("/elsewhere/default/t")
