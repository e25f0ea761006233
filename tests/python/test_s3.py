"""What is S3's own; the main job in a bucket: test_stores.py."""

import datetime as dt

import pyarrow as pa
import pytest
from test_stores import SCHEMA, rows


@pytest.fixture
def warehouse(s3_server):
    return f"s3://{s3_server.bucket()}/wh"


@pytest.fixture
def in_env(s3_server, monkeypatch):
    for name, value in s3_server.env.items():
        monkeypatch.setenv(name, value)
    return s3_server


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
