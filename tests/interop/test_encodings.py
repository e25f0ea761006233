"""Files of every encoding and every codec, read bit for bit by PyArrow, DuckDB and the peer."""

import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Lake, peer

ROWS = 12_000
START = 1_767_225_600_000_000
COLUMNS = ("time:timestamptz, device:string, walk:double, noise:double, small:float, counter:long, level:int, "
           "day:date, message:string, path:string, blob:binary, amount:decimal(12,3)")

CODECS = [("zstd", 1), ("zstd", 3), ("zstd", 22), ("gzip", 1), ("gzip", 9), ("brotli", 0), ("brotli", 11),
          ("snappy", None), ("lz4", None), ("uncompressed", None)]
# Settings, and by column what its pages must then be in (besides RLE for levels).
# "A B": in A until the dictionary outgrows its limit, in B from there on.
ENCODINGS = {
    "as the values ask for": ({}, {}),
    "floats in dictionaries": ({"float-encoding": "dictionary"}, {"walk": "RLE_DICTIONARY", "small": "RLE_DICTIONARY"}),
    "floats split": ({"float-encoding": "byte-stream-split"},
                     {"walk": "BYTE_STREAM_SPLIT", "noise": "BYTE_STREAM_SPLIT", "small": "BYTE_STREAM_SPLIT"}),
    "integers in dictionaries": ({"integer-encoding": "dictionary"}, {"counter": "RLE_DICTIONARY", "day": "RLE_DICTIONARY"}),
    "integers as deltas": ({"integer-encoding": "delta-binary-packed"},
                           {"counter": "DELTA_BINARY_PACKED", "level": "DELTA_BINARY_PACKED", "day": "DELTA_BINARY_PACKED"}),
    "strings in dictionaries": ({"string-encoding": "dictionary"}, {"message": "RLE_DICTIONARY", "device": "RLE_DICTIONARY"}),
    "strings plain": ({"string-encoding": "plain"}, {"message": "PLAIN", "device": "PLAIN", "blob": "PLAIN"}),
    "strings by length": ({"string-encoding": "delta-length-byte-array"},
                          {"message": "DELTA_LENGTH_BYTE_ARRAY", "device": "DELTA_LENGTH_BYTE_ARRAY",
                           "blob": "DELTA_LENGTH_BYTE_ARRAY"}),
    "strings by prefix": ({"string-encoding": "delta-byte-array"},
                          {"path": "DELTA_BYTE_ARRAY", "device": "DELTA_BYTE_ARRAY", "blob": "DELTA_BYTE_ARRAY"}),
    "small dictionaries": ({"dictionary-page-bytes": "1024", "data-page-rows": "500", "row-group-rows": "7000"}, {}),
    "dictionaries that end": (
        {"dictionary-page-bytes": "6000", "data-page-rows": "300", "float-encoding": "dictionary",
         "integer-encoding": "dictionary", "string-encoding": "dictionary"},
        {"noise": "RLE_DICTIONARY BYTE_STREAM_SPLIT", "counter": "RLE_DICTIONARY DELTA_BINARY_PACKED",
         "level": "RLE_DICTIONARY DELTA_BINARY_PACKED", "path": "RLE_DICTIONARY PLAIN", "device": "RLE_DICTIONARY"}),
    "filters": ({"bloom-columns": "message, counter, device, noise, blob"}, {}),
}


def sometimes_null(values, every):
    return [None if i % every == 3 else value for i, value in enumerate(values)]


def rows():
    rng = np.random.default_rng(5)
    special = [float("nan"), struct.unpack("d", struct.pack("Q", 0x7FF8DEADBEEF0001))[0], -0.0, float("inf"), 5e-324]
    noise = rng.standard_normal(ROWS)
    noise[: len(special)] = special
    walk = np.cumsum(rng.integers(-1, 2, ROWS)).astype(float) / 4
    return pa.table({
        "time": pa.array(START + np.arange(ROWS) * 7_000_000).cast(pa.timestamp("us", "UTC")),
        "device": pa.array([f"d{i % 7}" for i in range(ROWS)]),
        "walk": pa.array(sometimes_null(walk.tolist(), 11), pa.float64()),
        "noise": pa.array(noise),
        "small": pa.array(rng.integers(0, 50, ROWS).astype(np.float32)),
        "counter": pa.array(sometimes_null((np.arange(ROWS) * 1000 + 2**40).tolist(), 50), pa.int64()),
        "level": pa.array(rng.integers(-2**31, 2**31, ROWS, dtype=np.int64).astype(np.int32)),
        "day": pa.array((np.arange(ROWS) // 9).astype(np.int32)).cast(pa.date32()),
        "message": pa.array(sometimes_null([f"{rng.integers(1 << 60):x} na\u00efve \U0001f600" for _ in range(ROWS)], 13)),
        "path": pa.array([f"/plant/line{i % 3}/machine/part/{i:08}" for i in range(ROWS)]),
        "blob": pa.array([bytes([i % 256]) * (i % 5) for i in range(ROWS)], pa.binary()),
        "amount": pa.array(np.arange(ROWS)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(12, 3)),
    })


def bits(table):
    """Sorted by key and time; floats as their bits, so that NaN and zeros are told apart."""
    table = table.sort_by([("device", "ascending"), ("time", "ascending")]).combine_chunks()
    columns = {}
    for name in COLUMNS.replace("decimal(12,3)", "decimal").split(", "):
        name = name.split(":")[0]
        column = table[name].combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_floating(column.type):
            integer = pa.int64() if column.type == pa.float64() else pa.int32()
            column = column.view(integer)
        columns[name] = column.to_pylist()
    return columns


EXPECTED = {}


def expected():
    if not EXPECTED:
        EXPECTED.update(bits(rows()))
    return EXPECTED


def write(lake, settings):
    settings = {"data-page-rows": 3000} | settings
    lake.run("create", "t", "--schema", COLUMNS, "--time-column", "time", "--series-key", "device",
             *(part for key, value in settings.items() for part in ("--prop", f"{key}={value}")))
    assert lake.append("t", rows())["rows"] == ROWS
    return sorted(lake.folder("t").rglob("data/**/*.parquet"))


def check(lake, duck, files):
    read = pa.concat_tables([pq.ParquetFile(path).read() for path in files])
    assert bits(read) == expected()
    names = ", ".join(f"'{path}'" for path in files)
    found = duck.execute(f"SELECT * FROM read_parquet([{names}], hive_partitioning = false)").to_arrow_table()
    assert bits(found) == expected()
    assert bits(lake.arrow("SELECT * FROM t")) == expected()


def check_peer(lakes):
    """One start of the peer for all of them."""
    peer("""
        import sys, pyarrow as pa, timelake
        for root in sys.argv[1:]:
            rows = timelake.Lake(root).sql("select * from t")
            with pa.ipc.new_stream(root + "/peer.arrow", rows.schema) as out:
                out.write_table(rows)
    """, *(lake.root for lake in lakes))
    for lake in lakes:
        with pa.ipc.open_stream(lake.root / "peer.arrow") as reader:
            assert bits(reader.read_all()) == expected(), lake.root


def test_codecs(tmp_path, duck):
    lakes = []
    for codec, level in CODECS:
        lake = Lake(tmp_path / f"{codec}-{level}")
        settings = {"write.parquet.compression-codec": codec}
        if level is not None:
            settings["write.parquet.compression-level"] = level
        files = write(lake, settings)
        check(lake, duck, files)
        wanted = {"lz4": "LZ4_RAW"}.get(codec, codec.upper())
        group = pq.ParquetFile(files[0]).metadata.row_group(0)
        codecs = {group.column(i).compression for i in range(group.num_columns)}
        assert codecs == {{"LZ4_RAW": "LZ4"}.get(wanted, wanted)} or codecs == {wanted}
        lakes.append(lake)
    check_peer(lakes)


def test_encodings(tmp_path, duck):
    lakes = []
    for number, (name, (settings, wanted)) in enumerate(ENCODINGS.items()):
        lake = Lake(tmp_path / f"e{number}")
        files = write(lake, settings)
        check(lake, duck, files)
        for path in files:
            metadata = pq.ParquetFile(path).metadata
            for group in range(metadata.num_row_groups):
                for i in range(metadata.num_columns):
                    column = metadata.row_group(group).column(i)
                    if column.path_in_schema in wanted:
                        encodings = set(wanted[column.path_in_schema].split())
                        assert encodings <= set(column.encodings), (name, column.path_in_schema, column.encodings)
        lakes.append(lake)
    check_peer(lakes)


@pytest.mark.parametrize("column, value, other", [
    ("message", None, "'nowhere'"), ("counter", None, "12345"), ("blob", None, r"'\x01\x02'::BLOB")])
def test_duckdb_uses_the_filters(lake, duck, column, value, other):
    """A value that a file does not have: its row groups are left out by the Bloom filter."""
    files = write(lake, {"bloom-columns": "message, counter, blob", "string-encoding": "plain"})
    for path in files:
        metadata = pq.ParquetFile(path).metadata
        names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
        rows_ = duck.execute(f"SELECT path_in_schema, bloom_filter_offset FROM parquet_metadata('{path}')").fetchall()
        assert {name for name, offset in rows_ if offset} == {"message", "counter", "blob"}, names
        excluded = duck.execute(
            f"SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe('{path}', '{column}', {other})").fetchone()[0]
        assert excluded
        some = duck.execute(f"SELECT {column} FROM read_parquet('{path}') WHERE {column} IS NOT NULL LIMIT 1").fetchone()[0]
        excluded = duck.execute(f"SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe('{path}', '{column}', $1)",
                                [some]).fetchone()[0]
        assert not excluded


def test_bad_settings_are_refused(lake):
    """At create, alter and append, with what is accepted; nothing is stored."""
    lake.run("create", "t", "--schema", "time:timestamptz, device:string, ok:boolean", "--time-column", "time",
             "--series-key", "device")
    cases = [("write.parquet.compression-codec=lzo", "zstd, lz4, snappy, gzip, brotli, uncompressed"),
             ("write.parquet.compression-level=23", "1 .. 22 with zstd"), ("float-encoding=delta", "byte-stream-split"),
             ("integer-encoding=plain", "delta-binary-packed"), ("string-encoding=delta", "delta-length-byte-array"),
             ("bloom-columns=nope", 'no column "nope"; accepted: time, device'),
             ("bloom-columns=ok", 'column "ok" is boolean, which cannot have a Bloom filter')]
    data = lake.root / "in.csv"
    data.write_text("time,device\n2026-01-01T00:00:00Z,a\n")
    for setting, said in cases:
        for command in (["create", "u", "--schema", "time:timestamptz, device:string, ok:boolean", "--time-column", "time",
                         "--prop", setting], ["alter", "t", "--set", setting], ["append", "t", data, "--set", setting]):
            done = lake.run(*command, check=False)
            assert done.returncode != 0 and said in done.stderr, (command, done.stderr)
    assert lake.sql("SELECT count(*) AS n FROM t") == [{"n": 0}]
    assert not (lake.root / "default/u").exists()
