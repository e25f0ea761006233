"""The TSBS files imported: counts, sums and latest rows equal DuckDB's over the source files."""

import json

import duckdb
import pytest

from conftest import DATA

FILES = {
    "tsbs_cpu.parquet": None,
    "tsbs_iot_readings.parquet": None,
    "tsbs_iot_diagnostics.parquet": None,
}


def numeric(columns):
    return [name for name, kind in columns
            if kind.split("(")[0] in ("DOUBLE", "FLOAT", "BIGINT", "INTEGER", "SMALLINT", "DECIMAL", "UBIGINT", "UINTEGER")]


@pytest.mark.parametrize("file", FILES)
def test_equals_duckdb(lake, file):
    path = DATA / file
    if not path.exists():
        pytest.skip(f"{path} is not here")
    source = duckdb.connect()
    columns = [(r[0], r[1]) for r in source.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()]
    names = [name for name, _ in columns]
    time = "time" if "time" in names else next(n for n, kind in columns if kind.startswith("TIMESTAMP"))
    key = next(n for n in ("hostname", "name") if n in names)
    report = json.loads(lake.run("import", "t", path, "--time-column", time, "--series-key", key, "--json").stdout)

    # The last of equal (series, time) wins within one append.
    dedup = (f"(SELECT * EXCLUDE (rn) FROM (SELECT *, row_number() OVER (PARTITION BY {key}, {time} "
             f"ORDER BY file_row_number DESC) AS rn FROM read_parquet('{path}', file_row_number=true)) WHERE rn = 1)")
    count = source.execute(f"SELECT count(*) FROM {dedup}").fetchone()[0]
    assert report["rows"] == count
    assert lake.sql("SELECT count(*) AS n FROM t") == [{"n": count}]
    for name in numeric(columns):
        want = source.execute(f'SELECT count("{name}"), sum("{name}"::DOUBLE) FROM {dedup}').fetchone()
        got = lake.sql(f'SELECT count("{name}") AS c, sum("{name}"::DOUBLE) AS s FROM t')[0]
        assert got["c"] == want[0], name
        assert got["s"] == pytest.approx(want[1], rel=1e-9), name
    newest = source.execute(f"SELECT {key}, epoch_us({time}) FROM (SELECT {key}, max({time}) AS {time} FROM {dedup} GROUP BY {key}) "
                            f"ORDER BY {key} NULLS FIRST").fetchall()
    rows = lake.sql(f"SELECT {key} AS k, max(epoch_us({time})) AS t FROM t GROUP BY {key} ORDER BY {key} NULLS FIRST")
    assert [(r["k"], r["t"]) for r in rows] == newest
    latest = json.loads(lake.run("latest", "t", "--format", "json").stdout)
    assert len(latest) == len(newest)
    assert [r[key] for r in latest] == [k for k, _ in newest]
