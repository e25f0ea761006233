"""Results: streaming, fetching, falling through to a pyarrow.Table, showing, plotting."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

LARGE = "SELECT i, i * 0.5 AS v, 'text ' || i AS s FROM range({n}) r(i)"


def large(lake, n=400_000):
    return lake.sql(LARGE.format(n=n))


def test_fetching(lake):
    for n in (0, 3, 400_000):
        result = large(lake, n)
        assert result.column_names == ["i", "v", "s"]
        table = result.fetch_all()
        assert isinstance(table, pa.Table) and table.num_rows == n
        assert result.fetch_all() is table and result.arrow() is table
        assert sum(batch.num_rows for batch in result.fetch_batches()) == n
        assert len(result) == n


def test_batches(lake):
    batches = large(lake).fetch_batches()
    first = next(batches)
    assert isinstance(first, pa.RecordBatch) and 0 < first.num_rows < 100_000
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 400_000


def test_frames(lake):
    frame = large(lake, 10).to_pandas()
    assert isinstance(frame, pd.DataFrame) and frame.i.sum() == 45
    assert large(lake, 10).to_pandas(types_mapper=pd.ArrowDtype).dtypes.i == pd.ArrowDtype(
        pa.int64()
    )
    assert large(lake, 10).to_polars()["i"].sum() == 45


def test_it_is_a_stream_for_others(lake):
    assert pa.table(large(lake)).num_rows == 400_000
    assert pa.RecordBatchReader.from_stream(large(lake)).read_all().num_rows == 400_000
    assert pl.DataFrame(large(lake)).height == 400_000
    assert pd.DataFrame.from_arrow(large(lake)).shape == (400_000, 3)
    result = large(lake)
    assert duckdb.sql("SELECT sum(i) AS n FROM result").fetchall() == [(79999800000,)]


def test_fetched_it_is_read_as_often_as_wanted(lake):
    result = large(lake, 10)
    result.fetch_all()
    for _ in range(2):
        assert pl.DataFrame(result).height == 10
        assert duckdb.sql("SELECT count(*) FROM result").fetchall() == [(10,)]
        assert result.to_pandas().shape == (10, 3)


@pytest.mark.parametrize("n", [10, 400_000])
def test_a_stream_is_read_once(lake, n):
    result = large(lake, n)
    assert pa.table(result).num_rows == n
    with pytest.raises(ValueError, match="read before.*fetch_all"):
        result.fetch_all()
    with pytest.raises(ValueError, match="read before"):
        result.fetch_batches()
    with pytest.raises(pa.ArrowInvalid, match="read before"):
        pa.table(result)
    assert "read" in repr(result) and "i: int64" in repr(result)
    result = large(lake, n)
    next(result.fetch_batches())
    with pytest.raises(ValueError, match="read before"):
        len(result)


def test_no_copy_on_the_way_out(lake):
    """The engine's buffers become the table's: 64 MB of rows are 64 MB of memory."""
    query = "SELECT i, i * 2 AS j FROM range(4000000) r(i)"
    before = pa.total_allocated_bytes()
    table = lake.sql(query).fetch_all()
    assert table.nbytes >= 64_000_000
    assert pa.total_allocated_bytes() - before < table.nbytes * 1.05
    before = pa.total_allocated_bytes()
    other = pa.table(lake.sql(query))
    assert other.num_rows == table.num_rows
    assert pa.total_allocated_bytes() - before < table.nbytes * 1.05


def test_looking_at_the_schema_reads_nothing(lake):
    result = large(lake)
    reader = pa.RecordBatchReader.from_stream(result)
    assert reader.schema.names == ["i", "v", "s"]
    assert pa.schema(result) == result.schema == reader.schema
    del reader
    assert len(result) == 400_000


def test_it_behaves_like_the_table(lake):
    result = large(lake, 3)
    assert result.num_rows == 3 and result.num_columns == 3 and result.shape == (3, 3)
    assert (
        result.column("i").to_pylist()
        == [0, 1, 2]
        == result["i"].to_pylist()
        == result[0].to_pylist()
    )
    assert result.to_pydict()["v"] == [0.0, 0.5, 1.0]
    assert result.slice(1).num_rows == 2
    assert (
        result == result.fetch_all() and result == large(lake, 3) and not result == large(lake, 2)
    )
    assert "to_pylist" in dir(result) and "fetch_batches" in dir(result)
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        result.nothing_of_that_name
    with pytest.raises(TypeError):
        hash(result)


def test_asking_for_what_it_has_not_fetches_nothing(lake):
    result = large(lake)
    assert not hasattr(result, "_repr_mimebundle_") and not hasattr(result, "nope")
    assert not result._stream.claimed
    result.close()


def test_closing(lake):
    with large(lake) as result:
        assert result.schema.names == ["i", "v", "s"]
    with pytest.raises(ValueError, match="read before"):
        result.fetch_all()
    result.close()
    with large(lake) as result:
        table = result.fetch_all()
    assert result.fetch_all() is table
    batches = large(lake).fetch_batches()
    next(batches)
    batches.close()


def test_many_open_results(lake):
    results = [large(lake) for _ in range(12)]
    assert [next(result.fetch_batches()).num_rows > 0 for result in results] == [True] * 12
    results = [large(lake, 5) for _ in range(200)]
    assert all(len(result) == 5 for result in results)


def test_a_result_outlives_its_lake(timelake, tmp_path):
    lake = timelake.Lake(tmp_path)
    result = large(lake)
    lake.close()
    del lake
    assert len(result) == 400_000


def test_one_open_result_for_a_session(lake):
    with lake.session() as session:
        result = session.sql(LARGE.format(n=2_000_000))
        with pytest.raises(ValueError, match="still open"):
            session.sql("SELECT 1")
        result.close()
        assert session.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_text_as_dictionaries(lake):
    query = "SELECT 'host_' || (i % 5) AS host, i, ['a'] AS l FROM range(100000) t(i)"
    plain = lake.sql(query).arrow()
    assert plain.schema.field("host").type == pa.string()
    expected = pa.dictionary(pa.int32(), pa.string())
    with lake.session(dictionaries=True) as session:
        for result in (lake.sql(query, dictionaries=True), session.sql(query)):
            table = result.arrow()
            assert [field.type for field in table.schema][:2] == [expected, pa.int64()]
            assert table.column("host").cast(pa.string()).to_pylist() == plain["host"].to_pylist()
            assert all(len(chunk.dictionary) == 5 for chunk in table["host"].chunks)
    assert lake.sql(query).schema == plain.schema  # another session than the ones before


def test_repr(lake):
    text = repr(
        lake.sql(
            "SELECT 1 AS n, 'x' AS s, NULL AS nothing, DATE '2026-01-03' AS d, 0.1::DOUBLE AS f"
        )
    )
    lines = text.splitlines()
    assert lines[0] == "<timelake.Result: 1 row, 5 columns>"
    assert lines[1].split() == ["n", "s", "nothing", "d", "f"]
    assert lines[3].split() == ["1", "x", "NULL", "2026-01-03", "0.1"]
    result = large(lake)
    assert repr(result).splitlines()[0] == "<timelake.Result: rows streaming, 3 columns>"
    assert repr(result).endswith("...") and len(repr(result).splitlines()) == 14
    assert len(result) == 400_000  # showing it has not read it
    assert repr(result).splitlines()[0] == "<timelake.Result: 400,000 rows, 3 columns>"
    long_cell = repr(lake.sql("SELECT repeat('x', 100) AS s, E'a\\nb' AS t"))
    assert "xxx..." in long_cell and "a\\nb" in long_cell


def test_html(lake):
    html = lake.sql("SELECT '<script>' AS \"<b>\"")._repr_html_()
    assert "&lt;script&gt;" in html and "&lt;b&gt;" in html and "<script>" not in html
    assert large(lake)._repr_html_().count("<tr>") == 22


def test_types(lake):
    result = lake.sql(
        "SELECT TIMESTAMPTZ '2026-01-03 00:00:00+00' AS t, [1, 2] AS l, {'x': 1} AS s, "
        "1.5::DECIMAL(5,2) AS d, 'a'::BLOB AS b"
    )
    assert [str(t) for t in result.schema.types] == [
        "timestamp[us, tz=UTC]",
        "list<l: int32>",
        "struct<x: int32>",
        "decimal128(5, 2)",
        "binary",
    ]
    with pytest.raises(NotImplementedError, match="cast it"):
        lake.sql("SELECT '101'::BIT AS x")


def test_plot(lake, table, timelake):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    axes = lake.sql("FROM readings").plot(by="device")
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert list(axes.lines[0].get_ydata()) == [1.5, 3.5]
    assert axes.get_xlabel() == "time" and axes.get_ylabel() == "v"
    result = large(lake, 100_000)
    axes = result.plot("i", ["v"], points=100)
    (line,) = axes.lines
    assert (
        len(line.get_xdata()) <= 100
        and max(line.get_ydata()) == 49999.5
        and min(line.get_ydata()) == 0
    )
    assert len(result.plot("i", "v", points=0).lines[0].get_xdata()) == 100_000
    figure, mine = plt.subplots()
    assert lake.sql("SELECT 1 AS x, 2 AS y").plot("x", "y", ax=mine, color="red") is mine
    assert mine.lines[0].get_color() == "red"
    with pytest.raises(ValueError, match="no column 'nope'; there are time, device, v"):
        lake.sql("FROM readings").plot(y="nope")
    with pytest.raises(ValueError, match="no timestamp"):
        lake.sql("SELECT 1 AS x").plot()
    with pytest.raises(ValueError, match="no number column"):
        lake.sql("SELECT now() AS t").plot()
    plt.close("all")


def test_thinning_keeps_peaks_and_gaps():
    import numpy as np

    from timelake._plot import thin

    x = np.arange(10_000.0)
    y = np.zeros(10_000)
    y[7_123] = 9
    y[2_000:5_000] = np.nan
    kept = thin(x, y, 100)
    assert len(kept) == 100 and 7_123 in kept and list(kept) == sorted(set(kept))
    assert kept[0] == 0 and kept[-1] == 9_999
    assert np.isnan(y[kept]).any()
    assert list(thin(x[:50], y[:50], 100)) == list(range(50))
    assert list(thin(x, y, 0)) == list(range(10_000))
    assert len(thin(x, np.full(10_000, np.nan), 100)) == 100
    wave = np.sin(x / 200)
    assert np.abs(np.interp(x, x[thin(x, wave, 500)], wave[thin(x, wave, 500)]) - wave).max() < 0.01


def test_plots_of_dates_and_texts(lake):
    import matplotlib.pyplot as plt

    days = lake.sql("SELECT DATE '2026-01-01' + i::INT AS d, i AS v FROM range(50) r(i)")
    assert len(days.plot(points=10).lines[0].get_xdata()) == 10
    names = lake.sql("SELECT 'n' || i AS name, i AS v FROM range(5) r(i)").plot("name", "v")
    assert len(names.lines[0].get_xdata()) == 5
    assert len(lake.sql("SELECT now() AS t, 1 AS v WHERE false").plot().lines) == 1
    plt.close("all")
