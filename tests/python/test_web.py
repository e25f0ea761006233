"""A warehouse read from a static web server, which lists nothing."""

import datetime as dt
import json
import os
import shutil
import subprocess

import pyarrow as pa
import pytest
import web_server as web

PEER = os.environ.get("TIMELAKE_PEER_PYTHON", "")
SCHEMA = "time:timestamptz, device:string, v:double"


def rows(first, count):
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return pa.table(
        {
            "time": pa.array(
                [start + dt.timedelta(hours=first + i) for i in range(count)],
                pa.timestamp("us", tz="UTC"),
            ),
            "device": [f"d{i % 3}" for i in range(count)],
            "v": [float(first + i) for i in range(count)],
        }
    )


@pytest.fixture
def lake(timelake, tmp_path):
    lake = timelake.Lake(tmp_path / "a lake")
    table = lake.create_table("plant.t", SCHEMA, time_column="time", series_key=["device"])
    table.append(rows(0, 90))
    lake.create_table("u", SCHEMA, time_column="time", series_key=["device"])
    return lake


@pytest.fixture
def url(web_server):
    return f"{web_server.url}/a%20lake"


def test_tables_latest_and_sql(timelake, lake, url, web_server):
    report = lake.publish()
    assert report["index"] == f"{lake.location}/timelake-index.json"
    assert [(t["table"], t["version"]) for t in report["tables"]] == [("default.u", 1), ("plant.t", 2)]
    far = timelake.Lake(url)
    assert far.tables() == ["default.u", "plant.t"]
    assert far.namespaces() == ["default", "plant"]
    assert far.sql("SELECT count(*) AS n, sum(v) AS s FROM plant.t").to_pylist() == [
        {"n": 90, "s": 4005.0}
    ]
    assert far.latest("plant.t").num_rows == 3
    assert far.sql("SELECT v FROM plant.t WHERE device = 'd1' AND v > 80 ORDER BY v").column(
        "v"
    ).to_pylist() == [82.0, 85.0, 88.0]
    assert far.table("u").info()["rows"] == 0
    assert all(method in ("GET", "HEAD") for method, _ in web_server.seen)


def test_newer_versions_are_found(timelake, lake, url):
    lake.publish()
    far = timelake.Lake(url, settings={"version-check-interval": "0s"})
    assert far.sql("SELECT count(*) AS n FROM plant.t").to_pylist() == [{"n": 90}]
    for i in range(3):
        lake.table("plant.t").append(rows(100 + 10 * i, 10))
    for reader in (far, timelake.Lake(url)):
        assert reader.sql("SELECT count(*) AS n FROM plant.t").to_pylist() == [{"n": 120}]


def test_without_an_index_a_table_is_found_by_its_hint(timelake, lake, url):
    far = timelake.Lake(url)
    table = far.table("plant.t")
    assert table.info()["rows"] == 90 and table.latest().num_rows == 3
    for use in (far.tables, lambda: far.sql("SELECT 1 FROM plant.t")):
        with pytest.raises(timelake.TimelakeError, match="timelake publish"):
            use()
    with pytest.raises(timelake.NotFoundError, match=r"default\.none"):
        far.table("none")


def test_the_index_is_of_use_where_the_hint_is_not(timelake, lake, url, tmp_path):
    lake.publish()
    hint = tmp_path / "a lake/plant/t/metadata/version-hint.text"
    for text in ("garbage", "77", "1", None):
        hint.unlink() if text is None else hint.write_text(text)
        assert timelake.Lake(url).sql("SELECT count(*) AS n FROM plant.t").to_pylist() == [{"n": 90}]


@pytest.mark.damaged
def test_a_copy_is_read_where_it_lies(timelake, lake, web_server, tmp_path):
    """Metadata name the first place: another folder, another store."""
    lake.publish()
    shutil.move(tmp_path / "a lake", tmp_path / "site")
    far = timelake.Lake(f"{web_server.url}/site")
    assert far.sql("SELECT sum(v) AS s FROM plant.t").to_pylist() == [{"s": 4005.0}]
    assert far.latest("plant.t").num_rows == 3


def test_a_copy_of_a_bucket_is_read(timelake, s3_server, web_server, tmp_path):
    bucket = s3_server.bucket()
    lake = timelake.Lake(f"s3://{bucket}/wh", storage_options=s3_server.options)
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    table.append(rows(0, 90))
    lake.sql("DELETE FROM t WHERE v = 7")
    lake.publish()
    shutil.copytree(s3_server.folder / bucket / "wh", tmp_path / "site")
    # Over HTTP, and on local disk, where it can be made a table of its own.
    local = timelake.Lake(tmp_path / "site")
    for copy in (timelake.Lake(f"{web_server.url}/site"), local):
        assert copy.sql("SELECT count(*) AS n, sum(v) AS s FROM t").to_pylist() == [
            {"n": 89, "s": 3998.0}
        ]
        assert copy.latest("t").num_rows == 3
    with pytest.raises(timelake.TimelakeError, match="moved"):
        local.table("t").append(rows(0, 1))
    local.relocate("t")
    again = timelake.Lake(tmp_path / "site")
    again.table("t").append(rows(1000, 1))
    assert again.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 90}]
    assert again.table("t").verify(deep=True)["findings"] == []


def test_nothing_is_written(timelake, lake, url, web_server):
    lake.publish()
    far = timelake.Lake(url)
    table = far.table("plant.t")
    for write in (
        lambda: table.append(rows(0, 1)),
        lambda: far.sql("INSERT INTO plant.t SELECT * FROM plant.t"),
        lambda: far.sql("DELETE FROM plant.t"),
        lambda: far.create_table("new", SCHEMA),
        lambda: far.drop_table("plant.t"),
        lambda: table.set_properties({"retention": "9d"}),
        lambda: far.relocate("plant.t"),
        lambda: table.maintain(),
        lambda: table.verify(),  # it lists what nothing refers to
        lambda: far.publish(),
        lambda: far.sql(f"COPY (SELECT 1) TO '{url}/x.csv'"),
    ):
        with pytest.raises(timelake.TimelakeError, match="can only be read"):
            write()
    assert all(method in ("GET", "HEAD") for method, _ in web_server.seen)


def test_servers_of_all_kinds(timelake, lake, tmp_path):
    lake.publish()
    with web.serving(tmp_path, ranges=False) as server:  # the whole file, whatever was asked for
        far = timelake.Lake(f"{server.url}/a%20lake")
        assert far.sql("SELECT sum(v) AS s FROM plant.t").to_pylist() == [{"s": 4005.0}]
    far = timelake.Lake(f"{server.url}/a%20lake", storage_options={"max_retries": 0})
    with pytest.raises(timelake.TimelakeError, match="127.0.0.1"):
        far.tables()
    with pytest.raises(ValueError, match="https"):
        timelake.Lake(server.url, storage_options={"aws_region": "x"})


def test_files_in_sql(timelake, tmp_path, web_server):
    (tmp_path / "a b.csv").write_text("x,y\n1,2\n3,4\n")
    local = timelake.Lake(tmp_path / "wh")
    assert local.sql(f"SELECT sum(y) AS s FROM '{web_server.url}/a%20b.csv'").to_pylist() == [{"s": 6}]


def test_a_damaged_index_is_reported(timelake, lake, url, tmp_path):
    lake.publish()
    index = tmp_path / "a lake/timelake-index.json"
    for text in ("", "{", '{"format-version": 2, "tables": []}', '{"format-version": 1, "tables": [{}]}',
                 '["../x.y"]'):
        index.write_text(text)
        with pytest.raises(timelake.TimelakeError, match="timelake-index.json"):
            timelake.Lake(url).tables()
    index.unlink()  # that of the Rust implementation
    assert timelake.Lake(url).tables() == ["default.u", "plant.t"]


def test_the_peer_and_we_read_each_others_sites(timelake, lake, url, tmp_path, web_server):
    if not os.path.exists(PEER):
        pytest.fail(f"TIMELAKE_PEER_PYTHON={PEER!r} does not exist: run tools/deps.sh")
    lake.publish()
    assert json.loads((tmp_path / "a lake/timelake-tables.json").read_text()) == ["default.u", "plant.t"]
    shutil.move(tmp_path / "a lake", tmp_path / "ours")
    code = f"""
import timelake, pyarrow as pa
lake = timelake.Lake({str(tmp_path / "theirs")!r})
schema = pa.schema([("time", pa.timestamp("us", tz="UTC")), ("device", pa.string()), ("v", pa.float64())])
table = lake.create_table("t", schema, time_column="time", series_key=["device"])
table.append(pa.table({{"time": pa.array([0, 1], pa.timestamp("us", tz="UTC")), "device": ["a", "b"],
                       "v": [1.0, 2.0]}}))
far = timelake.Lake({web_server.url + "/ours"!r})
print(sorted(far.tables()))
"""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [PEER, "-c", code], capture_output=True, text=True, env=env, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['default.u', 'plant.t']"
    far = timelake.Lake(f"{web_server.url}/theirs")
    assert far.tables() == ["default.t"]
    assert far.sql("SELECT sum(v) AS s FROM t").to_pylist() == [{"s": 3.0}]
    assert far.latest("t").num_rows == 2
    shutil.move(tmp_path / "ours", tmp_path / "a lake")  # where its tables say that they are
