"""Columns added, renamed, dropped and widened by us: old rows keep their values, for every reader that goes by ids."""

import json

import pyarrow as pa
import pytest

from conftest import peer, pyiceberg_table

START = 1_767_225_600_000_000


def rows(first, **columns):
    """Two rows of one device."""
    data = {"time": pa.array([START + first * 1_000_000, START + (first + 1) * 1_000_000]).cast(pa.timestamp("us", "UTC")),
            "device": ["a", "b"]}
    return pa.table(data | columns)


@pytest.fixture
def evolved(lake):
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, v:float, n:int, gone:string, d:decimal(9,2)",
             "--time-column", "time", "--series-key", "device")
    lake.append("t", rows(0, v=pa.array([1.5, 2.5], pa.float32()), n=pa.array([1, 2], pa.int32()), gone=["x", "y"],
                          d=pa.array(["1.25", "2.50"]).cast(pa.decimal128(9, 2))))
    done = json.loads(lake.run("alter", "t", "--add-column", "p=double", "--rename-column", "v=voltage", "--drop-column", "gone",
                               "--widen-column", "n=long", "--widen-column", "voltage=double",
                               "--widen-column", "d=decimal(18,2)", "--json").stdout)
    assert done["columns"] == ["time", "device", "voltage", "n", "d", "p"]
    lake.append("t", rows(2, voltage=[3.5, 4.5], n=pa.array([2**40, 4]), p=[9.5, None]))
    return lake


EXPECTED = [(0, "a", 1.5, 1, 1.25, None), (1, "b", 2.5, 2, 2.5, None), (2, "a", 3.5, 2**40, None, 9.5),
            (3, "b", 4.5, 4, None, None)]


def plain(table):
    table = table.sort_by("time")
    return [((t.value - START) // 1_000_000, d, v, n, None if x is None else float(x), p) for t, d, v, n, x, p in zip(
        table["time"].cast(pa.timestamp("us", "UTC")), *(table[name].to_pylist() for name in ("device", "voltage", "n", "d", "p")))]


def test_ourselves(evolved):
    assert plain(evolved.arrow("SELECT * FROM t")) == EXPECTED
    assert evolved.sql("SELECT count(*) AS n FROM t WHERE voltage > 2 AND n < 1000000") == [{"n": 2}]
    latest = json.loads(evolved.run("latest", "t", "--format", "json").stdout)
    assert [(row["device"], row["voltage"], row["p"]) for row in latest] == [("a", 3.5, 9.5), ("b", 4.5, None)]


def test_pyiceberg(evolved):
    table = pyiceberg_table(evolved.folder("t"))
    assert plain(table.scan().to_arrow()) == EXPECTED
    assert table.scan(row_filter="n > 1000000").to_arrow().num_rows == 1


def test_duckdb(evolved, duck):
    assert plain(duck.execute(f"SELECT * FROM iceberg_scan('{evolved.folder('t')}')").to_arrow_table()) == EXPECTED


def test_compaction_writes_the_columns_of_now(evolved, duck):
    before = json.loads(evolved.run("latest", "t", "--format", "json").stdout)
    (report,) = json.loads(evolved.run("maintain", "t", "--json").stdout)
    assert report["files_rewritten"] > 1, report
    folder = evolved.folder("t")
    for table in (evolved.arrow("SELECT * FROM t"), pyiceberg_table(folder).scan().to_arrow(),
                  duck.execute(f"SELECT * FROM iceberg_scan('{folder}')").to_arrow_table()):
        assert plain(table) == EXPECTED
    assert json.loads(evolved.run("latest", "t", "--format", "json").stdout) == before
    evolved.run("alter", "t", "--add-column", "q=int")
    evolved.append("t", rows(4, voltage=[5.5, 6.5], q=pa.array([7, 8], pa.int32())))
    evolved.run("maintain", "t")
    latest = json.loads(evolved.run("latest", "t", "--format", "json").stdout)
    assert [(row["device"], row["voltage"], row["q"]) for row in latest] == [("a", 5.5, 7), ("b", 6.5, 8)]


def test_the_index_goes_on(evolved):
    """A later append extends the last-value index over the change."""
    evolved.append("t", rows(4, voltage=[5.5, 6.5]))
    latest = json.loads(evolved.run("latest", "t", "--format", "json").stdout)
    assert [(row["device"], row["voltage"], row["n"]) for row in latest] == [("a", 5.5, None), ("b", 6.5, None)]


SIMPLE = ("--schema", "time:timestamptz, device:string, v:double", "--time-column", "time", "--series-key", "device")


def three(lake, duck, query, iceberg_filter):
    """One number by us, DuckDB and PyIceberg: the rows of the filter."""
    folder = lake.folder("t")
    ours = lake.sql(f"SELECT count(*) AS n FROM t WHERE {query}")[0]["n"]
    theirs = duck.execute(f"SELECT count(*) FROM iceberg_scan('{folder}') WHERE {query}").fetchone()[0]
    return ours, theirs, pyiceberg_table(folder).scan(row_filter=iceberg_filter).to_arrow().num_rows


def test_filters_agree(evolved, duck):
    for query, expected in (("n = 1", 1), ("n > 1000000", 1), ("n >= 2 AND n < 5", 2), ("voltage > 2.0", 3),
                            ("voltage = 1.5", 1), ("d < 2.00", 1), ("d > 1.00", 2), ("p IS NULL", 3), ("p > 9.0", 1),
                            ("p IS NOT NULL", 1)):
        assert three(evolved, duck, query, query) == (expected,) * 3, query


def test_filters_agree_with_bloom_filters_of_the_old_type(lake, duck):
    lake.run("create", "t", *SIMPLE)
    lake.run("alter", "t", "--add-column", "n=int", "--add-column", "f=float", "--add-column", "dec=decimal(9,2)")
    values = list(range(1, 2001, 2))
    data = {"time": pa.array([START + i for i in values]).cast(pa.timestamp("us", "UTC")), "device": ["a"] * len(values),
            "n": pa.array(values, pa.int32()), "f": pa.array(values, pa.float32()),
            "dec": pa.array([f"{i}.00" for i in values]).cast(pa.decimal128(9, 2))}
    lake.append("t", pa.table(data), set="bloom-columns=n,f,dec")
    lake.run("alter", "t", "--widen-column", "n=long", "--widen-column", "f=double", "--widen-column",
             "dec=decimal(20,2)")
    for query, expected in (("n = 777", 1), ("n = 778", 0), ("f = 777.0", 1), ("dec = 777.00", 1)):
        assert three(lake, duck, query, query) == (expected,) * 3, query


def test_columns_come_back_only_as_new_ones(lake, duck):
    lake.run("create", "t", *SIMPLE)
    lake.append("t", rows(0, v=[1.0, 2.0]))
    lake.run("alter", "t", "--drop-column", "v", "--add-column", "v=double")
    assert [row["v"] for row in lake.sql("SELECT v FROM t")] == [None, None]
    assert three(lake, duck, "v > 0", "v > 0") == (0, 0, 0)
    assert three(lake, duck, "v IS NULL", "v is null") == (2, 2, 2)


def test_columns_that_come_with_rows(lake, duck):
    lake.run("create", "t", *SIMPLE)
    lake.append("t", rows(0, v=[1.0, 2.0]))
    assert lake.append("t", rows(2, v=[3.0, 4.0], q=["x", None]), set="new-columns=add")["added_columns"] == ["q"]
    expected = [("a", 1.0, None), ("b", 2.0, None), ("a", 3.0, "x"), ("b", 4.0, None)]
    folder = lake.folder("t")
    for table in (lake.arrow("SELECT * FROM t"), pyiceberg_table(folder).scan().to_arrow(),
                  duck.execute(f"SELECT * FROM iceberg_scan('{folder}')").to_arrow_table()):
        table = table.sort_by("time")
        assert list(zip(*(table[name].to_pylist() for name in ("device", "v", "q")))) == expected


def test_each_snapshot_has_its_columns(evolved, duck):
    """As PyIceberg and DuckDB see it."""
    first = evolved.sql('SELECT min_by(snapshot_id, committed_at) AS id FROM "t$snapshots"')[0]["id"]
    ours = evolved.arrow(f"SELECT * FROM t AT (VERSION => {first})").sort_by("time")
    theirs = pyiceberg_table(evolved.folder("t")).scan(snapshot_id=int(first)).to_arrow().sort_by("time")
    ducks = duck.execute(f"SELECT * FROM iceberg_scan('{evolved.folder('t')}', snapshot_from_id => {first}) ORDER BY time") \
        .to_arrow_table()
    assert ours.schema.names == theirs.schema.names == ducks.schema.names == ["time", "device", "v", "n", "gone", "d"]
    for name in ours.schema.names[1:]:
        assert ours[name].to_pylist() == theirs[name].to_pylist() == ducks[name].to_pylist(), name


PEER_READS = """
    import sys, json, timelake
    print(json.dumps(timelake.Lake(sys.argv[1]).sql(sys.argv[2]).to_pylist(), default=str))
"""


def test_the_peer_reads_by_name(evolved):
    """A limit of the peer, pinned: it finds nothing in old files under a new name."""
    found = json.loads(peer(PEER_READS, evolved.root, "select n, voltage, p from t order by time"))
    assert [row["n"] for row in found] == [1, 2, 2**40, 4]
    assert [row["p"] for row in found] == [None, None, 9.5, None]
    assert [row["voltage"] for row in found] == [None, None, 3.5, 4.5]


PEER_APPENDS = """
    import sys, datetime, pyarrow as pa, timelake
    table = timelake.Lake(sys.argv[1]).table("t")
    time = datetime.datetime(2026, 1, 1, 0, 0, 9, tzinfo=datetime.timezone.utc)
    print(table.append(pa.table({"time": pa.array([time], pa.timestamp("us", "UTC")), "device": ["a"], sys.argv[2]: [9.5]}))["rows"])
"""


def test_the_peer_appends_in_turn(lake):
    """After a change, where the last index has columns that the peer does not find, once an append of ours has made a new one."""
    lake.run("create", "t", *SIMPLE)
    lake.append("t", rows(0, v=[1.0, 2.0]))
    lake.run("alter", "t", "--add-column", "p=float")
    lake.run("alter", "t", "--widen-column", "p=double")
    lake.append("t", rows(2, v=[3.0, 4.0]))
    lake.run("alter", "t", "--rename-column", "v=w")
    with pytest.raises(AssertionError, match="not in the table schema"):
        peer(PEER_APPENDS, lake.root, "w")
    lake.append("t", rows(4, w=[5.0, 6.0]))
    assert peer(PEER_APPENDS, lake.root, "w").strip() == "1"
    lake.run("alter", "t", "--add-column", "q=int", "--rename-column", "w=u")
    with pytest.raises(AssertionError, match="index out of bounds"):
        peer(PEER_APPENDS, lake.root, "p")
    lake.append("t", rows(6, u=[7.0, 8.0]))
    assert peer(PEER_APPENDS, lake.root, "p").strip() == "1"
    expected = [(0, "a", 1.0, None), (1, "b", 2.0, None), (2, "a", 3.0, None), (3, "b", 4.0, None), (4, "a", 5.0, None),
                (5, "b", 6.0, None), (6, "a", 7.0, None), (7, "b", 8.0, None), (9, "a", 9.5, None), (9, "a", None, 9.5)]
    for table in (lake.arrow("SELECT * FROM t"), pyiceberg_table(lake.folder("t")).scan().to_arrow()):
        table = table.sort_by("time")
        found = [((t.value - START) // 1_000_000, *rest) for t, *rest in zip(
            table["time"].cast(pa.timestamp("us", "UTC")), *(table[name].to_pylist() for name in ("device", "u", "p")))]
        # With dedup on the last row of one series and time counts; PyIceberg knows nothing of that.
        assert set(expected) - set(found) <= {(9, "a", 9.5, None)}
    latest = json.loads(lake.run("latest", "t", "--format", "json").stdout)
    assert [(row["device"], row["u"], row["p"]) for row in latest] == [("a", None, 9.5), ("b", 8.0, None)]


def test_an_index_that_the_peer_extended_over_a_change(lake):
    """The peer carries its index on by position, so its values stand in the wrong columns: it is not used."""
    lake.run("create", "t", *SIMPLE)
    lake.run("alter", "t", "--add-column", "w=double")
    lake.append("t", rows(0, v=[1.0, 2.0], w=[10.0, 20.0]))
    assert peer(PEER_APPENDS, lake.root, "v").strip() == "1"
    lake.run("alter", "t", "--drop-column", "v", "--add-column", "x=double")
    assert peer(PEER_APPENDS, lake.root, "w").strip() == "1"

    def latest():
        found = json.loads(lake.run("latest", "t", "--format", "json").stdout)
        return [(row["device"], row["w"], row["x"]) for row in found]

    expected = [("a", 9.5, None), ("b", 20.0, None)]
    assert latest() == expected
    query = "SELECT DISTINCT ON (device) device, w, x FROM t ORDER BY device, time DESC"
    assert [tuple(row.values()) for row in lake.sql(query)] == expected
    lake.run("maintain", "t")  # carries an index on, but not that one
    assert latest() == expected
    lake.append("t", rows(20, x=[7.0, 8.0]))
    assert latest() == [("a", None, 7.0), ("b", None, 8.0)]


def test_refused(lake):
    lake.run("create", "t", *SIMPLE)
    for arguments, said in ((["--drop-column", "time"], "time column"), (["--rename-column", "device=d"], "series key"),
                            (["--widen-column", "v=float"], "cannot become float"), (["--add-column", "v=int"], "already"),
                            (["--add-column", "x"], "NAME=TYPE"), (["--drop-column", "nope"], "no column"),
                            (["--drop-column", "v", "--set", "retention=1d"], "separate commands")):
        done = lake.run("alter", "t", *arguments, check=False)
        assert done.returncode != 0 and said in done.stderr, done.stderr
    assert json.loads(lake.run("info", "t", "--json").stdout)["version"] == 1
