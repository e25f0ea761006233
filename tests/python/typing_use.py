"""A user's program as type checkers see it: checked by mypy and pyright, never run."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Iterator
from typing import Any, assert_type

import timelake


def told(progress: timelake.Progress) -> None:
    assert_type(progress.rows, int)
    assert_type(progress.total_rows, int | None)


def rows() -> Iterator[dict[str, object]]:
    yield {"time": datetime.datetime.now(datetime.UTC), "device": "a"}


def synchronous() -> None:
    with timelake.Lake(pathlib.Path("wh"), settings={"commit-timeout": "10s"}) as lake:
        assert_type(lake, timelake.Lake)
        table = lake.create_table(
            "t", {"time": "timestamptz", "v": "double"}, time_column="time", series_key=["device"]
        )
        assert_type(table, timelake.Table)
        report = table.append(rows(), batch_id="x", progress=told)
        assert_type(report, timelake.AppendReport)
        assert_type(report["rows"], int)
        assert_type(report["snapshot_id"], int | None)
        assert_type(table.append({"time": ["2026-01-03"], "v": [1.0]})["duplicate"], bool)
        assert_type(table.import_files([pathlib.Path("a.csv"), "b.csv"])["commits"], int)
        assert_type(table.info()["time_column"], str | None)
        assert_type(table.snapshots()[0]["summary"], dict[str, str])
        result = lake.sql("SELECT $a", {"a": [1, 2.5, None]}, namespace="n")
        assert_type(result, timelake.Result)
        assert_type(len(lake.sql("SELECT ?", [datetime.date.today()])), int)
        assert_type(result.column_names, list[str])
        anything: Any = result.num_rows  # falls through to the table
        assert anything is not None
        assert_type(table.scan(["v"], "v > 1", start="2026-01-03"), timelake.Result)
        assert_type(lake.tables(), list[str])
        table.set_properties({"max-future": None, "min-snapshots": 5})
        table.alter(drop="x", rename={"a": "b"}, widen={"n": "long"}, add={"p": "double"}, after="b")
        table.rollback(5)
        try:
            lake.table("nope")
        except timelake.NotFoundError as error:
            assert_type(error.kind, str)


async def asynchronous() -> None:
    async with timelake.AsyncLake("wh") as lake:
        table = await lake.table("t")
        assert_type(table, timelake.AsyncTable)
        assert_type(await table.append(rows()), timelake.AppendReport)
        result = await lake.sql("SELECT 1")
        assert_type(result, timelake.AsyncResult)
        async for batch in result.fetch_batches():
            assert batch.num_rows >= 0
