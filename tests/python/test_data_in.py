"""Everything that append takes."""

import datetime
import decimal

import duckdb
import nanoarrow
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from conftest import ROWS, SCHEMA

UTC = datetime.UTC
TIMES = [datetime.datetime(2026, 1, 3, 0, i, tzinfo=UTC) for i in range(3)]
ARROW = pa.table(
    {
        "time": pa.array(TIMES, pa.timestamp("us", "UTC")),
        "device": ["a", "b", "a"],
        "v": [1.0, 2.0, None],
    }
)
EXPECTED = [("a", 1.0), ("b", 2.0), ("a", None)]


def relation():
    connection = duckdb.connect()
    connection.register("rows", ARROW)
    return connection.sql("SELECT * FROM rows ORDER BY time")


def frame():
    return pd.DataFrame({"time": TIMES, "device": ["a", "b", "a"], "v": [1.0, 2.0, None]})


def generator_of(*chunks):
    yield from chunks


PLAIN = {"time": TIMES, "device": ["a", "b", "a"], "v": [1, 2, None]}
RECORDS = [dict(zip(PLAIN, row, strict=True)) for row in zip(*PLAIN.values(), strict=True)]

INPUTS = {
    "table": lambda: ARROW,
    "batch": lambda: ARROW.to_batches()[0],
    "reader": lambda: ARROW.to_reader(),
    "chunks": lambda: pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1)]),
    "dictionary": lambda: ARROW.set_column(1, "device", ARROW["device"].dictionary_encode()),
    "views": lambda: ARROW.set_column(1, "device", ARROW["device"].cast(pa.string_view())),
    "large": lambda: ARROW.set_column(1, "device", ARROW["device"].cast(pa.large_string())),
    "nanoseconds": lambda: ARROW.set_column(0, "time", ARROW["time"].cast(pa.timestamp("ns"))),
    "polars": lambda: pl.from_arrow(ARROW),
    "pandas": frame,
    "pandas arrow": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas index": lambda: frame().set_index("time"),
    "pandas filtered": lambda: frame()[frame().device != "zzz"].iloc[[0, 1, 2]],
    "duckdb": relation,
    "nanoarrow": lambda: nanoarrow.ArrayStream(ARROW),
    "nanoarrow array": lambda: nanoarrow.c_array(ARROW.to_batches()[0]),
    "dict": lambda: PLAIN,
    "dict of numpy": lambda: {**PLAIN, "v": np.array([1.0, 2.0, np.nan])},
    "dict of series": lambda: {k: pd.Series(v) for k, v in PLAIN.items()},
    "dict of arrow": lambda: {name: ARROW[name] for name in ARROW.column_names},
    "dict of text": lambda: {**PLAIN, "time": [t.isoformat() for t in TIMES]},
    "dict of generators": lambda: {k: (x for x in v) for k, v in PLAIN.items()},
    "records": lambda: RECORDS,
    "records with holes": lambda: [*RECORDS[:2], {"device": "a", "time": TIMES[2]}],
    "generator of tables": lambda: generator_of(ARROW.slice(0, 1), ARROW.slice(1)),
    "generator of batches": lambda: generator_of(*ARROW.to_batches(max_chunksize=1)),
    "generator of frames": lambda: generator_of(frame().iloc[:1], frame().iloc[1:]),
    "generator of polars": lambda: generator_of(pl.from_arrow(ARROW)[:2], pl.from_arrow(ARROW)[2:]),
    "generator of dicts of lists": lambda: generator_of(
        {k: v[:2] for k, v in PLAIN.items()}, {k: v[2:] for k, v in PLAIN.items()}
    ),
    "generator of lists": lambda: generator_of(RECORDS[:1], RECORDS[1:]),
    "generator of records": lambda: generator_of(*RECORDS),
    "list of tables": lambda: [ARROW.slice(0, 1), ARROW.slice(1)],
    "map": lambda: map(lambda row: row, RECORDS),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_append_takes(kind, empty):
    report = empty.append(INPUTS[kind]())
    assert report["rows"] == 3
    rows = empty.scan(["time", "device", "v"]).fetch_all().sort_by("time")
    assert rows["time"].to_pylist() == TIMES
    if kind == "dict of numpy":  # NaN is a value, not NULL
        assert np.isnan(rows["v"][2].as_py())
    else:
        assert list(zip(rows["device"].to_pylist(), rows["v"].to_pylist(), strict=True)) == EXPECTED


def test_a_result_can_be_appended(lake, table):
    other = lake.create_table("other", SCHEMA, time_column="time", series_key=["device"])
    assert other.append(lake.sql("FROM readings"))["rows"] == 4
    assert other.append(table.scan(start="2026-01-04"))["rows"] == 2
    assert other.append(lake.latest("readings"))["rows"] == 2
    assert other.append(lake.sql("FROM readings").fetch_batches())["rows"] == 4
    assert other.append(row for row in lake.sql("FROM readings").to_pylist())["rows"] == 4


@pytest.mark.parametrize("nothing", [[], {}, ARROW.slice(0, 0), iter([]), pd.DataFrame()], ids=type)
def test_nothing_appends_nothing(nothing, empty):
    if isinstance(nothing, (dict, pd.DataFrame)):
        with pytest.raises(ValueError, match="time"):
            empty.append(nothing)
        return
    report = empty.append(nothing)
    assert report["rows"] == 0 and report["attempts"] == 0 and report["snapshot_id"] is None


@pytest.mark.parametrize(
    "wrong", [None, 5, "rows.csv", b"x", object(), [1, 2], [[1], [2]], iter([5])], ids=repr
)
def test_no_table_data(wrong, empty):
    with pytest.raises(TypeError, match="append: "):
        empty.append(wrong)
    assert empty.version == 1


def test_wrong_python_values(empty):
    with pytest.raises(TypeError, match="column 'v' is a float, wanted a list"):
        empty.append({"time": TIMES, "device": ["a"] * 3, "v": 1.0})
    with pytest.raises(
        ValueError, match="different lengths: 'time' has 3, 'device' has 3, 'v' has 1"
    ):
        empty.append({"time": TIMES, "device": ["a"] * 3, "v": [1.0]})
    with pytest.raises(ValueError, match=r"v.*oops|oops.*v"):
        empty.append({**PLAIN, "v": ["1", "oops", "2"]})
    with pytest.raises(ValueError, match="column 'v'"):
        empty.append({**PLAIN, "v": [1, "x", object()]})
    with pytest.raises(TypeError, match="row 1 is a int"):
        empty.append([RECORDS[0], 5])
    with pytest.raises(TypeError, match="column name 5"):
        empty.append({5: [1]})
    assert empty.version == 1


def test_the_core_says_what_does_not_fit(empty):
    with pytest.raises(ValueError, match="nope"):
        empty.append({**PLAIN, "nope": [1, 2, 3]})
    with pytest.raises(ValueError, match="device"):
        empty.append({"time": TIMES, "v": [1, 2, 3]})
    with pytest.raises(ValueError, match="time"):
        empty.append({**PLAIN, "time": [TIMES[0], None, TIMES[2]]})
    assert empty.version == 1


def test_typed_values(lake):
    table = lake.create_table(
        "t", "d:decimal(9,2), i:int, b:binary, day:date, tags:list<string>, s:struct<x:long>"
    )
    table.append(
        [
            {
                "d": decimal.Decimal("1.5"),
                "i": 7,
                "b": b"\x00",
                "day": datetime.date(2026, 1, 3),
                "tags": ["x"],
                "s": {"x": 1},
            }
        ]
    )
    assert table.scan().to_pylist() == [
        {
            "d": decimal.Decimal("1.50"),
            "i": 7,
            "b": b"\x00",
            "day": datetime.date(2026, 1, 3),
            "tags": ["x"],
            "s": {"x": 1},
        }
    ]
    with pytest.raises(ValueError, match=r"1\.7"):
        table.append([{"i": 1.7}])
    with pytest.raises(ValueError, match="3000000000"):
        table.append([{"i": 3_000_000_000}])


def test_maps_and_columns_of_nothing(lake):
    table = lake.create_table("t", "m:map<string,long>, l:list<long>, n:double")
    table.append([{"m": {"a": 1}, "l": [1], "n": None}, {"m": None, "l": None}])
    table.append({"m": [[("b", 2)]], "l": [[]], "n": [None]})
    rows = table.scan().to_pylist()
    assert sorted(map(str, (row["m"] for row in rows))) == ["None", "[('a', 1)]", "[('b', 2)]"]


def test_nothing_is_lost_silently(empty):
    with pytest.raises(ValueError, match="time"):  # seconds? microseconds? nobody knows
        empty.append({"time": [1_767_398_400], "device": ["a"], "v": [1]})
    with pytest.raises(ValueError, match="device"):
        empty.append({"time": TIMES[:1], "device": [7], "v": [1]})
    with pytest.raises(ValueError, match="v"):
        empty.append({"time": TIMES[:1], "device": ["a"], "v": [2**53 + 1]})


def test_what_a_generator_raises_arrives(empty):
    class Mine(Exception):
        pass

    def failing():
        yield ARROW.to_batches()[0]
        raise Mine("disk on fire")

    for source in (failing(), pa.RecordBatchReader.from_batches(ARROW.schema, failing())):
        with pytest.raises(Mine, match="disk on fire"):
            empty.append(source)
    assert empty.version == 1


def test_batches_of_different_columns(empty):
    with pytest.raises(ValueError, match="the first one had"):
        empty.append(iter([ARROW, ARROW.drop_columns(["v"])]))
    assert empty.append(iter([ARROW, ARROW.select(["v", "time", "device"])]))["rows"] == 3


def test_chunks_of_different_numbers(lake):
    table = lake.create_table("t", "n:int, x:double, d:decimal(9,2)")
    d = decimal.Decimal
    table.append(
        iter([{"n": [1], "x": [1], "d": [d("1")]}, {"n": [2], "x": [2.5], "d": [d("2.25")]}])
    )
    assert sorted(table.scan(["x"])["x"].to_pylist()) == [1.0, 2.5]
    with pytest.raises(ValueError, match=r"column 'n': Float value 2\.50* was truncated"):
        table.append(iter([{"n": [1]}, {"n": [2.5]}]))


def test_a_generator_runs_on_the_calling_thread(empty):
    import threading

    seen = set()

    def rows():
        for row in RECORDS:
            seen.add(threading.get_ident())
            yield row

    empty.append(rows())
    assert seen == {threading.get_ident()}


def test_capsules_are_used_once(empty):
    class Twice:
        def __init__(self):
            self.capsule = ARROW.__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.capsule

    data = Twice()
    empty.append(data)
    with pytest.raises(ValueError, match="used before"):
        empty.append(data)


def test_no_copy_on_the_way_in(lake, timelake):
    """A plain table of one batch, looked at in memory: 64 MB more data cost no second 64 MB at import."""
    from timelake import _data

    array = pa.array(np.zeros(8_000_000))
    table = pa.table({"v": array})
    before = pa.total_allocated_bytes()
    source = _data.to_source(table, lambda: None)
    assert pa.total_allocated_bytes() - before < 1_000_000
    del source


def test_rows_constant(empty):
    assert empty.append(ROWS)["rows"] == 4
