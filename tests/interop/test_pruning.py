"""What EXPLAIN ANALYZE counts on the shapes of TSBS queries: pages of the hosts and hours asked for, and no others."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HOSTS, STEPS = 40, 8640  # one day, every ten seconds: each host fills less than half a page of 20,000 rows
PAGES = -(-HOSTS * STEPS // 20000)  # of one column

# Of several threads each notes the counts when it ends, and DuckDB shows those of any: one thread sees all.
ANALYZE = "SET threads = 1; EXPLAIN ANALYZE "


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    random = np.random.default_rng(1)
    times = np.tile(np.arange(STEPS) * 10_000_000 + 1_767_225_600_000_000, HOSTS)
    columns = {"time": pa.array(times, pa.timestamp("us", "UTC")),
               "hostname": pa.array(np.repeat([f"host_{i}" for i in range(HOSTS)], STEPS))}
    for name in ("usage_user", "usage_system", "usage_idle"):
        columns[name] = pa.array(np.rint(random.uniform(0, 100, HOSTS * STEPS)))
    path = tmp_path_factory.mktemp("cpu") / "cpu.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def counts(lake, cpu):
    lake.run("import", "cpu", cpu, "--time-column", "time", "--series-key", "hostname")

    def explain(query):
        plan = lake.run("sql", ANALYZE + query, "--format", "csv").stdout
        scan = re.sub(r"[\s\u2500-\u257f]+", " ", plan[plan.index("Manifests:"):])
        pages = re.search(r"Pages: (\d+) of (\d+) read", scan)
        rows = re.search(r"Rows: (\d+) of (\d+) read, (\d+) passed", scan)
        return {"pages": int(pages[1]), "of pages": int(pages[2]), "rows": int(rows[1]), "of rows": int(rows[2]),
                "passed": int(rows[3]), "values": int(re.search(r"Values Decoded: (\d+)", scan)[1])}

    return explain


HOUR = "time >= '2026-01-01T05:00:00Z' AND time < '2026-01-01T06:00:00Z'"


def test_one_host_one_hour(counts):
    got = counts(f"SELECT time_bucket('1 minute', time) AS m, max(usage_user) FROM cpu WHERE hostname = 'host_7' AND {HOUR}"
                 " GROUP BY m")
    assert got["of pages"] == 3 * PAGES and got["of rows"] == HOSTS * STEPS
    assert got["passed"] == 360
    # A host lies in two pages at most.
    assert got["pages"] <= 3 * 2 and got["rows"] <= 2 * 20000
    # The host and time columns as far as the pages go, usage_user for the hour only.
    assert got["values"] <= 2 * 2 * 20000 + 20000


def test_eight_hosts_one_hour(counts):
    hosts = ", ".join(f"'host_{i}'" for i in range(0, 40, 5))
    got = counts(f"SELECT time_bucket('1 minute', time) AS m, max(usage_user), max(usage_idle) FROM cpu WHERE hostname IN"
                 f" ({hosts}) AND {HOUR} GROUP BY m")
    assert got["passed"] == 8 * 360
    assert got["rows"] <= 16 * 20000 and got["pages"] <= 16 * 4


def test_a_day_that_is_not_there_reads_nothing(counts):
    got = counts("SELECT sum(usage_user) FROM cpu WHERE hostname = 'host_7' AND time > '2026-02-01T00:00:00Z'")
    assert got == {"pages": 0, "of pages": 0, "rows": 0, "of rows": 0, "passed": 0, "values": 0}


def test_columns_that_no_row_is_wanted_of_are_not_read(counts):
    got = counts("SELECT hostname, usage_system, usage_idle FROM cpu WHERE usage_user > 1000")
    assert got["passed"] == 0
    assert got["pages"] == 0  # the page index alone rules every page out
    got = counts("SELECT usage_system, usage_idle FROM cpu WHERE usage_user = 50.5")
    assert got["passed"] == 0
    assert got["pages"] == PAGES  # usage_user only


def test_pages_that_pass_as_a_whole_need_no_filter(counts):
    got = counts("SELECT usage_user FROM cpu WHERE time >= '2026-01-01T00:00:00Z' AND hostname >= 'host'")
    assert got["passed"] == HOSTS * STEPS
    assert got["pages"] == PAGES and got["values"] == HOSTS * STEPS  # neither time nor hostname is decoded


def test_bloom_filters_prune_row_groups(lake, tmp_path):
    random = np.random.default_rng(7)
    rows = 4000
    trips = [f"{value:016x}" for value in random.integers(0, 2**63, rows)]
    path = tmp_path / "trips.parquet"
    pq.write_table(pa.table({
        "time": pa.array(np.arange(rows) * 1_000_000 + 1_767_225_600_000_000, pa.timestamp("us", "UTC")),
        "car": pa.array([f"car {i % 10}" for i in range(rows)]), "trip": pa.array(trips)}), path)
    lake.run("import", "t", path, "--time-column", "time", "--series-key", "car", "--prop", "bloom-columns=trip",
             "--prop", "row-group-rows=1000")

    def pruned(trip):
        query = f"SELECT car FROM t WHERE trip = '{trip}'"
        plan = lake.run("sql", ANALYZE + query, "--format", "csv").stdout
        text = re.sub(r"[\s\u2500-\u257f]+", " ", plan[plan.index("Manifests:"):])
        found = re.search(r"Row Groups: (\d+) of (\d+) pruned", text)
        return int(found[1]), int(found[2]), lake.sql(query)

    absent = [f"{value:016x}" for value in random.integers(0, 2**63, 20)]
    assert not set(absent) & set(trips)
    # All lie within the bounds of each row group; with 5 % false positives few are read.
    counts = [pruned(trip) for trip in absent]
    assert all(of == 4 and rows == [] for _, of, rows in counts)
    assert sum(count for count, _, _ in counts) > 4 * len(absent) * 0.8
    for trip in trips[:5]:
        count, of, rows = pruned(trip)
        assert count >= 2 and of == 4 and rows == [{"car": f"car {trips.index(trip) % 10}"}]
