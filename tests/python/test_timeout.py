"""A statement timeout stops a query within 100 ms, wherever it is."""

import time

import pytest

ENDLESS = {
    "cross product": "SELECT sum(a.i * b.i) FROM range(3000000) a(i), range(3000000) b(i)",
    "sort": "SELECT max(x) FROM (SELECT lag(h) OVER (ORDER BY h) AS x FROM (SELECT hash(i) AS h FROM range(60000000) r(i)))",
    "rows": "SELECT i FROM range(9000000000) r(i) WHERE i % 1000000 = 0",
    "scan": "SELECT count(*) FROM t a JOIN t b ON a.v + b.v < 3 AND a.device <> b.device",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_timeout_stops(kind, lake, timelake):
    table = lake.create_table(
        "t", "time:timestamptz, device:string, v:double", time_column="time", series_key=["device"]
    )
    lake.sql("INSERT INTO t SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(i), 'd' || (i % 100), i FROM range(300000) r(i)")
    assert len(table.snapshots()) == 1
    late = []
    with lake.session() as session:
        session.sql("SET timelake_statement_timeout = '300ms'")
        for _ in range(3):
            start = time.perf_counter()
            with pytest.raises(timelake.CancelledError, match="took longer than") as error:
                session.sql(ENDLESS[kind]).fetch_all()
            late.append((time.perf_counter() - start) * 1000 - 300)
            assert "300ms" in str(error.value)
        assert session.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 300000}]
    assert min(late) > -1
    assert min(late) < 100, f"{late} ms"
