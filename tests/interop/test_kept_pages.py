"""Merges of files whose rows follow one another take over whole row groups; every reader agrees."""

import datetime
import decimal
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import pyiceberg_table

UTC = datetime.timezone.utc
START = datetime.datetime(2026, 3, 2, tzinfo=UTC)
COLUMNS = "time:timestamptz, device:string, v:double, n:long, s:string, ok:boolean, f:float, day:date"


def rows(device, begin, count, rng):
    return [{"time": START + datetime.timedelta(seconds=begin + i), "device": device,
             "v": rng.choice([0.0, -0.0, -1.5, 2.25, float(i)]), "n": rng.choice([None, i, -i]),
             "s": rng.choice([None, "", f"text {rng.random()}"]), "ok": rng.choice([None, True, False]),
             "f": rng.choice([None, 0.5, float(i)]), "day": datetime.date(2026, 1, 1 + i % 28)} for i in range(count)]


def schema(extra=()):
    return pa.schema([("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64()), ("n", pa.int64()),
                      ("s", pa.string()), ("ok", pa.bool_()), ("f", pa.float32()), ("day", pa.date32()), *extra])


def data_files(lake):
    files = json.loads(lake.run("files", "t", "--json").stdout)
    return [file["path"].removeprefix("file://") for file in files]


def row_groups(lake):
    """(rows, the bytes of each column chunk) of each row group of the table."""
    groups = []
    for path in data_files(lake):
        footer = pq.ParquetFile(path).metadata
        with open(path, "rb") as file:
            whole = file.read()
        for g in range(footer.num_row_groups):
            group, chunks = footer.row_group(g), []
            for c in range(group.num_columns):
                chunk = group.column(c)
                start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
                chunks.append(whole[start:start + chunk.total_compressed_size])
            groups.append((group.num_rows, chunks))
    return groups


def key(row):
    return (row["device"] or "", row["time"], str([value for name, value in row.items() if name != "time"]))


def agree(lake, duck, expected, keyed=True):
    expected = sorted(expected, key=key)
    assert sorted(lake.arrow("SELECT * FROM t").to_pylist(), key=key) == expected
    assert sorted(pyiceberg_table(lake.folder("t")).scan().to_arrow().to_pylist(), key=key) == expected
    there = duck.sql(f"FROM iceberg_scan('{lake.folder('t')}')").arrow()
    there = there.read_all() if hasattr(there, "read_all") else there
    assert sorted(there.to_pylist(), key=key) == expected
    # By pages: each reader with its own use of the page index.
    for second in (0, 99, 100, 137, 250, 399):
        at = START + datetime.timedelta(seconds=second)
        wanted = sorted(key(row) for row in expected if row["time"] == at)
        mine = lake.arrow(f"SELECT * FROM t WHERE time = TIMESTAMPTZ '{at.isoformat()}'").to_pylist()
        assert sorted(map(key, mine)) == wanted
        found = pyiceberg_table(lake.folder("t")).scan(row_filter=f"time = '{at.isoformat()}'").to_arrow().to_pylist()
        assert sorted(map(key, found)) == wanted
        found = duck.sql(f"SELECT v FROM iceberg_scan('{lake.folder('t')}') WHERE time = TIMESTAMPTZ '{at.isoformat()}'").fetchall()
        assert len(found) == len(wanted)
    lake.run("verify", "t", "--deep")
    newest = {}
    for row in expected:
        series = row["device"] if keyed else None
        newest[series] = max(newest.get(series, row), row, key=lambda r: r["time"])
    latest = json.loads(lake.run("latest", "t", "--format", "json").stdout)
    assert {r["device"]: r["n"] for r in latest} == {r["device"]: r["n"] for r in newest.values()}


def create(lake, *arguments, columns=COLUMNS):
    lake.run("create", "t", "--schema", columns, "--time-column", "time", "--chunk", "month", "--prop", "auto-maintain=false",
             "--prop", "row-group-rows=100", "--prop", "data-page-rows=30", *arguments)


@pytest.mark.parametrize("options", [["--series-key", "device"], ["--series-key", "device", "--no-dedup"], [],
                                     ["--series-key", "device", "--prop", "write-memory-bytes=65536"]])
def test_full_row_groups_are_kept(lake, duck, options):
    rng = random.Random(3)
    create(lake, *options)
    keyed = bool(options)
    parts = [("b", 0, 130), ("a", 200, 220), ("a", 0, 200), ("b", 130, 100), ("a", 420, 45), (None, 600, 60)]
    if not keyed:  # one after the other in time
        parts = [("b", 0, 130), ("a", 500, 220), ("a", 200, 200), ("b", 1130, 100), ("a", 1420, 45), (None, 1600, 60)]
    expected = []
    for device, begin, count in parts:
        expected += rows(device, begin, count, rng)
        lake.append("t", pa.Table.from_pylist(expected[-count:], schema()))
    before = row_groups(lake)
    agree(lake, duck, expected, keyed)
    lake.run("maintain", "t")
    after = row_groups(lake)
    assert len(data_files(lake)) == 1
    whole = [chunks for count, chunks in before if count >= 50]
    assert len(whole) == 7
    kept = [chunks for _, chunks in after if chunks in whole]
    assert len(kept) == len(whole)
    agree(lake, duck, expected, keyed)
    # What is kept is kept again, beside rows that are new.
    more = rows("b", 2000, 30, rng)
    lake.append("t", pa.Table.from_pylist(more, schema()))
    lake.run("maintain", "t", "--full")
    assert sum(chunks in whole for _, chunks in row_groups(lake)) == (0 if keyed else len(whole))
    agree(lake, duck, expected + more, keyed)


def expect_none_kept(lake, duck, expected):
    before = [chunks for count, chunks in row_groups(lake) if count >= 50]
    assert before
    lake.run("maintain", "t")
    assert not any(chunks in before for _, chunks in row_groups(lake))
    agree(lake, duck, expected)


@pytest.mark.parametrize("case", ["overlap", "touch", "two series", "decimal", "nan", "codec"])
def test_what_is_not_sure_is_encoded_anew(lake, duck, case):
    rng = random.Random(5)
    extra = []
    if case == "decimal":
        extra = [("d", pa.decimal128(9, 2))]
    create(lake, "--series-key", "device", "--no-dedup", columns=COLUMNS + (", d:decimal(9,2)" if extra else ""))
    first = {"overlap": 150, "touch": 229}.get(case, 230)
    expected = []
    for begin in (0, first):  # 230 rows: what is encoded anew has row groups of other lengths
        part = rows("a", begin, 230, rng)
        if case == "two series":
            part[0]["device"] = "b"
        for i, row in enumerate(part):
            if extra:
                row["d"] = decimal.Decimal(i).scaleb(-2)
            if case == "nan" and i % 50 == 7:
                row["v"] = float("nan")
        if case == "codec" and begin:
            lake.run("alter", "t", "--set", "write.parquet.compression-codec=snappy")
        lake.append("t", pa.Table.from_pylist(part, schema(extra)))
        expected += part
    if case == "codec":
        lake.run("alter", "t", "--set", "write.parquet.compression-codec=zstd")
    if case == "nan":
        lake.run("maintain", "t")
        sums = "SELECT count(*) AS n, count(*) FILTER (isnan(v)) AS nan, max(n) AS m FROM t"
        assert lake.sql(sums) == [{"n": 460, "nan": 10, "m": max(r["n"] or 0 for r in expected)}]
        return
    expect_none_kept(lake, duck, expected)
