"""create: schema text or a file, the contract, settings, reports."""

import json

import pyarrow as pa
import pytest


def test_a_table_from_schema_text(tl):
    done = tl("create", "t", "--schema", "time:timestamptz, device:string!, v:double, n:int", "--time-column", "time",
              "--series-key", "device", "--chunk", "hour", "--retention", "90d", "--prop", "row-group-rows=5000")
    assert done.out.startswith("default.t: created at file://")
    assert done.err == ""
    info = tl("info", "t", "--json").json()
    assert info["table"] == "default.t"
    assert info["time_column"] == "time"
    assert info["series_key"] == ["device"]
    assert info["chunk"] == "hour"
    assert info["dedup"] is True
    assert info["retention_seconds"] == 90 * 86400
    assert info["properties"]["timelake.row-group-rows"] == "5000"
    assert info["columns"] == [
        {"name": "time", "type": "timestamptz", "required": True},
        {"name": "device", "type": "string", "required": True},
        {"name": "v", "type": "double", "required": False},
        {"name": "n", "type": "int", "required": False}]
    assert info["rows"] == 0 and info["files"] == 0


def test_the_report_as_json(tl):
    report = tl("create", "ns.t", "--schema", "a:int", "--json").json()
    assert report["table"] == "ns.t"
    assert report["created"] is True
    assert report["version"] == 1
    assert report["location"].endswith("/wh/ns/t")


def test_every_type_by_its_name(tl):
    types = ["boolean", "int", "long", "float", "double", "decimal(9,2)", "date", "time", "timestamp", "timestamptz",
             "string", "uuid", "fixed(4)", "binary", "list<int>", "map<string, double>", "struct<a:int, b:string!>"]
    tl("create", "t", "--schema", ", ".join(f"c{i}:{name}" for i, name in enumerate(types)))
    assert [column["type"] for column in tl("info", "t", "--json").json()["columns"]] == types


def test_columns_of_a_file(tl):
    path = tl.file("in.parquet", pa.table({
        "time": pa.array([0], pa.timestamp("us", "UTC")), "host": ["a"], "n": pa.array([1], pa.int64())}))
    tl("create", "t", "--from", path, "--time-column", "time")
    info = tl("info", "t", "--json").json()
    assert [(column["name"], column["type"]) for column in info["columns"]] == [
        ("time", "timestamptz"), ("host", "string"), ("n", "long")]
    assert info["rows"] == 0


def test_columns_of_a_csv_file_with_reader_options(tl):
    path = tl.file("in.txt", "time;host;v\n2024-01-01T00:00:00Z;a;-\n2024-01-01T00:00:01Z;b;2.5\n")
    tl("create", "t", "--from", path, "--input-format", "csv", "--delimiter", ";", "--null", "-")
    info = tl("info", "t", "--json").json()
    assert [(column["name"], column["type"]) for column in info["columns"]] == [
        ("time", "timestamptz"), ("host", "string"), ("v", "double")]


def test_dedup_off_and_ingest_time(tl):
    tl("create", "t", "--schema", "time:timestamptz, d:string", "--time-column", "time", "--series-key", "d",
       "--no-dedup", "--ingest-time")
    info = tl("info", "t", "--json").json()
    assert info["dedup"] is False
    assert info["ingest_time_column"] == "_ingest_ts"
    tl("append", "t", "-", "--input-format", "csv", stdin="time,d\n2024-01-01T00:00:00Z,a\n2024-01-01T00:00:00Z,a\n")
    assert tl.rows("SELECT count(*) AS n, count(_ingest_ts) AS i FROM t") == [{"n": 2, "i": 2}]


def test_a_plain_table(tl):
    tl("create", "t", "--schema", "a:int, b:string")
    info = tl("info", "t", "--json").json()
    assert info["time_column"] is None and info["chunk"] is None
    assert "none, a plain table" in tl("info", "t").out


def test_if_not_exists_leaves_the_table(table):
    before = table.tree()
    report = table("create", "t", "--schema", "other:int", "--if-not-exists", "--json").json()
    assert report["created"] is False
    assert table("create", "t", "--schema", "other:int", "--if-not-exists").out.startswith("default.t: exists at ")
    assert table.tree() == before


@pytest.mark.parametrize("chunk", ["hour", "day", "month", "year"])
def test_chunks_name_the_partition_folders(tl, chunk):
    tl("create", "t", "--schema", "time:timestamptz", "--time-column", "time", "--chunk", chunk)
    tl("append", "t", "-", "--input-format", "csv", stdin="time\n2024-01-02T03:04:05Z\n")
    (file,) = tl("files", "t", "--json").json()
    label = {"hour": "2024-01-02-03", "day": "2024-01-02", "month": "2024-01", "year": "2024"}[chunk]
    assert f"/data/time_{chunk}={label}/" in file["path"]


def test_partitions_beside_the_time(tl):
    tl("create", "t", "--schema", "time:timestamptz, d:string, site:string", "--time-column", "time", "--series-key",
       "d,site", "--partition-by", "bucket(4, d)", "--partition-by", "identity(site)")
    assert tl("info", "t", "--json").json()["partition_by"] == ["bucket(4, d)", "identity(site)"]
    assert "bucket(4, d), identity(site)" in tl("info", "t").out
    tl("append", "t", "-", "--input-format", "csv", stdin="time,d,site\n2024-01-02T03:04:05Z,a,n/s\n")
    (file,) = tl("files", "t", "--json").json()
    assert "/data/time_day=2024-01-02/d_bucket=" in file["path"] and "/site=n%2Fs/" in file["path"]
    tl.fails("create", "u", "--schema", "time:timestamptz, d:string", "--time-column", "time", "--series-key", "d",
             "--partition-by", "bucket(4, e)", says=['partition_by "bucket(4, e)": there is no column "e" (time, d)'])


def test_expected_rows_choose_the_layout(tl):
    for rows, chunk, more in [(10, "year", []), (5_000_000, "day", []), (5_000_000_000, "hour", ["bucket(8, d)"])]:
        tl("create", f"t{rows}", "--schema", "time:timestamptz, d:string", "--time-column", "time", "--series-key", "d",
           "--expected-rows-per-day", str(rows))
        info = tl("info", f"t{rows}", "--json").json()
        assert (info["chunk"], info["partition_by"]) == (chunk, more)


def test_foreign_properties_need_a_dot(tl):
    tl("create", "t", "--schema", "a:int", "--prop", "owner.team=ops")
    assert json.loads(tl.metadata().read_text())["properties"]["owner.team"] == "ops"


def test_warehouse_by_option_and_default(tl):
    other = tl.folder / "other"
    tl("create", "t", "--schema", "a:int", "-w", other)
    assert (other / "default/t/metadata/v1.metadata.json").exists()
    tl("-w", other, "info", "t")
    tl("create", "t", "--schema", "a:int", env={"TIMELAKE_WAREHOUSE": ""})
    assert (tl.folder / "warehouse/default/t/metadata/v1.metadata.json").exists()
