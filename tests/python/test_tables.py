"""Lakes and tables: create, append, query, latest, reports, changes."""

import datetime
import pathlib

import pyarrow as pa
import pytest
from conftest import ROWS, SCHEMA

UTC = datetime.UTC


def test_the_straight_path(timelake, tmp_path):
    lake = timelake.Lake(tmp_path / "wh")
    table = lake.create_table(
        "plant.pumps", SCHEMA, time_column="time", series_key=["device"], chunk="month"
    )
    report = table.append(ROWS)
    assert (
        report["rows"] == 4
        and report["files"] == 1
        and report["attempts"] == 1
        and not report["duplicate"]
    )
    assert report["version"] == table.version == 2
    assert lake.tables() == ["plant.pumps"] and lake.namespaces() == ["plant"]
    result = lake.sql("SELECT device, max(v) AS v FROM plant.pumps GROUP BY device ORDER BY device")
    assert result.to_pylist() == [{"device": "a", "v": 3.5}, {"device": "b", "v": 4.5}]
    assert lake.latest("plant.pumps").column("v").to_pylist() == [3.5, 4.5]
    assert lake.sql("SELECT count(*) FROM pumps", namespace="plant")[0].to_pylist() == [4]


def test_opening_does_no_io_and_takes_paths(timelake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert timelake.Lake(tmp_path / "a").location == f"file://{tmp_path}/a"
    assert timelake.Lake("b").location == f"file://{tmp_path}/b"
    assert timelake.Lake("~/c").location == f"file://{tmp_path}/home/c"
    assert timelake.Lake(pathlib.Path("~/c")).location == f"file://{tmp_path}/home/c"
    assert timelake.Lake(f"file://{tmp_path}/d").location == f"file://{tmp_path}/d"
    assert timelake.Lake("memory://m").location == "memory://m"
    assert list(tmp_path.iterdir()) == []


def test_options_are_checked(timelake, tmp_path):
    with pytest.raises(ValueError, match="unknown storage option"):
        timelake.Lake(tmp_path, storage_options={"aws_region": "eu-west-1"})
    with pytest.raises(ValueError, match="no-such"):
        timelake.Lake(tmp_path, settings={"no-such": "1"})
    with pytest.raises(ValueError, match="ftp"):
        timelake.Lake("ftp://host/wh")
    with pytest.raises(TypeError, match="settings: 'commit-timeout' is a list"):
        timelake.Lake(tmp_path, settings={"commit-timeout": []})
    timelake.Lake(tmp_path, {}, {"commit_timeout": "10s"})


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema(
            [("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("v", pa.float64())]
        ),
        pa.table(
            {
                "time": pa.array([], pa.timestamp("ns", "UTC")),
                "device": pa.array([], pa.string()),
                "v": pa.array([], pa.float64()),
            }
        ),
        {"time": "timestamptz", "device": "string", "v": "double"},
        {"time": pa.timestamp("us", "UTC"), "device": pa.string(), "v": pa.float64()},
        SCHEMA,
    ],
    ids=["schema", "table", "names", "types", "text"],
)
def test_schemas_of_all_kinds(lake, schema):
    table = lake.create_table("t", schema, time_column="time", series_key="device")
    assert table.schema.names == ["time", "device", "v"]
    assert table.schema.types == [pa.timestamp("us", "UTC"), pa.string(), pa.float64()]
    assert table.info()["series_key"] == ["device"]


def test_schemas_of_frames(lake):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame(
        {"v": [1.0]}, index=pandas.DatetimeIndex(["2026-01-03"], tz="UTC", name="time")
    )
    assert lake.create_table("pandas", frame, time_column="time").schema.names == ["v", "time"]
    frame = polars.DataFrame({"time": [datetime.datetime(2026, 1, 3, tzinfo=UTC)], "v": [1.0]})
    assert lake.create_table("polars", frame, time_column="time").schema.names == ["time", "v"]


def test_wrong_schemas(lake):
    for wrong in (5, None, ["time"], {"time": 5}):
        with pytest.raises(TypeError, match="schema: "):
            lake.create_table("t", wrong)
    with pytest.raises(ValueError, match="chunk 'week'"):
        lake.create_table("t", SCHEMA, time_column="time", chunk="week")
    with pytest.raises(ValueError, match="nope"):
        lake.create_table("t", SCHEMA, time_column="nope")
    with pytest.raises(NotImplementedError):
        lake.create_table("t", pa.schema([("d", pa.duration("s"))]))
    assert lake.tables() == []


def test_create_again(timelake, lake, empty):
    with pytest.raises(FileExistsError, match="default.readings"):
        lake.create_table("readings", SCHEMA)
    assert lake.create_table("readings", SCHEMA, if_not_exists=True).version == 1


def test_contract_and_properties(lake):
    table = lake.create_table(
        "t",
        SCHEMA,
        "time",
        ["device"],
        "hour",
        "90d",
        False,
        True,
        {"max_future": "2h", "my.owner": "ops"},
    )
    info = table.info()
    assert (
        info["chunk"] == "hour"
        and info["dedup"] is False
        and info["ingest_time_column"] == "_ingest_ts"
    )
    assert info["retention_us"] == 90 * 86400 * 10**6
    assert (
        info["properties"]["my.owner"] == "ops"
        and info["properties"]["timelake.max-future"] == "2h"
    )


def test_partitions_beside_the_time(lake):
    schema = "time:timestamptz, device:string, v:double"
    table = lake.create_table("t", schema, "time", "device", "year", partition_by="bucket(4, device)")
    assert table.info()["partition_by"] == ["bucket(4, device)"] and table.info()["chunk"] == "year"
    many = lake.create_table("u", schema, "time", "device", expected_rows_per_day=10**10)
    assert many.info()["chunk"] == "hour"
    assert many.info()["partition_by"] == ["bucket(16, device)"]
    with pytest.raises(ValueError, match='no column "devices"'):
        lake.create_table("v", schema, "time", "device", partition_by=["identity(devices)"])
    with pytest.raises(ValueError, match="exclude each other"):
        lake.create_table("v", schema, "time", "device", "day", expected_rows_per_day=5)
    assert "default.v" not in lake.tables()


def test_relocate(timelake, lake, tmp_path):
    import shutil

    table = lake.create_table("t", "time:timestamptz, device:string, v:double", "time", "device")
    table.append({"time": ["2026-01-03"], "device": ["a"], "v": [1.0]})
    assert lake.relocate("t")["relocated"] is False
    shutil.move(tmp_path / "wh", tmp_path / "elsewhere")
    there = timelake.Lake(tmp_path / "elsewhere")
    with pytest.raises(timelake.UnsupportedError, match="timelake relocate default.t"):
        there.table("t").append({"time": ["2026-01-04"], "device": ["a"], "v": [2.0]})
    report = there.relocate("t")
    assert report["relocated"] and report["location"].endswith("/elsewhere/default/t")
    assert report["old_location"].endswith("/wh/default/t") and report["files"] == 1
    there.table("t").append({"time": ["2026-01-04"], "device": ["a"], "v": [2.0]})
    assert there.table("t").info()["rows"] == 2
    with pytest.raises(timelake.NotFoundError):
        there.relocate("nothing")


def test_plain_table(lake):
    table = lake.create_table("hosts", "name:string, rack:int")
    table.append({"name": ["a"], "rack": [7]})
    info = table.info()
    assert info["time_column"] is None and info["chunk"] is None and info["series_key"] == []
    with pytest.raises(ValueError, match="no time column"):
        table.latest()
    with pytest.raises(ValueError, match="no time column"):
        table.scan(start="2026-01-01")
    assert table.scan().to_pylist() == [{"name": "a", "rack": 7}]


def test_reports(table):
    info = table.info()
    assert (
        info["rows"] == 4
        and info["files"] == 2
        and info["snapshots"] == 1
        and info["name"] == "default.readings"
    )
    assert info["last_value_index"].startswith("file://") and info["bytes"] > 0
    (snapshot,) = table.snapshots()
    assert (
        snapshot["operation"] == "append" and snapshot["current"] and snapshot["parent_id"] is None
    )
    assert snapshot["summary"]["added-records"] == "4"
    files = table.files()
    assert [file["rows"] for file in files] == [2, 2]
    assert files[0]["partition"] == "time_day=2026-01-03"
    day = 86400 * 10**6
    assert files[1]["min_time_us"] == files[0]["min_time_us"] + day
    assert "iceberg_scan" in table.duckdb_sql()


def test_batch_ids(table):
    rows = [{"time": "2026-01-05", "device": "a", "v": 9}]
    first = table.append(rows, batch_id="load-1")
    again = table.append(rows, batch_id="load-1")
    assert first["rows"] == 1 and not first["duplicate"]
    assert (
        again["rows"] == 0 and again["duplicate"] and again["snapshot_id"] == first["snapshot_id"]
    )
    assert table.info()["rows"] == 5


def test_append_options(timelake, table):
    future = datetime.datetime.now(UTC) + datetime.timedelta(days=30)
    rows = {"time": [future, "2026-01-05T00:00:00Z"], "device": ["a", "a"], "v": [1, 2]}
    rows = {"time": [future, datetime.datetime(2026, 1, 5)], "device": ["a", "a"], "v": [1, 2]}
    with pytest.raises(ValueError, match="max-future"):
        table.append(rows)
    assert table.append(rows, on_future="skip")["skipped"] == 1
    assert table.append(rows, settings={"max-future": "off"})["rows"] == 2
    with pytest.raises(ValueError, match="on_future 'later'"):
        table.append(rows, on_future="later")
    table.append(ROWS, properties={"job": "nightly"})
    assert table.snapshots()[-1]["summary"]["job"] == "nightly"
    with pytest.raises(ValueError, match="timelake.batch-id"):
        table.append(ROWS, properties={"timelake.batch-id": "x"})


def test_changes(timelake, lake, table):
    table.set_properties({"snapshot-retention": "2h", "dedup.mine": True, "min_snapshots": 7})
    properties = table.info()["properties"]
    assert properties["timelake.snapshot-retention"] == "2h" and properties["dedup.mine"] == "true"
    assert properties["timelake.min-snapshots"] == "7"
    table.set_properties({"snapshot-retention": None, "dedup.mine": None})
    assert "dedup.mine" not in table.info()["properties"]
    with pytest.raises(ValueError, match="fixed when the table is created"):
        table.set_properties({"time-column": "v"})

    before = table.snapshots()[-1]["snapshot_id"]
    table.append([{"time": "2026-01-05", "device": "a"}])
    table.rollback(before)
    assert table.info()["rows"] == 4
    with pytest.raises(KeyError, match="12345"):
        table.rollback(12345)

    other = timelake.Lake(lake.location).table("readings")
    other.append([{"time": "2026-01-06", "device": "a"}])
    assert table.version < other.version
    table.refresh()
    assert table.version == other.version


def test_maintain(lake):
    table = lake.create_table(
        "t", SCHEMA, "time", ["device"], properties={"snapshot-retention": "0s", "min-snapshots": 1}
    )
    for i in range(3):
        table.append([{"time": f"2026-01-0{i + 1}", "device": "a", "v": i}])
    assert table.maintain(expire=False)["snapshots_expired"] == 0
    report = table.append([{"time": "2026-01-09", "device": "a", "v": 1}], maintain=True)
    assert report["maintenance"]["snapshots_expired"] == 3 and report["maintenance"]["seconds"] > 0
    assert len(table.snapshots()) == 1 and table.info()["rows"] == 4


def test_drop(lake, table):
    lake.drop_table("readings")
    assert lake.tables() == []
    with pytest.raises(KeyError):
        lake.drop_table("readings")
    lake.drop_table("readings", if_exists=True)
    with pytest.raises(KeyError):
        table.append(ROWS)
    again = lake.create_table("readings", SCHEMA)
    lake.drop_table("readings", purge=True)
    assert lake.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}]
    assert again.name == "default.readings"


def test_scan(table):
    assert len(table.scan()) == 4
    assert table.scan(["v"]).column_names == ["v"]
    assert sorted(table.scan(["v"], start="2026-01-04")["v"].to_pylist()) == [3.5, 4.5]
    end = datetime.datetime(2026, 1, 3, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert table.scan(["v"], end=end)["v"].to_pylist() == [1.5]
    assert table.scan(["v"], "device = 'b'", "2026-01-03", datetime.date(2026, 1, 4))[
        "v"
    ].to_pylist() == [2.5]
    assert table.scan(["v"], "device IN $d", params={"d": ["b"]}, start="2026-01-04")[
        "v"
    ].to_pylist() == [4.5]
    assert table.scan(["v"], "device = ? AND v > ?", end="2026-01-04", params=["a", 1])[
        "v"
    ].to_pylist() == [1.5]
    with pytest.raises(ValueError, match="nope"):
        table.scan(["nope"])
    with pytest.raises(ValueError, match="columns is empty"):
        table.scan([])
    with pytest.raises(TypeError, match="'v' is a str"):
        table.scan("v")


def test_odd_names_in_scans(lake):
    table = lake.create_table("t", pa.schema([('a "b"', pa.int64()), ("c d", pa.int64())]))
    table.append({'a "b"': [1], "c d": [2]})
    assert table.scan(['a "b"'], '"c d" = 2').to_pylist() == [{'a "b"': 1}]


def test_import_files(lake, empty, tmp_path):
    (tmp_path / "one.csv").write_text(
        "time,device,v\n2026-01-03T00:00:00Z,a,1\n2026-01-03T00:01:00Z,a,NA\n"
    )
    (tmp_path / "two.csv").write_text("time,device,v\n2026-01-04T00:00:00Z,b,3\n")
    report = empty.import_files([tmp_path / "one.csv", str(tmp_path / "two.csv")], batch_id="files")
    assert report["rows"] == 3 and report["commits"] == 1
    assert (
        empty.import_files(str(tmp_path / "*.csv"), rows_per_commit=0, batch_id="more")["commits"]
        == 2
    )
    with pytest.raises(KeyError, match="nothing.csv"):
        empty.import_files(tmp_path / "nothing.csv")
    (tmp_path / "bad.csv").write_text("time,device,v\n2026-01-03T00:00:00Z,a,oops\n")
    with pytest.raises(ValueError, match=r"bad.csv.*line 2.*oops"):
        empty.import_files(tmp_path / "bad.csv")
    (tmp_path / "semi.txt").write_text("time;device;v\n2026-01-07T00:00:00Z;a;-\n")
    empty.import_files(tmp_path / "semi.txt", format="csv", delimiter=";", null_values=["-"])
    assert lake.latest("readings").to_pylist()[0]["v"] is None
    with pytest.raises(ValueError, match="format 'json'"):
        empty.import_files(tmp_path / "one.csv", format="json")


def test_import_into_a_new_table(timelake, lake, tmp_path):
    (tmp_path / "one.csv").write_text("time,device,v\n2026-01-03T00:00:00Z,a,1.5\n")
    (tmp_path / "bad.csv").write_text("time,device,v\n2026-01-03T00:00:00Z,a,oops\n")
    with pytest.raises(ValueError, match="oops"):
        lake.import_files(
            "t", [tmp_path / "one.csv", tmp_path / "bad.csv"], "time", rows_per_commit=10
        )
    assert lake.tables() == []
    report = lake.import_files(
        "t",
        tmp_path / "one.csv",
        "time",
        ["device"],
        "month",
        dedup=False,
        properties={"max-future": "2h"},
    )
    assert report["rows"] == 1 and lake.table("t").info()["chunk"] == "month"
    assert lake.table("t").info()["properties"]["timelake.max-future"] == "2h"
    with pytest.raises(FileExistsError):
        lake.import_files("t", tmp_path / "one.csv", "time")
    assert (
        lake.import_files(
            "t", tmp_path / "one.csv", "time", ["device"], "month", if_not_exists=True
        )["rows"]
        == 1
    )
    with pytest.raises(TypeError, match="nonsense"):
        lake.import_files("u", tmp_path / "one.csv", nonsense=1)
    schema = timelake.infer_schema(tmp_path / "one.csv")
    assert schema.names == ["time", "device", "v"] and schema.field("v").type == pa.float64()
    assert lake.create_table("v", schema, time_column="time").schema.names == schema.names


def test_progress(empty, tmp_path):
    seen = []
    empty.append(ROWS, progress=seen.append)
    assert seen[-1].rows == 4 and seen[-1].total_bytes is None
    (tmp_path / "one.csv").write_text("time,device,v\n2026-01-03T00:00:00Z,a,1\n")
    seen.clear()
    empty.import_files(tmp_path / "one.csv", progress=seen.append)
    assert seen[-1].rows == 1 and seen[-1].bytes == seen[-1].total_bytes > 0
    empty.append(pa.table(ROWS), progress=lambda p: seen.append(p))
    assert seen[-1].total_rows == 4

    def stop(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        empty.append(ROWS, progress=stop)


def test_progress_with_tqdm(empty, capfd):
    pytest.importorskip("tqdm")
    empty.append(ROWS, progress=True)
    assert "rows" in capfd.readouterr().err


def test_reprs(lake, table):
    assert repr(lake) == f"<timelake.Lake {lake.location!r}>"
    assert repr(table).startswith("<timelake.Table 'default.readings' at file://")


def test_closed_lake(timelake, lake, table):
    lake.close()
    lake.close()
    with pytest.raises(ValueError, match="this Lake is closed"):
        lake.tables()
    assert table.info()["rows"] == 4


def test_settings(timelake):
    names = [setting["name"] for setting in timelake.settings()]
    assert "commit-timeout" in names and len(names) == len(set(names))
    assert all(
        set(s) == {"name", "default", "levels", "accepted", "description"}
        for s in timelake.settings()
    )


def test_sessions_keep_their_state(lake, table):
    with lake.session(threads=1, memory_limit="500MB") as session:
        session.sql("CREATE TEMP TABLE best AS SELECT max(v) AS v FROM readings")
        assert session.sql("FROM best").to_pylist() == [{"v": 4.5}]
        assert session.sql("SELECT current_setting('threads') AS n")["n"].to_pylist() == [1]
        assert session.script(
            "SET TimeZone = 'Asia/Tokyo'; SELECT current_setting('TimeZone') AS z;"
        )[0][0].as_py() == ("Asia/Tokyo")
        with pytest.raises(ValueError, match="semicolon|syntax"):
            session.script("SELECT 1; SELEC")
    with pytest.raises(ValueError, match="this Session is closed"):
        session.sql("SELECT 1")


def test_a_query_leaves_no_trace(lake, table):
    lake.sql("SET TimeZone = 'Asia/Tokyo'")
    lake.sql("CREATE TEMP TABLE best AS SELECT 1")
    for _ in range(3):
        assert lake.sql("SELECT current_setting('TimeZone') AS z")["z"].to_pylist() == ["UTC"]
        with pytest.raises(ValueError, match="best"):
            lake.sql("FROM best")


def test_the_second_argument_of_sql_may_be_a_namespace(lake):
    lake.create_table("plant.pumps", "n:int").append({"n": [1]})
    assert lake.sql("SELECT n FROM pumps", "plant").to_pylist() == [{"n": 1}]
