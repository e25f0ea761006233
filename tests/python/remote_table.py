"""What the tests of requests share: a table in a store behind a proxy, and the requests of a step.

A module that imports the fixtures has one of its own, `server`.
"""

import datetime as dt
import random

import pyarrow as pa
import pytest
from fault_proxy import FaultProxy, counts, depth

SCHEMA = "time:timestamptz, device:string, a:double, b:double, c:double, d:long"
LATENCY = 0.04


@pytest.fixture
def proxy(server):
    with FaultProxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def warehouse(server):
    return f"{server.scheme}://{server.bucket()}/wh"


@pytest.fixture
def open_lake(timelake, proxy, server, warehouse):
    """Lakes of the warehouse, through the proxy."""

    def open_lake(settings=None, **options):
        return timelake.Lake(warehouse, proxy.options(server.options) | options, settings)

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
