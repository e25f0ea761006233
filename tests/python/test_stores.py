"""A lake in S3, in Google Cloud Storage and in Azure: on servers of the tests' own. More of S3: test_s3.py."""

import concurrent.futures
import datetime as dt
import json
import os
import pickle
import subprocess

import pyarrow as pa
import pyarrow.compute as pc
import pytest

PEER = os.environ.get("TIMELAKE_PEER_PYTHON", "")
SCHEMA = "time:timestamptz, device:string, v:double"


@pytest.fixture(params=["s3_server", "gcs_server", "azure_server"])
def server(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def warehouse(server):
    return f"{server.scheme}://{server.bucket()}/wh"


@pytest.fixture
def in_env(server, monkeypatch):
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)
    return server


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


def test_main_job(timelake, server, warehouse, tmp_path):
    lake = timelake.Lake(warehouse, storage_options=server.options)
    assert lake.location == warehouse
    table = lake.create_table("plant.t", SCHEMA, time_column="time", series_key=["device"])
    for batch in range(12):
        assert table.append(rows(100 * batch, 100), batch_id=f"b{batch}")["rows"] == 100
    assert table.append(rows(0, 100), batch_id="b0")["duplicate"]
    assert lake.sql("SELECT count(*) AS n, max(v) AS m FROM plant.t").to_pylist() == [
        {"n": 1200, "m": 1199.0}
    ]
    assert lake.latest("plant.t").num_rows == 3
    csv = tmp_path / "more.csv"
    csv.write_text("time,device,v\n2026-02-01T00:00:00Z,d9,7.5\n")
    assert table.import_files(csv)["rows"] == 1
    table.maintain()
    assert table.verify(deep=True)["findings"] == []

    again = timelake.Lake(warehouse, storage_options=server.options)
    assert again.tables() == ["plant.t"] and again.namespaces() == ["plant"]
    info = again.table("plant.t").info()
    assert info["rows"] == 1201 and info["location"] == f"{warehouse}/plant/t"
    assert again.sql("SELECT v FROM plant.t WHERE device = 'd9'").to_pylist() == [{"v": 7.5}]
    assert again.sql("DELETE FROM plant.t WHERE device = 'd9'").num_rows >= 0
    assert again.sql("SELECT count(*) AS n FROM plant.t").to_pylist() == [{"n": 1200}]
    again.drop_table("plant.t", purge=True)
    assert timelake.Lake(warehouse, storage_options=server.options).tables() == []


def test_two_handles_append_at_once(timelake, server, warehouse):
    lake = timelake.Lake(warehouse, storage_options=server.options)
    lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])

    def write(worker):
        table = timelake.Lake(warehouse, storage_options=server.options).table("t")
        return sum(
            table.append(rows(10_000 * worker + 10 * i, 10), batch_id=f"{worker}-{i}")["rows"]
            for i in range(6)
        )

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(write, range(2))) == 120
    fresh = timelake.Lake(warehouse, storage_options=server.options)
    assert fresh.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 120}]
    assert fresh.table("t").verify()["findings"] == []


def test_a_large_file_goes_up_in_parts(timelake, server, warehouse):
    lake = timelake.Lake(warehouse, storage_options=server.options)
    count = 1_500_000
    data = pa.table(
        {
            "time": pa.array(range(0, count * 1_000_003, 1_000_003), pa.timestamp("us", tz="UTC")),
            "device": pa.array(["a"] * count),
            "v": pc.random(count),
        }
    )
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"], chunk="month")
    table.append(data)
    sizes = lake.sql("SELECT file_size_in_bytes AS size FROM t$files").column("size").to_pylist()
    assert max(sizes) > 8 << 20
    assert lake.sql("SELECT count(*) AS n, sum(v) AS s FROM t").to_pylist() == [
        {"n": count, "s": pytest.approx(pc.sum(data["v"]).as_py())}
    ]


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


def test_options_are_checked(timelake, warehouse, server):
    wrong = {
        "s3": ("aws_acces_key_id", "aws_access_key_id"),
        "gs": ("google_servise_account", "google_service_account"),
        "az": ("azure_storage_acount_key", "azure_storage_account_key"),
    }[server.scheme]
    with pytest.raises(ValueError, match=wrong[1]) as error:
        timelake.Lake(warehouse, storage_options={wrong[0]: "S3CRET"})
    assert "S3CRET" not in str(error.value)
    lake = timelake.Lake(f"{server.scheme}://no-such-bucket/wh", storage_options=server.options)
    for use in (lake.tables, lambda: lake.table("t")):
        with pytest.raises(timelake.TimelakeError, match="no-such-bucket"):
            use()


def test_wrong_keys_are_reported_without_secrets(timelake, azure_server):
    warehouse = f"az://{azure_server.bucket()}/wh"
    options = {**azure_server.options, "azure_storage_account_key": "UzNDUkVU", "max_retries": 0}
    with pytest.raises(timelake.TimelakeError, match="403") as error:
        timelake.Lake(warehouse, storage_options=options).tables()
    assert "UzNDUkVU" not in str(error.value) + repr(error.value)


def test_spellings_of_azure(timelake, azure_server):
    """A table is the same one, however its place is spelled."""
    container, options = azure_server.bucket(), azure_server.options
    fresh = {"version-check-interval": "0s"}
    full = f"abfss://{container}@testaccount.dfs.core.windows.net/wh"
    lake = timelake.Lake(full, options, fresh)
    assert lake.location == full
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    table.append(rows(0, 9))
    assert table.info()["location"] == f"{full}/default/t"
    other = timelake.Lake(f"az://{container}/wh", options, fresh)
    other.table("t").append(rows(100, 9))
    table.refresh()
    table.append(rows(200, 9))
    for reader in (lake, other, timelake.Lake(f"abfs://{container}/wh", options)):
        assert reader.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 27}]
        assert reader.table("t").verify()["findings"] == []
    with pytest.raises(ValueError, match="names the account"):
        timelake.Lake(
            f"abfss://{container}@other.dfs.core.windows.net/wh", storage_options=options
        )


def test_a_shared_access_signature(timelake, azure_server):
    container = azure_server.bucket()
    options = {k: v for k, v in azure_server.options.items() if k != "azure_storage_account_key"}
    options["azure_storage_sas_token"] = azure_server.sas()
    lake = timelake.Lake(f"az://{container}/wh", storage_options=options)
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    assert table.append(rows(0, 9))["rows"] == 9
    assert lake.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 9}]


# What keeps secrets out of storage_options, for each kind of store.
def _callbacks(request, kind):
    if kind == "s3":
        server = request.getfixturevalue("s3_server")
        secret = ("aws_access_key_id", "aws_secret_access_key")
    elif kind == "az":
        server, secret = request.getfixturevalue("azure_server"), ("azure_storage_account_key",)
    else:
        server, secret = request.getfixturevalue("gcs_server"), ("google_skip_signature",)
    keys = {name: server.options[name] for name in secret}
    if kind == "gs":
        keys = {"google_oauth_access_token": "any"}  # the emulator looks at none
    options = {k: v for k, v in server.options.items() if k not in secret}
    return f"{kind}://{server.bucket()}/wh", options, keys


@pytest.mark.parametrize("kind", ["s3", "gs", "az"])
def test_a_credentials_callback(timelake, request, kind, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    warehouse, options, keys = _callbacks(request, kind)
    asked = []

    def credentials():
        asked.append(1)
        soon = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
        return {**keys, "expires_at": soon if len(asked) % 2 else soon.timestamp()}

    lake = timelake.Lake(warehouse, storage_options=options, credentials=credentials)
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    for i in range(3):
        table.append(rows(10 * i, 10))
    assert lake.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 30}]
    assert len(asked) == 1
    # About to expire: asked each time.
    short = timelake.Lake(
        warehouse, options, None, lambda: asked.append(1) or {**keys, "expires_at": 1}
    )
    assert short.tables() == ["default.t"] and len(asked) > 2


def _vault():
    raise RuntimeError("the vault is closed")


@pytest.mark.parametrize("kind", ["s3", "gs", "az"])
def test_a_callback_that_fails(timelake, request, kind):
    warehouse, options, keys = _callbacks(request, kind)
    for credentials, text in (
        (_vault, "the vault is closed"),
        (lambda: None, "must return a mapping"),
        (lambda: {"unknown_key": "S3CRET"}, "unknown_key"),
        (lambda: {}, "it gives no"),
        (lambda: {**keys, "expires_at": dt.datetime(2026, 1, 1)}, "time zone"),
    ):
        lake = timelake.Lake(warehouse, storage_options=options, credentials=credentials)
        with pytest.raises(timelake.TimelakeError, match=text) as error:
            lake.tables()
        assert "S3CRET" not in str(error.value)
    with pytest.raises(TypeError, match="function"):
        timelake.Lake(warehouse, storage_options=options, credentials={"a": "b"})
    pickled = pickle.loads(
        pickle.dumps(timelake.Lake(warehouse, storage_options=options, credentials=_vault))
    )
    with pytest.raises(timelake.TimelakeError, match="the vault is closed"):
        pickled.tables()


def test_a_local_lake_takes_no_callback(timelake, tmp_path):
    with pytest.raises(ValueError, match="credentials callback"):
        timelake.Lake(tmp_path, credentials=dict)


def peer(code):
    if not os.path.exists(PEER):
        pytest.fail(f"TIMELAKE_PEER_PYTHON={PEER!r} does not exist: run tools/deps.sh")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [PEER, "-c", code], capture_output=True, text=True, env=env, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_peer_reads_from_google(timelake, gcs_server):
    """It appends by the XML API, whose puts the emulator does not take."""
    warehouse = f"gs://{gcs_server.bucket()}/wh"
    lake = timelake.Lake(warehouse, storage_options=gcs_server.options)
    table = lake.create_table("t", SCHEMA, time_column="time", series_key=["device"])
    table.append(rows(0, 60))
    account = {
        "gcs_base_url": gcs_server.endpoint,
        "disable_oauth": True,
        **dict.fromkeys(("client_email", "private_key", "private_key_id"), ""),
    }
    options = {"google_service_account_key": json.dumps(account), "allow_http": "true"}
    peer(f"""
import timelake
lake = timelake.Lake({warehouse!r}, storage_options={options!r})
assert lake.sql("SELECT count(*) AS n, sum(v) AS s FROM t").to_pylist() == [{{"n": 60, "s": 1770.0}}]
assert lake.latest("t").num_rows == 3
""")
    ours = timelake.Lake(warehouse, storage_options=options)  # the same options
    assert ours.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 60}]


@pytest.mark.parametrize("name", ["s3_server", "azure_server"])
def test_the_peer_reads_and_appends(timelake, request, name):
    server = request.getfixturevalue(name)
    warehouse = f"{server.scheme}://{server.bucket()}/wh"
    lake = timelake.Lake(warehouse, storage_options=server.options)
    table = lake.create_table(
        "t", SCHEMA, time_column="time", series_key=["device"], properties={"timelake.shared": "true"}
    )
    table.append(rows(0, 60))
    peer(f"""
import timelake
import pyarrow as pa
lake = timelake.Lake({warehouse!r}, storage_options={server.options!r})
assert lake.sql("SELECT count(*) AS n, sum(v) AS s FROM t").to_pylist() == [{{"n": 60, "s": 1770.0}}]
assert lake.latest("t").num_rows == 3
batch = pa.table({{"time": pa.array([1767312000000000], pa.timestamp("us", tz="UTC")),
                  "device": ["of the peer"], "v": [0.5]}})
lake.table("t").append(batch)
""")
    table.refresh()
    table.append(rows(500, 3))
    fresh = timelake.Lake(warehouse, storage_options=server.options)
    assert fresh.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 64}]
