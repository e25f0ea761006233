"""Writer processes and a maintainer on one table (tests/concurrency.py)."""

import os
import sys

import concurrency
import pytest


def check(timelake, warehouse, options, writers, appends):
    lake = timelake.Lake(warehouse, storage_options=options)
    lake.create_table(
        "t", "time:timestamptz, writer:string, id:long", time_column="time", series_key=["writer"],
        dedup=False,
    )  # fmt: skip

    def ids():
        fresh = timelake.Lake(warehouse, storage_options=options)
        return [row["id"] for row in fresh.sql("SELECT id FROM t").to_pylist()]

    report = concurrency.run(
        sys.executable, dict(os.environ, TZ="UTC"), "ours", str(warehouse), options, ids,
        writers=writers, appends=appends,
    )  # fmt: skip
    assert (report.lost, report.doubled, report.uncalled) == (0, 0, 0), report
    assert report.acknowledged == report.sent, report  # no ConflictError under the default budget
    assert report.maintained["rounds"] > 0 and report.maintained["failures"] == 0, report
    assert timelake.Lake(warehouse, storage_options=options).table("t").verify()["findings"] == []
    return report


def test_a_few_writers(timelake, tmp_path):
    check(timelake, tmp_path / "wh", {}, writers=4, appends=10)


def test_a_few_writers_in_a_bucket(timelake, s3_server):
    check(timelake, f"s3://{s3_server.bucket()}/wh", s3_server.options, writers=4, appends=10)


@pytest.mark.long
def test_twenty_four_writers(timelake, tmp_path):
    check(timelake, tmp_path / "wh", {}, writers=24, appends=50)


@pytest.mark.long
def test_twenty_four_writers_in_a_bucket(timelake, s3_server):
    check(timelake, f"s3://{s3_server.bucket()}/wh", s3_server.options, writers=24, appends=50)
