"""What is kept of a remote store, for how long, and where."""

import json
import os

import pytest
from remote_table import Asked, one_device, rows
from remote_table import open_lake, proxy, table, warehouse  # noqa: F401


@pytest.fixture
def server(s3_server):
    return s3_server


def test_a_folder_on_disk(open_lake, table, proxy, tmp_path):
    cache = {"timelake_cache_dir": str(tmp_path / "cache"), "timelake_cache_disk_bytes": str(64 << 20)}
    with open_lake(**cache) as lake:
        first = lake.sql(one_device("d1")).to_pylist()
        stats = lake.cache_stats()
        assert stats["disk_limit"] == 64 << 20 and stats["disk_hits"] == 0
    with open_lake(**cache) as lake:
        asked = Asked(proxy, lambda: lake.sql(one_device("d1")).to_pylist())
        assert asked.result == first
        assert asked.counts == {"LIST": 1, "GET": 1}, asked  # which version it is is always asked
        stats = lake.cache_stats()
        assert stats["disk_hits"] > 0 and stats["misses"] == 0 and stats["disk_bytes"] > 0
    # What somebody has done to the files is no answer.
    blocks = list((tmp_path / "cache").rglob("*.block"))
    for block in blocks:
        with open(block, "r+b") as file:
            file.seek(-20, os.SEEK_END)
            file.write(b"????????????????????")
    with open_lake(**cache) as lake:
        assert lake.sql(one_device("d1")).to_pylist() == first
        assert lake.cache_stats()["damaged"] > 0


def cache_line(lake, query):
    """What EXPLAIN ANALYZE says of the cache, by name; None: nothing."""
    plan = json.loads(lake.sql("EXPLAIN (ANALYZE, FORMAT JSON) " + query).to_pylist()[0]["explain_value"])
    while plan["children"]:
        (plan,) = plan["children"]
    lines = plan["extra_info"].get("Cache")
    if isinstance(lines, str):
        lines = lines.split("\n")
    return lines and {name: int(count) for count, name in (line.split(" ", 1) for line in lines)}


def test_explain_analyze(open_lake, table, tmp_path, lake):
    """What the cache did for a scan."""
    reader = open_lake({"version-check-interval": "1h"}, timelake_cache_dir=str(tmp_path / "cache"))
    first = cache_line(reader, one_device("d1"))
    assert first["on disk"] == 0 < first["requests"] <= first["missed"] < first["bytes fetched"], first
    stats = reader.cache_stats()
    assert stats["requests"] == first["requests"] and stats["bytes_fetched"] == first["bytes fetched"]
    again = cache_line(reader, one_device("d1"))
    assert again["blocks hit"] > 0 and again["bytes hit"] > 0, again
    assert not any(again[name] for name in ("on disk", "missed", "requests", "bytes fetched")), again
    reader.close()
    kept = cache_line(open_lake(timelake_cache_dir=str(tmp_path / "cache")), one_device("d1"))
    assert kept["on disk"] > 0 == kept["missed"] == kept["requests"], kept
    assert cache_line(open_lake(timelake_cache="off"), one_device("d1")) is None
    lake.create_table("t", "time:timestamptz, v:double", time_column="time")
    assert cache_line(lake, "SELECT * FROM t") is None  # on local disk there is none


def test_cache_options_are_checked(timelake, warehouse, server, tmp_path):
    for options, says in (
        ({"timelake_cache": "tape"}, "off, memory or disk"),
        ({"timelake_cache_memory_bytes": "lots"}, "number of bytes"),
        ({"timelake_cache_dirs": "x"}, "timelake_cache_dirs"),
    ):
        with pytest.raises(timelake.InvalidArgumentError, match=says):
            timelake.Lake(warehouse, server.options | options)
    (tmp_path / "file").write_text("x")
    with pytest.raises(timelake.InvalidArgumentError, match="cache folder"):
        timelake.Lake(warehouse, server.options | {"timelake_cache_dir": str(tmp_path / "file")})
    assert timelake.Lake(tmp_path).cache_stats() is None


def test_readers_see_commits_of_others_after_the_interval(open_lake, table):
    reader = open_lake({"version-check-interval": "1h"})
    always = open_lake({"version-check-interval": "0s"})
    count = "SELECT count(*) AS n FROM t"
    before = reader.sql(count).to_pylist()[0]["n"]
    assert always.sql(count).to_pylist()[0]["n"] == before
    table.append(rows(50_000, 4))
    assert reader.sql(count).to_pylist()[0]["n"] == before
    assert always.sql(count).to_pylist()[0]["n"] == before + 4
    # A write looks, and what one's own lake has committed is seen at once.
    reader.table("t").append(rows(50_100, 4))
    assert reader.sql(count).to_pylist()[0]["n"] == before + 8
    table.append(rows(50_200, 4))
    deleted = reader.sql("DELETE FROM t WHERE time >= TIMESTAMPTZ '2026-01-06 19:26:40Z'").to_pylist()
    assert deleted[0]["Count"] == 4
    reader.table("t").refresh()
