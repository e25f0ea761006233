"""PyIceberg, with pyarrow's S3 client, reads a table that we wrote into a bucket."""

import os
import subprocess

from conftest import BINARY

ROWS = "time,device,v\n2024-01-01T00:00:00Z,a,1.5\n2024-01-01T00:01:00Z,b,2.5\n2024-02-02T00:00:00Z,a,3.5\n"


def test_pyiceberg_reads_a_table_in_a_bucket(s3_server, tmp_path):
    from pyiceberg.table import StaticTable

    warehouse = f"s3://{s3_server.bucket()}/wh"
    csv = tmp_path / "rows.csv"
    csv.write_text(ROWS)

    def run(*arguments):
        done = subprocess.run([BINARY, "-w", warehouse, *map(str, arguments)], capture_output=True, text=True,
                              timeout=60, env={**os.environ, **s3_server.env})
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("create", "t", "--schema", "time:timestamptz, device:string, v:double", "--time-column", "time",
        "--series-key", "device")
    for _ in range(2):
        run("append", "t", csv)
    newest = sorted((s3_server.folder / warehouse[5:] / "default/t/metadata").glob("v*.metadata.json"))[-1].name
    assert newest == "v3.metadata.json"
    table = StaticTable.from_metadata(
        f"{warehouse}/default/t/metadata/{newest}",
        {"s3.endpoint": s3_server.endpoint, "s3.access-key-id": s3_server.options["aws_access_key_id"],
         "s3.secret-access-key": s3_server.options["aws_secret_access_key"], "s3.region": "us-east-1",
         "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
    assert table.scan().to_arrow().num_rows == 6
    assert table.scan(row_filter="device == 'b'").to_arrow()["v"].to_pylist() == [2.5, 2.5]
    assert len(table.metadata.snapshots) == 2
