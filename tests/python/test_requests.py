"""Requests to an object store: how many, and how many after one another.

The numbers here are those of docs/object-stores.md.
"""

import pytest
from remote_table import ALL_COLUMNS, SCHEMA, Asked, one_device, rows
from remote_table import open_lake, proxy, table, warehouse  # noqa: F401


@pytest.fixture(params=["s3_server", "gcs_server", "azure_server"])
def server(request):
    return request.getfixturevalue(request.param)


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
