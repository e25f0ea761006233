"""What a lake does when the requests to its store fail, are lost or are cut off."""

import collections
import random

import pytest
from remote_table import ALL_COLUMNS, SCHEMA, one_device, rows
from remote_table import open_lake, proxy, table, warehouse  # noqa: F401


@pytest.fixture(params=["s3_server", "gcs_server", "azure_server"])
def server(request):
    return request.getfixturevalue(request.param)


WRITE_FAULTS = ["503", "429", "drop-before", "drop-after", "reset-before", "reset-after", "500-after"]
CONDITIONAL_FAULTS = [*WRITE_FAULTS, "409", "412"]
READ_FAULTS = ["503", "429", "drop-before", "reset-after", "truncate"]


def broken(seed, share):
    chance = random.Random(seed)

    def plan(request):
        if chance.random() >= share:
            return None
        if request.method in ("PUT", "POST", "DELETE"):
            return chance.choice(CONDITIONAL_FAULTS if request.conditional else WRITE_FAULTS)
        return chance.choice(READ_FAULTS)

    return plan


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("seed", range(2))
def test_queries_between_faults(open_lake, table, proxy, seed):
    right = open_lake().sql(ALL_COLUMNS).to_pylist(), open_lake().sql(one_device("d3")).to_pylist()
    proxy.plan = broken(seed, 0.25)
    lake = open_lake(timelake_cache="off")
    for _ in range(2):
        got = lake.sql(ALL_COLUMNS).to_pylist(), lake.sql(one_device("d3")).to_pylist()
        assert got == right
    proxy.plan = None


@pytest.mark.parametrize("what", [".parquet", ".avro", ".json"])
def test_a_truncated_body_is_never_read(timelake, open_lake, table, proxy, what):
    """Neither of a data file nor of a manifest nor of a version: what stays so is an error."""
    proxy.plan = lambda request: (
        "truncate" if request.kind == "GET" and request.key.endswith(what) else None
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
            "503" if request.kind == "PUT" and what in request.key else None
        )
        lake = open_lake(max_retries="1", retry_timeout="1s")
        with pytest.raises(timelake.StorageError):
            lake.table("t").append(rows(60_000, 4))
        proxy.plan = None
        assert open_lake().sql(ALL_COLUMNS).to_pylist() == before
    assert lake.table("t").append(rows(60_000, 4))["rows"] == 4
