"""PyIceberg, with pyarrow's S3 client, DuckDB, with its httpfs, and the peer read tables in a bucket, as others do in folders."""

import json

import pyarrow as pa
import pytest

import all_types
from conftest import LakeInS3, peer, pyiceberg_table
from test_maintenance import make, maintain, rows_of, shown, winners


@pytest.fixture
def lake(s3_server, tmp_path):
    return LakeInS3(s3_server, tmp_path)


@pytest.fixture
def duck(duck, lake):
    duck.execute(lake.secret())
    yield duck
    duck.execute("DROP SECRET lake")


def ours(lake, query):
    return lake.arrow(query).to_pylist()


def by_pyiceberg(lake, **scan):
    """The newest version, by the hint."""
    return pyiceberg_table(lake.folder("t"), lake.properties()).scan(**scan).to_arrow().to_pylist()


def by_duckdb(lake, duck, rest=""):
    return duck.execute(f"FROM iceberg_scan('{lake.folder('t')}') {rest}").to_arrow_table().to_pylist()


def by_peer(lake):
    return [{**row, "time": all_types.datetime.datetime.fromisoformat(row["time"])} for row in json.loads(peer("""
        import json, sys, timelake
        warehouse, options = sys.argv[1], json.loads(sys.argv[2])
        rows = timelake.Lake(warehouse, storage_options=options).sql("select device, time, v from t").to_pylist()
        print(json.dumps([row | {"time": row["time"].isoformat()} for row in rows]))
    """, lake.warehouse, json.dumps(lake.server.options)))]


@pytest.mark.parametrize("chunk", ["hour", "day", "month", None])
def test_every_type(lake, duck, chunk):
    contract = ["--time-column", "time", "--series-key", "device", "--chunk", chunk] if chunk else []
    lake.run("create", "t", "--schema", all_types.COLUMNS, *contract)
    lake.append("t", all_types.table())
    for rows in (ours(lake, "FROM t"), by_pyiceberg(lake), by_duckdb(lake, duck)):
        assert all_types.plain_rows(rows) == all_types.expected()
    for condition, count in (("i = 2147483647", 1), ("dec9 = -327.68", 2), ("dt < '1970-01-01'", 2), ("device IS NULL", 1)):
        assert len(by_pyiceberg(lake, row_filter=condition)) == count, condition
        assert len(by_duckdb(lake, duck, f"WHERE {condition}")) == count, condition


def test_the_main_job(lake, duck):
    """Append, replace, maintain, delete, roll back, change the columns: each seen by all at once."""
    batches = [rows_of(i) for i in range(8)]
    make(lake, batches)

    def check(expected):
        for rows in (ours(lake, "FROM t"), by_pyiceberg(lake), by_duckdb(lake, duck), by_peer(lake)):
            assert shown(rows) == expected
        (report,) = json.loads(lake.run("verify", "t", "--deep", "--json").stdout)
        assert report["findings"] == []

    maintain(lake)
    check(winners(batches))
    lake.run("sql", "DELETE FROM t WHERE device = 'a'")
    check([row for row in winners(batches) if row[0] != "a"])
    batches = [[row for row in batch if row["device"] != "a"] for batch in batches]
    batches.append([dict(row, v=-row["v"] - 1) for row in batches[3]])
    lake.append("t", pa.Table.from_pylist(batches[-1]))
    maintain(lake)
    check(winners(batches))
    lake.run("sql", "ALTER TABLE t ADD COLUMN w DOUBLE")
    lake.run("sql", "INSERT INTO t VALUES (TIMESTAMPTZ '2026-02-01 00:00:00Z', 'c', 1, 2)")
    check(sorted([*winners(batches), ("c", all_types.datetime.datetime(2026, 2, 1, tzinfo=all_types.UTC), 1.0)]))
    for rows in (by_pyiceberg(lake, row_filter="device = 'c'"), by_duckdb(lake, duck, "WHERE device = 'c'")):
        assert [row["w"] for row in rows] == [2.0]
    snapshots = pyiceberg_table(lake.folder("t"), lake.properties()).metadata.snapshots
    before = f"iceberg_scan('{lake.folder('t')}', snapshot_from_id = {snapshots[-2].snapshot_id})"
    assert duck.execute(f"SELECT count(*) FROM {before}").fetchone()[0] == len(winners(batches))


def test_files_of_a_copy(lake, duck):
    """What COPY writes into the bucket, DuckDB's own httpfs reads, and what it writes we read."""
    make(lake, [rows_of(0)])
    target = lake.warehouse.removesuffix("/wh")
    lake.run("sql", f"COPY (FROM t) TO '{target}/export/ours.parquet'")
    there = duck.execute(f"SELECT device, time, v FROM '{target}/export/ours.parquet'").to_arrow_table().to_pylist()
    assert shown(there) == winners([rows_of(0)])
    duck.execute(f"COPY (FROM iceberg_scan('{lake.folder('t')}')) TO '{target}/export/theirs.parquet'")
    assert shown(ours(lake, f"FROM '{target}/export/theirs.parquet'")) == winners([rows_of(0)])
