"""Requests to an object store: how many, how many after one another, and what happens when they fail.

The numbers here are those of docs/object-stores.md.
"""

import collections
import datetime as dt
import os
import random

import pyarrow as pa
import pytest
from fault_proxy import FaultProxy, counts, depth

SCHEMA = "time:timestamptz, device:string, a:double, b:double, c:double, d:long"
LATENCY = 0.04


@pytest.fixture
def proxy(s3_server):
    with FaultProxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def warehouse(s3_server):
    return f"s3://{s3_server.bucket()}/wh"


@pytest.fixture
def open_lake(timelake, proxy, s3_server, warehouse):
    """Lakes of the warehouse, through the proxy."""

    def open_lake(settings=None, **options):
        return timelake.Lake(warehouse, proxy.options(s3_server.options) | options, settings)

    return open_lake


def rows(first, count, devices=4, seed=0):
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    values = random.Random(seed)
    return pa.table(
        {
            "time": pa.array(
                [start + dt.timedelta(seconds=10 * (first + i // devices)) for i in range(count)],
                pa.timestamp("us", tz="UTC"),
            ),
            "device": [f"d{i % devices}" for i in range(count)],
            # Sums are exact, in whatever order.
            **{name: [values.getrandbits(20) / 64 for _ in range(count)] for name in "abc"},
            "d": list(range(first, first + count)),
        }
    )


def one_device(device, day=1):
    return (
        f"SELECT date_trunc('hour', time) AS hour, avg(a), max(b), min(c), sum(d) FROM t "
        f"WHERE device = '{device}' AND time >= TIMESTAMPTZ '2026-01-0{day} 00:00:00Z' "
        f"AND time < TIMESTAMPTZ '2026-01-0{day} 06:00:00Z' GROUP BY 1 ORDER BY 1"
    )


ALL_COLUMNS = "SELECT count(*), max(time), sum(a), sum(b), sum(c), sum(d), count(device) FROM t"


@pytest.fixture
def table(open_lake):
    """Three days in three appends; each file is far larger than a round trip's worth of bytes."""
    table = open_lake().create_table("t", SCHEMA, time_column="time", series_key=["device"])
    for day in range(3):
        table.append(rows(day * 8640, 8640 * 16, devices=16, seed=day))
    return table


class Asked:
    """The requests of a step, and what it returned."""

    def __init__(self, proxy, work):
        proxy.take()
        proxy.latency = LATENCY
        self.result = work()
        proxy.latency = 0.0
        requests = proxy.take()
        self.counts, self.depth = counts(requests), depth(requests)
        self.names = [
            f"{1000 * (request.start - requests[0].start):.0f}-{1000 * (request.end - requests[0].start):.0f} ms "
            f"{request.kind} {request.name} {request.headers.get('range', '')}"
            for request in requests
        ]

    def __repr__(self):
        return f"{self.counts}, {self.depth} after one another: {self.names}"


def test_open_and_latest(open_lake, table, proxy):
    asked = Asked(proxy, lambda: open_lake().table("t"))
    assert asked.counts == {"LIST": 1, "GET": 1} and asked.depth == 2, asked
    asked = Asked(proxy, lambda: open_lake().latest("t"))
    assert asked.depth == 3 and asked.result.num_rows == 16, asked
    assert asked.counts == {"LIST": 1, "GET": 2}, asked

    lake = open_lake({"version-check-interval": "0s"})
    lake.table("t")
    asked = Asked(proxy, lambda: lake.table("t"))
    assert asked.counts == {"GET": 1}, asked  # of the version that is not there yet
    lake = open_lake({"version-check-interval": "1h"})
    lake.latest("t")
    asked = Asked(proxy, lambda: (lake.table("t"), lake.latest("t"), lake.table("t").info()["rows"]))
    assert asked.counts == {"GET": 2}, asked  # info reads the manifest list and the hint


def test_query_of_one_series(open_lake, table, proxy):
    asked = Asked(proxy, lambda: open_lake().sql(one_device("d1")).to_pylist())
    assert len(asked.result) == 6
    assert asked.depth <= 6 and sum(asked.counts.values()) <= 14, asked
    lake = open_lake({"version-check-interval": "1h"})
    first = lake.sql(one_device("d1")).to_pylist()
    asked = Asked(proxy, lambda: lake.sql(one_device("d1")).to_pylist())
    assert asked.counts == {} and asked.result == first, asked
    asked = Asked(proxy, lambda: lake.sql(one_device("d2")).to_pylist())
    assert asked.depth <= 1 and sum(asked.counts.values()) <= 6, asked  # only pages of that series
    asked = Asked(proxy, lambda: lake.sql(one_device("d1", day=2)).to_pylist())
    assert asked.depth <= 3, asked  # another file: its manifest, its end, its pages


def test_full_scan(open_lake, table, proxy):
    lake = open_lake({"version-check-interval": "1h"})
    asked = Asked(proxy, lambda: lake.sql(ALL_COLUMNS).to_pylist())
    assert asked.depth <= 8 and sum(asked.counts.values()) <= 24, asked
    again = Asked(proxy, lambda: lake.sql(ALL_COLUMNS).to_pylist())
    assert again.counts == {} and again.result == asked.result, again
    stats = lake.cache_stats()
    assert stats["memory_hits"] > 0 and 0 < stats["bytes_fetched"] <= stats["memory_limit"] == 256 << 20
    # Where nothing is kept the answer is the same.
    off = open_lake({"version-check-interval": "1h"}, timelake_cache="off")
    assert off.sql(ALL_COLUMNS).to_pylist() == asked.result
    again = Asked(proxy, lambda: off.sql(ALL_COLUMNS).to_pylist())
    assert again.depth <= 6 and off.cache_stats() is None, again


def test_append(open_lake, table, proxy):
    lake = open_lake()
    table = lake.table("t")
    for i in range(2):  # the first meets the hint and an index that it did not write
        table.append(rows(40_000 + i, 4))
    asked = Asked(proxy, lambda: table.append(rows(40_010, 4)))
    # Files, version, hint: one after another, of the files one more on a busy machine.
    assert asked.counts == {"PUT": 6} and asked.depth <= 4, asked


def test_many_manifests_and_files_at_once(open_lake, proxy):
    """Manifests, and ends of files, are read side by side."""
    table = open_lake().create_table(
        "t", SCHEMA, time_column="time", series_key=["device"], properties={"auto-maintain": "false"}
    )
    for day in range(8):
        table.append(rows(day * 8640, 400))
    asked = Asked(proxy, lambda: open_lake().sql(ALL_COLUMNS).to_pylist())
    assert asked.result[0]["count_star()"] == 3200
    # LIST, version, manifest list, manifests, files: small ones come whole. Five after one another,
    # or some more where threads are slow to start; else it would be nineteen.
    assert asked.depth <= 9 and asked.counts == {"LIST": 1, "GET": 1 + 1 + 8 + 8}, asked


def test_maintain(open_lake, table, proxy):
    """What the kept versions refer to is read side by side."""
    asked = Asked(proxy, lambda: open_lake().table("t").maintain())
    few = asked.depth
    assert sum(asked.counts.values()) <= 60, asked
    for i in range(20):
        table.set_properties({"a.b": str(i)})
    asked = Asked(proxy, lambda: open_lake().table("t").maintain())
    assert asked.depth <= few + 12, asked


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


def test_cache_options_are_checked(timelake, warehouse, s3_server, tmp_path):
    for options, says in (
        ({"timelake_cache": "tape"}, "off, memory or disk"),
        ({"timelake_cache_memory_bytes": "lots"}, "number of bytes"),
        ({"timelake_cache_dirs": "x"}, "timelake_cache_dirs"),
    ):
        with pytest.raises(timelake.InvalidArgumentError, match=says):
            timelake.Lake(warehouse, s3_server.options | options)
    (tmp_path / "file").write_text("x")
    with pytest.raises(timelake.InvalidArgumentError, match="cache folder"):
        timelake.Lake(warehouse, s3_server.options | {"timelake_cache_dir": str(tmp_path / "file")})
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


# --- faults ---

WRITE_FAULTS = ["503", "429", "drop-before", "drop-after", "reset-before", "reset-after", "500-after", "409"]
READ_FAULTS = ["503", "429", "drop-before", "reset-after", "truncate"]


def broken(seed, share):
    chance = random.Random(seed)

    def plan(request):
        if chance.random() >= share:
            return None
        conditional = "if-none-match" in request.headers or "if-match" in request.headers
        if request.method in ("PUT", "POST", "DELETE"):
            return chance.choice(WRITE_FAULTS if conditional else WRITE_FAULTS[:-1])
        return chance.choice(READ_FAULTS)

    return plan


@pytest.mark.parametrize("seed", range(3))
def test_appends_between_faults(timelake, open_lake, proxy, seed):
    lake = open_lake()
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"], dedup=False)
    proxy.plan = broken(seed, 0.2)
    acknowledged, unknown = set(), set()
    for i in range(25):
        batch = rows(10 * i, 3, devices=1)
        try:
            table.append(batch)
            acknowledged.update(batch["d"].to_pylist())
        except timelake.CommitUnknownError:
            unknown.update(batch["d"].to_pylist())
    proxy.plan = None
    assert len(acknowledged) > 60
    found = collections.Counter(row["d"] for row in open_lake().sql("SELECT d FROM t").to_pylist())
    assert max(found.values()) == 1
    assert acknowledged <= set(found) <= acknowledged | unknown
    assert open_lake().table("t").verify()["findings"] == []


@pytest.mark.parametrize("seed", range(3))
def test_queries_between_faults(open_lake, table, proxy, seed):
    right = open_lake().sql(ALL_COLUMNS).to_pylist(), open_lake().sql(one_device("d3")).to_pylist()
    proxy.plan = broken(seed, 0.25)
    lake = open_lake(timelake_cache="off")
    for _ in range(3):
        got = lake.sql(ALL_COLUMNS).to_pylist(), lake.sql(one_device("d3")).to_pylist()
        assert got == right
    proxy.plan = None


@pytest.mark.parametrize("what", [".parquet", ".avro", ".json"])
def test_a_truncated_body_is_never_read(timelake, open_lake, table, proxy, what):
    """Neither of a data file nor of a manifest nor of a version: what stays so is an error."""
    proxy.plan = lambda request: (
        "truncate" if request.kind == "GET" and request.path.split("?")[0].endswith(what) else None
    )
    lake = open_lake(max_retries="2", retry_timeout="2s")
    with pytest.raises(timelake.StorageError):
        lake.sql(ALL_COLUMNS).to_pylist()
    proxy.plan = None
    assert lake.sql(ALL_COLUMNS).to_pylist() == open_lake().sql(ALL_COLUMNS).to_pylist()


def test_an_append_whose_files_are_refused_commits_nothing(timelake, open_lake, table, proxy):
    """Files go up while the next are written; none may be missing when a version names them."""
    before = open_lake().sql(ALL_COLUMNS).to_pylist()
    for what in (".parquet", "-m.avro", "snap-", "lvi-"):
        proxy.plan = lambda request, what=what: (
            "503" if request.method == "PUT" and what in request.path else None
        )
        lake = open_lake(max_retries="1", retry_timeout="1s")
        with pytest.raises(timelake.StorageError):
            lake.table("t").append(rows(60_000, 4))
        proxy.plan = None
        assert open_lake().sql(ALL_COLUMNS).to_pylist() == before
    assert lake.table("t").append(rows(60_000, 4))["rows"] == 4
