"""Manifests and manifest lists against two other readers and three other writers.

Ours, written by `write_sample_manifest`, are opened with fastavro (a plain Avro reader, CASES O13) and
PyIceberg. Those of PyIceberg, of fastavro and of the peer are read by ours (`dump_manifest`) and compared
with what fastavro sees in the same bytes.
"""

import datetime
import decimal
import json
import os
import pathlib
import subprocess

import pytest

fastavro = pytest.importorskip("fastavro")

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TIMELAKE_BUILD_DIR", REPO / "build" / "dev"))
PEER_PYTHON = pathlib.Path(os.environ.get("TIMELAKE_PEER_PYTHON", REPO / ".deps" / "peer" / "bin" / "python"))
SNAPSHOT_ID = 5184430069070270604


def tool(name, *args):
    program = BUILD / name
    if not program.exists():
        pytest.skip(f"{program} is not built")
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    tool("write_sample_manifest", folder)
    return folder


def read(path):
    with open(path, "rb") as file:
        reader = fastavro.reader(file)
        rows = list(reader)
        return reader.metadata, json.loads(reader.metadata["avro.schema"]), rows


def inner(avro_type):
    """The type inside a union with null."""
    return avro_type[1] if isinstance(avro_type, list) else avro_type


def ids(record):
    return {f["name"]: f["field-id"] for f in record["fields"]}


# --- ours, read by others ---


def test_manifest_header(sample):
    metadata, _, _ = read(sample / "manifest.avro")
    schema = json.loads(metadata["schema"])
    assert schema["type"] == "struct" and schema["schema-id"] == 3 and schema["fields"][0]["id"] == 1
    assert metadata["schema-id"] == "3"
    fields = json.loads(metadata["partition-spec"])
    assert isinstance(fields, list)
    assert fields[0] == {"source-id": 1, "field-id": 1000, "name": "time_day", "transform": "day"}
    assert metadata["partition-spec-id"] == "2"
    assert metadata["format-version"] == "2"
    assert metadata["content"] == "data"
    assert read(sample / "deletes.avro")[0]["content"] == "deletes"


def test_manifest_field_ids(sample):
    _, schema, _ = read(sample / "manifest.avro")
    assert schema["name"] == "manifest_entry"
    assert ids(schema) == {
        "status": 0, "snapshot_id": 1, "sequence_number": 3, "file_sequence_number": 4, "data_file": 2,
    }
    data_file = schema["fields"][4]["type"]
    assert data_file["name"] == "r2"
    assert ids(data_file) == {
        "content": 134, "file_path": 100, "file_format": 101, "partition": 102, "record_count": 103,
        "file_size_in_bytes": 104, "column_sizes": 108, "value_counts": 109, "null_value_counts": 110,
        "nan_value_counts": 137, "lower_bounds": 125, "upper_bounds": 128, "key_metadata": 131,
        "split_offsets": 132, "equality_ids": 135, "sort_order_id": 140, "referenced_data_file": 143,
    }
    types = {f["name"]: inner(f["type"]) for f in data_file["fields"]}
    for name, key, value in [
        ("column_sizes", 117, 118), ("value_counts", 119, 120), ("null_value_counts", 121, 122),
        ("nan_value_counts", 138, 139), ("lower_bounds", 126, 127), ("upper_bounds", 129, 130),
    ]:
        assert types[name]["logicalType"] == "map"
        assert types[name]["items"]["name"] == f"k{key}_v{value}"
        assert ids(types[name]["items"]) == {"key": key, "value": value}
    assert types["split_offsets"]["element-id"] == 133
    assert types["equality_ids"]["element-id"] == 136
    partition = types["partition"]
    assert partition["name"] == "r102"
    assert [f["field-id"] for f in partition["fields"]] == list(range(1000, 1016))
    by_id = {f["field-id"]: f for f in partition["fields"]}
    assert by_id[1000]["type"] == ["null", {"type": "int", "logicalType": "date"}]
    assert by_id[1003]["name"] == "_4_x20n_bucket"
    assert by_id[1009]["type"][1]["adjust-to-utc"] is True
    # Every optional field says so by its default.
    for field in data_file["fields"] + partition["fields"]:
        assert isinstance(field["type"], list) == ("default" in field)


def test_manifest_values(sample):
    _, _, rows = read(sample / "manifest.avro")
    assert [r["status"] for r in rows] == [1, 1, 0, 2, 1]
    assert [r["snapshot_id"] for r in rows] == [SNAPSHOT_ID, None, 2**63 - 1, 1, None]
    assert [r["sequence_number"] for r in rows] == [None, 4, 3, 2, None]
    assert [r["file_sequence_number"] for r in rows] == [None, None, 3, 2, None]
    utc = datetime.timezone.utc
    assert rows[0]["data_file"]["partition"] == {
        "time_day": datetime.date(2026, 1, 3),
        "device": "dev/app 1#x",
        "v": -0.5,
        "_4_x20n_bucket": 7,
        "price": decimal.Decimal("-12.34"),
        "id": b"0123456789abcdef",
        "code": b"\x00\xff\x01\x02",
        "ok": True,
        "local": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=utc),
        "time": datetime.datetime(2026, 1, 1, tzinfo=utc),
        "raw": b"\x80\x00",
        "f": 1.5,
        "day": datetime.date(1969, 12, 31),
        "clock": datetime.time(23, 59, 59, 999999),
        "cost": decimal.Decimal("0.99"),
        "time_hour": 490944,
    }
    assert rows[0]["data_file"]["lower_bounds"][1] == {"key": 2, "value": b"\x02\x02"}
    assert rows[0]["data_file"]["split_offsets"] == [4, 134217728]
    bare = rows[4]["data_file"]
    assert bare["file_path"] == "s3://bucket/t/data/%20 \u00e9.parquet"
    assert bare["column_sizes"] is None and set(bare["partition"].values()) == {None}
    assert read(sample / "deletes.avro")[2][0]["data_file"]["equality_ids"] == [1, 2]


def test_list(sample):
    metadata, schema, rows = read(sample / "list.avro")
    assert {k: v for k, v in metadata.items() if not k.startswith("avro.")} == {
        "snapshot-id": str(SNAPSHOT_ID), "parent-snapshot-id": "null", "sequence-number": "9",
        "format-version": "2",
    }
    assert schema["name"] == "manifest_file"
    assert list(ids(schema).items()) == [
        ("manifest_path", 500), ("manifest_length", 501), ("partition_spec_id", 502), ("content", 517),
        ("sequence_number", 515), ("min_sequence_number", 516), ("added_snapshot_id", 503),
        ("added_files_count", 504), ("existing_files_count", 505), ("deleted_files_count", 506),
        ("added_rows_count", 512), ("existing_rows_count", 513), ("deleted_rows_count", 514),
        ("partitions", 507), ("key_metadata", 519),
    ]
    partitions = inner(schema["fields"][13]["type"])
    assert partitions["element-id"] == 508 and partitions["items"]["name"] == "r508"
    assert ids(partitions["items"]) == {
        "contains_null": 509, "contains_nan": 518, "lower_bound": 510, "upper_bound": 511,
    }
    assert [r["content"] for r in rows] == [0, 1]
    assert rows[0]["manifest_length"] == (sample / "manifest.avro").stat().st_size
    assert (rows[0]["sequence_number"], rows[0]["min_sequence_number"]) == (9, 3)
    assert rows[0]["partitions"][0] == {
        "contains_null": True, "contains_nan": False, "lower_bound": b"\xe8O\0\0", "upper_bound": b"\xe8O\0\0",
    }
    assert rows[1]["partitions"] == []


def test_pyiceberg_reads_ours(sample):
    manifest = pytest.importorskip("pyiceberg.manifest")
    from pyiceberg.io.pyarrow import PyArrowFileIO

    io = PyArrowFileIO()
    manifests = list(manifest.read_manifest_list(io.new_input(str(sample / "list.avro"))))
    assert [m.content for m in manifests] == [manifest.ManifestContent.DATA, manifest.ManifestContent.DELETES]
    assert manifests[0].added_files_count == 3 and manifests[0].deleted_rows_count == 1003
    _, _, rows = read(sample / "manifest.avro")
    entries = manifests[0].fetch_manifest_entry(io, discard_deleted=False)
    assert len(entries) == len(rows) == 5
    for entry, row in zip(entries, rows):
        file, plain = entry.data_file, row["data_file"]
        assert entry.status == row["status"]
        assert file.file_path == plain["file_path"] and file.record_count == plain["record_count"]
        for name in ["column_sizes", "value_counts", "null_value_counts", "lower_bounds", "upper_bounds"]:
            pairs = plain[name]
            assert getattr(file, name) == (None if pairs is None else {p["key"]: p["value"] for p in pairs})
    # Inheritance: PyIceberg's answer for the explicit data sequence number of a compaction's output.
    assert (entries[0].sequence_number, entries[0].file_sequence_number) == (9, 9)
    assert (entries[1].snapshot_id, entries[1].sequence_number) == (SNAPSHOT_ID, 4)
    assert entries[1].file_sequence_number == 9
    partition = entries[0].data_file.partition
    assert partition[0] == 20456 and partition[1] == "dev/app 1#x" and partition[9] == 1767225600000000
    deletes = manifests[1].fetch_manifest_entry(io)
    assert deletes[0].data_file.equality_ids == [1, 2]


# --- others', read by ours ---


def plain_bytes(value):
    return value.hex() if isinstance(value, bytes) else value


def pairs(value):
    return {str(p["key"]): plain_bytes(p["value"]) for p in value or []}


def as_dumped(row):
    """A manifest entry of fastavro in the form of dump_manifest; counts that are missing are null."""
    file = row["data_file"]
    partition = []
    for value in file["partition"].values():
        if isinstance(value, datetime.date):
            value = (value - datetime.date(1970, 1, 1)).days
        partition.append(value.encode().hex() if isinstance(value, str) else plain_bytes(value))
    return {
        **{k: row.get(k) for k in ["status", "snapshot_id", "sequence_number", "file_sequence_number"]},
        "data_file": {
            "content": file.get("content", 0),
            "file_format": file["file_format"].upper(),
            "partition": partition,
            **{k: file[k] for k in ["file_path", "record_count", "file_size_in_bytes"]},
            **{
                k: pairs(file[k])
                for k in ["column_sizes", "value_counts", "null_value_counts", "nan_value_counts",
                          "lower_bounds", "upper_bounds"]
            },
            "key_metadata": plain_bytes(file["key_metadata"]),
            "split_offsets": file["split_offsets"] or [],
            "equality_ids": file.get("equality_ids") or [],
            "sort_order_id": file["sort_order_id"],
            "referenced_data_file": file.get("referenced_data_file"),
        },
    }


def check_manifest(path):
    metadata, _, rows = read(path)
    ours = json.loads(tool("dump_manifest", "manifest", path))
    assert ours["entries"] == [as_dumped(r) for r in rows]
    assert str(ours["format_version"]) == metadata["format-version"]
    assert str(ours["spec_id"]) == metadata["partition-spec-id"]
    assert json.loads(ours["spec_fields"]) == json.loads(metadata["partition-spec"])
    return ours


def check_list(path):
    _, schema, rows = read(path)
    ours = json.loads(tool("dump_manifest", "list", path))
    names = {f["field-id"]: f["name"] for f in schema["fields"]}
    wanted = []
    for row in rows:
        get = lambda i, missing: row[names[i]] if i in names and row[names[i]] is not None else missing
        wanted.append({
            "manifest_path": get(500, None), "manifest_length": get(501, None), "partition_spec_id": get(502, 0),
            "content": get(517, 0), "sequence_number": get(515, 0), "min_sequence_number": get(516, 0),
            "added_snapshot_id": get(503, 0), "added_files_count": get(504, -1),
            "existing_files_count": get(505, -1), "deleted_files_count": get(506, -1),
            "added_rows_count": get(512, -1), "existing_rows_count": get(513, -1),
            "deleted_rows_count": get(514, -1), "key_metadata": plain_bytes(get(519, None)),
            "partitions": [
                {
                    "contains_null": p["contains_null"], "contains_nan": p.get("contains_nan"),
                    "lower_bound": plain_bytes(p["lower_bound"]), "upper_bound": plain_bytes(p["upper_bound"]),
                }
                for p in get(507, [])
            ],
        })
    assert ours == wanted
    return ours


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_pyiceberg_writes(tmp_path, version, codec):
    manifest = pytest.importorskip("pyiceberg.manifest")
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import DayTransform, IdentityTransform
    from pyiceberg.typedef import Record
    from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

    if codec in ("snappy", "zstandard"):
        pytest.importorskip({"snappy": "snappy", "zstandard": "zstandard"}[codec])
    schema = Schema(
        NestedField(1, "time", TimestamptzType(), required=True),
        NestedField(2, "tenant", StringType(), required=False),
        NestedField(3, "n", LongType(), required=False),
    )
    spec = PartitionSpec(
        PartitionField(1, 1000, DayTransform(), "time_day"),
        PartitionField(2, 1001, IdentityTransform(), "tenant"),
        spec_id=4,
    )
    io = PyArrowFileIO()
    output = io.new_output(str(tmp_path / "m.avro"))
    with manifest.write_manifest(version, spec, schema, output, 42, codec) as writer:
        for number in range(40):
            writer.add(manifest.ManifestEntry.from_args(
                status=manifest.ManifestEntryStatus.ADDED,
                snapshot_id=42,
                data_file=manifest.DataFile.from_args(
                    content=manifest.DataFileContent.DATA,
                    file_path=f"file:///t/{number}.parquet",
                    file_format=manifest.FileFormat.PARQUET,
                    partition=Record(number - 20, None if number % 7 == 0 else f"t{number}"),
                    record_count=number,
                    file_size_in_bytes=1000 * number,
                    column_sizes={1: 10, 2: 20},
                    value_counts={1: 5},
                    null_value_counts={},
                    nan_value_counts=None,
                    lower_bounds={1: b"\0" * 8, 2: b"low"},
                    upper_bounds={2: b"up"},
                    key_metadata=None,
                    split_offsets=[4],
                    equality_ids=None,
                    sort_order_id=None if number % 2 else 0,
                ),
            ))
    listed = writer.to_manifest_file()
    with manifest.write_manifest_list(
        version, io.new_output(str(tmp_path / "l.avro")), 42, None, 7 if version == 2 else None, codec
    ) as list_writer:
        list_writer.add_manifests([listed])
    if codec in ("null", "deflate"):
        ours = check_manifest(tmp_path / "m.avro")
        assert len(ours["entries"]) == 40
        rows = check_list(tmp_path / "l.avro")
    else:  # fastavro needs packages of its own for these
        ours = json.loads(tool("dump_manifest", "manifest", tmp_path / "m.avro"))
        assert [e["data_file"]["record_count"] for e in ours["entries"]] == list(range(40))
        rows = json.loads(tool("dump_manifest", "list", tmp_path / "l.avro"))
    assert ours["format_version"] == version
    assert rows[0]["added_files_count"] == 40 and rows[0]["sequence_number"] == (7 if version == 2 else 0)


PEER_SCRIPT = """
import datetime as dt, sys
import pyarrow as pa, timelake
lake = timelake.Lake(sys.argv[1])
schema = pa.schema([("time", pa.timestamp("us", tz="UTC")), ("dev", pa.string()), ("v", pa.float64()),
                    ("n", pa.int32())])
table = lake.create_table("a.b", schema, time_column="time", series_key=["dev"])
for batch in range(11):
    start = dt.datetime(1969, 12, 31, tzinfo=dt.timezone.utc) + dt.timedelta(days=batch % 3)
    rows = range(30)
    table.append(pa.table({"time": [start + dt.timedelta(hours=i) for i in rows],
                           "dev": [f"d{i % 3}" for i in rows], "v": [i / 2 for i in rows],
                           "n": [None if i % 5 == 0 else i for i in rows]}, schema=schema))
table.maintain()
"""


PEER_QUERY = """
import sys, timelake
lake = timelake.Lake(sys.argv[1])
print(lake.sql("SELECT count(*) AS c, sum(v) AS s, min(time) AS t, count(n) AS n FROM a.b").to_pylist())
print(lake.sql("SELECT count(*) AS c FROM a.b WHERE time >= '1970-01-02' AND dev = 'd1'").to_pylist())
table = lake.table("a.b")
print(table.append(lake.sql("SELECT time, dev, v, n FROM a.b LIMIT 1"))["rows"])
"""


def peer(script, folder):
    if not PEER_PYTHON.exists():
        pytest.skip("no environment of the peer")
    done = subprocess.run([PEER_PYTHON, "-c", script, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_peer_writes(tmp_path):
    peer(PEER_SCRIPT, tmp_path)
    lists = sorted(tmp_path.glob("a/b/metadata/snap-*.avro"))
    manifests = sorted(tmp_path.glob("a/b/metadata/*-m.avro"))
    assert len(lists) > 10 and len(manifests) > 10
    seen = set()
    for path in manifests:
        seen.update(e["status"] for e in check_manifest(path)["entries"])
    assert seen == {0, 1, 2}
    for path in lists:
        check_list(path)


def test_peer_and_pyiceberg_read_ours(tmp_path):
    """The peer's own table with all manifests and lists written anew by ours."""
    peer(PEER_SCRIPT, tmp_path)
    metadata = tmp_path / "a" / "b" / "metadata"
    manifests = {path: path.read_bytes() for path in metadata.glob("*-m.avro")}
    tool("rewrite_manifests", metadata)
    assert any(path.read_bytes() != before for path, before in manifests.items())
    # The head object would spare the peer from opening them.
    (metadata / "timelake-head").unlink(missing_ok=True)

    table = pytest.importorskip("pyiceberg.table")
    newest = max(metadata.glob("v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))
    rows = table.StaticTable.from_metadata(str(newest)).scan().to_arrow()
    first, second, appended = peer(PEER_QUERY, tmp_path).splitlines()
    assert f"'c': {rows.num_rows}, 's': {sum(rows['v'].to_pylist())}" in first
    day = datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone.utc)
    wanted = sum(t >= day and d == "d1" for t, d in zip(rows["time"].to_pylist(), rows["dev"].to_pylist()))
    assert second == str([{"c": wanted}])
    assert appended == "1"
