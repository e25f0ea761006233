"""O25: values at the edges of Parquet's encodings, and a time that is kept otherwise than it says; equal for every reader."""

import base64
import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from conftest import peer, pyiceberg_table

ROWS, PAGE = 20_000, 1000
START = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)
SCHEMA = "time:timestamptz, l:long, i:int, f:double, s:string, e:string"
LONGS = [-2**63, 2**63 - 1, 0, -1, 1, -2**63]
INTS = [-2**31, 2**31 - 1, 0]


def rows():
    noise = np.random.default_rng(5).standard_normal(ROWS)
    return pa.table({
        "time": pa.array([START + datetime.timedelta(seconds=i) for i in range(ROWS)], pa.timestamp("s", "Europe/Berlin")),
        "l": pa.array([LONGS[i % 6] for i in range(ROWS)], pa.int64()),
        "i": pa.array([INTS[i % 3] for i in range(ROWS)], pa.int32()),
        "f": pa.array([None if i % 10 == 0 else noise[i] for i in range(ROWS)], pa.float64()),
        # Each value twice: a dictionary is begun, and outgrows 1 MiB.
        "s": pa.array([f"{'x' * 300}{i // 2}" for i in range(ROWS)]),
        "e": pa.array([None if i < 6 * PAGE else "v" for i in range(ROWS)]),
    })


def test_every_reader_reads_the_same(lake, duck, tmp_path):
    source = tmp_path / "seconds.parquet"
    pq.write_table(rows(), source)
    # Parquet has no seconds: milliseconds, and an Arrow schema that says seconds.
    declared = base64.b64decode(pq.read_metadata(source).metadata[b"ARROW:schema"])
    assert pa.ipc.read_schema(pa.py_buffer(declared)).field("time").type.unit == "s"
    assert "milliseconds" in str(pq.ParquetFile(source).metadata.schema.column(0).logical_type)
    lake.run("create", "t", "--schema", SCHEMA, "--time-column", "time", "--prop", f"data-page-rows={PAGE}", "--prop",
             "integer-encoding=delta-binary-packed", "--prop", "float-encoding=byte-stream-split")
    assert json.loads(lake.run("append", "t", source, "--json").stdout)["rows"] == ROWS
    (path,) = lake.folder("t").rglob("data/**/*.parquet")
    group = pq.ParquetFile(path).metadata.row_group(0)
    encodings = {group.column(i).path_in_schema: set(group.column(i).encodings) for i in range(6)}
    assert all("DELTA_BINARY_PACKED" in encodings[name] for name in ("l", "i", "time"))
    assert "BYTE_STREAM_SPLIT" in encodings["f"] and "PLAIN" in encodings["s"]
    for i in range(6):
        column = group.column(i)
        first = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
        assert column.data_page_offset >= first and column.has_offset_index and column.has_column_index

    wanted = rows().set_column(0, "time", rows()["time"].cast(pa.timestamp("us", "UTC"))).to_pylist()
    there = f"iceberg_scan('{lake.folder('t')}')"
    peers = """
        import sys, pyarrow as pa, timelake
        rows = timelake.Lake(sys.argv[1]).sql("select * from t order by time")
        with pa.ipc.new_stream(sys.argv[1] + "/peer.arrow", rows.schema) as out:
            out.write_table(rows)
    """
    peer(peers, lake.root)
    with pa.ipc.open_stream(lake.root / "peer.arrow") as reader:
        theirs = reader.read_all()
    for name, table in {
        "ours": lake.arrow("FROM t ORDER BY time"),
        "pyarrow": pq.ParquetFile(path).read(),
        "duckdb": duck.sql(f"FROM {there} ORDER BY time").to_arrow_table(),
        "pyiceberg": pyiceberg_table(lake.folder("t")).scan().to_arrow().sort_by("time"),
        "peer": theirs,
    }.items():
        table = table.set_column(table.schema.get_field_index("time"), "time",
                                 table["time"].cast(pa.timestamp("us", "UTC")))
        assert table.select(rows().schema.names).to_pylist() == wanted, name

    # An hour by the clock of a zone.
    since, until = START + datetime.timedelta(seconds=3600), START + datetime.timedelta(seconds=7200)
    where = "time >= '2026-01-03 02:00:00+01' AND time < '2026-01-03 03:00:00+01'"
    assert lake.sql(f"SELECT count(*) AS n FROM t WHERE {where}") == [{"n": 3600}]
    assert duck.sql(f"SELECT count(*) FROM {there} WHERE {where}").fetchone() == (3600,)
    filtered = pyiceberg_table(lake.folder("t")).scan(
        row_filter=f"time >= '{since.isoformat()}' and time < '{until.isoformat()}'")
    assert filtered.to_arrow().num_rows == 3600
    # What the page index is for: values after pages of nulls.
    assert lake.sql("SELECT count(*) AS n FROM t WHERE e = 'v'") == [{"n": ROWS - 6 * PAGE}]
    assert lake.sql(f"SELECT count(*) AS n FROM t WHERE l = {-2**63}") == [{"n": sum(r["l"] == -2**63 for r in wanted)}]
