"""The main job in a bucket, and the doors that lead there."""

import datetime as dt
import json
import os
import subprocess

import pyarrow as pa
import pyarrow.compute as pc
import pytest

PEER = os.environ.get("TIMELAKE_PEER_PYTHON", "")
SCHEMA = "time:timestamptz, device:string, v:double"


@pytest.fixture
def warehouse(s3_server):
    return f"s3://{s3_server.bucket()}/wh"


@pytest.fixture
def in_env(s3_server, monkeypatch):
    for name, value in s3_server.env.items():
        monkeypatch.setenv(name, value)
    return s3_server


def rows(first, count):
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return pa.table(
        {
            "time": pa.array(
                [start + dt.timedelta(minutes=first + i) for i in range(count)],
                pa.timestamp("us", tz="UTC"),
            ),
            "device": [f"d{i % 3}" for i in range(count)],
            "v": [float(first + i) for i in range(count)],
        }
    )


def test_main_job(timelake, s3_server, warehouse, tmp_path):
    lake = timelake.Lake(warehouse, storage_options=s3_server.options)
    assert lake.location == warehouse
    table = lake.create_table("plant.t", SCHEMA, time_column="time", series_key=["device"])
    for batch in range(12):
        assert table.append(rows(100 * batch, 100), batch_id=f"b{batch}")["rows"] == 100
    assert table.append(rows(0, 100), batch_id="b0")["duplicate"]
    assert lake.sql("SELECT count(*), max(v) FROM plant.t").to_pylist() == [
        {"count_star()": 1200, "max(v)": 1199.0}
    ]
    assert lake.latest("plant.t").num_rows == 3
    csv = tmp_path / "more.csv"
    csv.write_text("time,device,v\n2026-02-01T00:00:00Z,d9,7.5\n")
    assert table.import_files(csv)["rows"] == 1
    table.maintain()

    again = timelake.Lake(warehouse, storage_options=s3_server.options)
    assert again.tables() == ["plant.t"] and again.namespaces() == ["plant"]
    info = again.table("plant.t").info()
    assert info["rows"] == 1201 and info["location"] == f"{warehouse}/plant/t"
    assert again.sql("SELECT v FROM plant.t WHERE device = 'd9'").to_pylist() == [{"v": 7.5}]
    again.drop_table("plant.t", purge=True)
    assert timelake.Lake(warehouse, storage_options=s3_server.options).tables() == []


def test_a_large_file_goes_up_in_parts(timelake, s3_server, warehouse):
    lake = timelake.Lake(warehouse, storage_options=s3_server.options)
    count = 1_500_000
    data = pa.table(
        {
            "time": pa.array(range(0, count * 1_000_003, 1_000_003), pa.timestamp("us", tz="UTC")),
            "device": pa.array(["a"] * count),
            "v": pc.random(count),
        }
    )
    table = lake.create_table(
        "t", SCHEMA, time_column="time", series_key=["device"], chunk="month"
    )
    table.append(data)
    files = list((s3_server.folder / warehouse[5:]).rglob("*.parquet"))
    assert max(file.stat().st_size for file in files) > 8 << 20
    assert lake.sql("SELECT count(*) AS n, sum(v) AS s FROM t").to_pylist() == [
        {"n": count, "s": pytest.approx(pc.sum(data["v"]).as_py())}
    ]


def test_the_peers_example_runs_unchanged(timelake, in_env):
    """The calls of its PyPI page with a bucket, as there; keys and endpoint from the environment."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    batch = pa.table(
        {
            "time": pa.array([now, now + dt.timedelta(seconds=1)], pa.timestamp("us", tz="UTC")),
            "device_id": ["pump-7", "pump-7"],
            "temp": [20.5, 21.0],
        }
    )
    bucket = in_env.bucket()
    lake = timelake.Lake(f"s3://{bucket}/wh", storage_options={"aws_region": "us-east-1"})
    t = lake.create_table(
        "iot.readings", batch.schema, time_column="time", series_key=["device_id"]
    )
    t.append(batch)
    found = lake.sql(
        "SELECT * FROM iot.readings WHERE device_id = 'pump-7' ORDER BY time DESC LIMIT 1"
    )
    assert found.column("temp").to_pylist() == [21.0]
    assert lake.latest("iot.readings").to_pylist()[0]["device_id"] == "pump-7"


def test_the_peer_reads_and_appends(timelake, in_env, warehouse):
    if not os.path.exists(PEER):
        pytest.fail(f"TIMELAKE_PEER_PYTHON={PEER!r} does not exist: run tools/deps.sh")
    lake = timelake.Lake(warehouse)
    table = lake.create_table(
        "t", SCHEMA, time_column="time", series_key=["device"], properties={"timelake.shared": "true"}
    )
    table.append(rows(0, 60))
    code = f"""
import json, timelake
import pyarrow as pa
lake = timelake.Lake({warehouse!r})
before = lake.sql("SELECT count(*) AS n, sum(v) AS s FROM t").to_pylist()
latest = lake.latest("t").num_rows
batch = pa.table({{"time": pa.array([1767312000000000], pa.timestamp("us", tz="UTC")),
                  "device": ["of the peer"], "v": [0.5]}})
lake.table("t").append(batch)
print(json.dumps([before, latest]))
"""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [PEER, "-c", code], capture_output=True, text=True, env=env, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[{"n": 60, "s": 1770.0}], 3]
    table.refresh()
    assert lake.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 61}]
    table.append(rows(500, 3))
    assert timelake.Lake(warehouse).sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 64}]


def test_another_client_reads_the_files(timelake, s3_server, warehouse):
    lake = timelake.Lake(warehouse, storage_options=s3_server.options)
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    table.append(rows(0, 30))
    names = [row["file_path"] for row in lake.sql("SELECT file_path FROM t$files").to_pylist()]
    assert names and all(name.startswith(f"{warehouse}/default/t/data/") for name in names)
    # pyarrow's S3 client, on the same server.
    import pyarrow.fs as fs
    import pyarrow.parquet as pq

    other = fs.S3FileSystem(
        access_key=s3_server.env["AWS_ACCESS_KEY_ID"],
        secret_key=s3_server.env["AWS_SECRET_ACCESS_KEY"],
        endpoint_override=s3_server.endpoint,
        scheme="http",
        region="us-east-1",
    )
    assert sum(pq.read_table(name[5:], filesystem=other).num_rows for name in names) == 30


def test_options_are_checked(timelake, s3_server, warehouse):
    for options, text in (
        ({"aws_acces_key_id": "S3CRET"}, "aws_access_key_id"),
        ({"aws_access_key_id": "S3CRET"}, "aws_secret_access_key"),
        ({"aws_endpoint": s3_server.endpoint}, "aws_allow_http"),
        ({**s3_server.options, "aws_region": "a", "region": "b"}, "same thing"),
    ):
        with pytest.raises(ValueError, match=text) as error:
            timelake.Lake(warehouse, storage_options=options)
        assert "S3CRET" not in str(error.value)
    with pytest.raises(ValueError, match="bucket"):
        timelake.Lake("s3:///x")


def test_wrong_keys_and_buckets_are_reported_without_secrets(timelake, s3_server, warehouse):
    wrong = {**s3_server.options, "aws_secret_access_key": "S3CRET", "max_retries": 0}
    with pytest.raises(timelake.TimelakeError, match="SignatureDoesNotMatch") as error:
        timelake.Lake(warehouse, storage_options=wrong).tables()
    assert "S3CRET" not in str(error.value) + repr(error.value)
    lake = timelake.Lake("s3://no-such-bucket/wh", storage_options=s3_server.options)
    assert "S3CRET" not in repr(lake)
    for use in (lake.tables, lambda: lake.table("t"), lambda: lake.create_table("t", SCHEMA)):
        with pytest.raises(timelake.TimelakeError, match="no-such-bucket"):
            use()


def test_copy_to_and_from_a_bucket(timelake, in_env, warehouse, tmp_path):
    lake = timelake.Lake(warehouse)
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    table.append(rows(0, 90))
    local = timelake.Lake(tmp_path / "wh")  # finds its keys in the environment
    for ending in ("csv", "parquet", "json", "csv.gz"):
        path = f"{warehouse}/export/rows.{ending}"
        lake.sql(f"COPY (SELECT * FROM t ORDER BY ALL) TO '{path}'")
        for reader in (lake, local):
            assert reader.sql(f"SELECT count(*) AS n, sum(v) AS s FROM '{path}'").to_pylist() == [
                {"n": 90, "s": 4005.0}
            ]
    assert lake.sql(f"SELECT count(*) AS n FROM '{warehouse}/export/r?ws*.parquet'").to_pylist() == [
        {"n": 90}
    ]
    lake.sql(f"CREATE TABLE u WITH (time_column = 'time') AS FROM '{warehouse}/export/rows.csv'")
    assert lake.sql("SELECT count(*) AS n FROM u").to_pylist() == [{"n": 90}]
    # Replaced by a COPY that is whole, kept by one that fails.
    path = f"{warehouse}/export/rows.csv"
    with pytest.raises(timelake.TimelakeError, match="stop"):
        lake.sql(f"COPY (SELECT CASE WHEN v > 80 THEN error('stop') ELSE v END FROM t) TO '{path}'")
    assert lake.sql(f"SELECT count(*) AS n FROM '{path}'").to_pylist() == [{"n": 90}]
    lake.sql(f"COPY (SELECT 1 AS one) TO '{path}'")
    assert lake.sql(f"FROM '{path}'").to_pylist() == [{"one": 1}]
    with pytest.raises(timelake.TimelakeError, match=r"none\.parquet"):
        lake.sql(f"FROM '{warehouse}/none.parquet'")


def test_threads_append_at_once(timelake, s3_server, warehouse):
    import concurrent.futures

    lake = timelake.Lake(warehouse, storage_options=s3_server.options)
    lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])

    def write(worker):
        table = timelake.Lake(warehouse, storage_options=s3_server.options).table("t")
        return sum(
            table.append(rows(10_000 * worker + 10 * i, 10), batch_id=f"{worker}-{i}")["rows"]
            for i in range(5)
        )

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(write, range(6))) == 300
    fresh = timelake.Lake(warehouse, storage_options=s3_server.options)
    assert fresh.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 300}]
    assert len(fresh.sql("SELECT snapshot_id FROM t$snapshots").to_pylist()) >= 30


@pytest.mark.parametrize("first", ["", "import hashlib, ssl", "import pyarrow.parquet"])
def test_python_keeps_its_openssl(s3_server, warehouse, python, first):
    """libparquet of pyarrow exports an OpenSSL of its own; in one scope with it, libcrypto crashed."""
    code = f"""
    {first or "pass"}
    import timelake
    lake = timelake.Lake({warehouse!r})
    assert lake.tables() == []
    import hashlib, ssl
    assert hashlib.sha256(b"").hexdigest().startswith("e3b0c442")
    assert ssl.create_default_context().get_ca_certs() is not None
    assert lake.tables() == []
    print("fine")
    """
    assert python(code, env=s3_server.env) == "fine\n"


def test_a_local_lake_loads_no_network_library(python, tmp_path):
    code = f"""
    import timelake
    lake = timelake.Lake({str(tmp_path / "wh")!r})
    assert lake.tables() == [] and lake.sql("SELECT 1 AS one").num_rows == 1
    print("libcurl" in open("/proc/self/maps").read())
    """
    assert python(code) == "False\n"
