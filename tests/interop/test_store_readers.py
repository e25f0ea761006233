"""PyIceberg, with pyarrow's clients, reads tables that we wrote into Google Cloud Storage and Azure."""

import json
import os
import subprocess

from conftest import BINARY

ROWS = "time,device,v\n2024-01-01T00:00:00Z,a,1.5\n2024-01-01T00:01:00Z,b,2.5\n2024-02-02T00:00:00Z,a,3.5\n"


def written(server, warehouse, tmp_path):
    """The main job, by the command: the newest metadata file's URI."""
    csv = tmp_path / "rows.csv"
    csv.write_text(ROWS)

    def run(*arguments):
        done = subprocess.run([BINARY, "-w", warehouse, *map(str, arguments)], capture_output=True, text=True,
                              timeout=60, env={**os.environ, **server.env})
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
        "--series-key", "device", "--no-dedup")
    for _ in range(2):
        run("append", "t", csv)
    run("maintain", "t")
    run("verify", "t", "--deep")
    info = json.loads(run("info", "t", "--json"))
    return f"{info['location']}/metadata/v{info['version']}.metadata.json"


def check(metadata, properties):
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(metadata, {**properties, "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
    assert table.scan().to_arrow().num_rows == 6
    assert table.scan(row_filter="device == 'b'").to_arrow()["v"].to_pylist() == [2.5, 2.5]


def test_google_cloud_storage(gcs_server, tmp_path):
    metadata = written(gcs_server, f"gs://{gcs_server.bucket()}/wh", tmp_path)
    check(metadata, {"gcs.service.host": gcs_server.endpoint, "gcs.oauth2.token": "any",
                     "gcs.oauth2.token-expires-at": "4070908800000"})


def test_azure(azure_server, tmp_path):
    metadata = written(azure_server, f"abfss://{azure_server.bucket()}/wh", tmp_path)
    authority = f"127.0.0.1:{azure_server.port}"
    check(metadata, {"adls.account-name": azure_server.options["azure_storage_account_name"],
                     "adls.account-key": azure_server.options["azure_storage_account_key"],
                     "adls.blob-storage-authority": authority, "adls.blob-storage-scheme": "http",
                     "adls.dfs-storage-authority": authority, "adls.dfs-storage-scheme": "http"})
