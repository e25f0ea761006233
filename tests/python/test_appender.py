"""Many small writes in few commits."""

import threading

import pyarrow as pa
import pytest

from conftest import run_python

START = 1_767_398_400_000_000


def row(i, device="a"):
    return {"time": pa.array([START + i * 1_000_000]).cast(pa.timestamp("us", "UTC")), "device": [device], "v": [float(i)]}


@pytest.fixture
def numbers(lake):
    return lake.create_table("numbers", "time:timestamptz, device:string, v:double", time_column="time",
                             series_key=["device"], properties={"auto-maintain": False})


def count(lake):
    return lake.sql("SELECT count(*) AS n FROM numbers").to_pylist()[0]["n"]


def test_few_commits(lake, numbers):
    with numbers.appender(flush_rows=100, flush_interval=3600) as appender:
        for i in range(1000):
            assert appender.append(row(i)) == i + 1
        stats = appender.flush()
    assert stats["rows"] == 1000 and 3 <= stats["commits"] <= 11
    assert stats["version"] == numbers.version
    assert count(lake) == 1000


def test_a_write_can_be_waited_for(timelake, lake, numbers):
    with numbers.appender(flush_interval=0.01) as appender:
        appender.wait(appender.append(row(1)))
        assert count(timelake.Lake(lake.location)) == 1


def test_the_end_of_the_block_commits_also_after_an_error(lake, numbers):
    with pytest.raises(ZeroDivisionError), numbers.appender(flush_interval=3600) as appender:
        appender.append(row(1))
        1 / 0
    assert count(lake) == 1


def test_a_bad_write_is_refused_alone(timelake, lake, numbers):
    with numbers.appender() as appender:
        appender.append(row(1))
        with pytest.raises(timelake.InvalidArgumentError, match='column "v"'):
            appender.append({"time": ["2026-01-03T00:00:00Z"], "device": ["a"], "v": ["x"]})
        with pytest.raises(ValueError, match="nope"):
            appender.append({"nope": [1]})
        with pytest.raises(ZeroDivisionError):
            appender.append(row(1 // i) for i in (1, 0))
        appender.append(row(2))
    assert count(lake) == 2
    with pytest.raises(ValueError, match="closed"):
        appender.append(row(3))


def test_a_commit_that_fails(timelake, lake, numbers):
    appender = numbers.appender(flush_interval=3600)
    appender.append(row(1))
    lake.drop_table("numbers")
    with pytest.raises(timelake.TimelakeError):
        appender.flush()
    with pytest.raises(timelake.TimelakeError):
        appender.wait(1)
    assert appender.close()["rows"] == 0


def test_threads(lake, numbers):
    def write(device):
        for i in range(100):
            appender.append(row(i, device))

    with numbers.appender(flush_rows=50, flush_interval=0.005) as appender:
        threads = [threading.Thread(target=write, args=(f"d{t}",)) for t in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert count(lake) == 400


def test_bad_options(timelake, numbers):
    with pytest.raises(ValueError, match="flush rows 0"):
        numbers.appender(flush_rows=0)
    with pytest.raises(ValueError, match="on_future"):
        numbers.appender(on_future="maybe")


def test_a_write_ahead_file_keeps_what_was_taken(timelake, lake, numbers, tmp_path):
    """A process that ends without a flush: the next appender commits its rows, once, and the file goes."""
    ahead = tmp_path / "rows.ahead"
    code = f"""
        import os, timelake
        appender = timelake.Lake({str(lake.location)!r}).table("numbers").appender(
            flush_interval=3600, write_ahead={str(ahead)!r})
        for i in range(3):
            appender.append([{{"time": f"2026-01-03T00:00:0{{i}}Z", "device": "a", "v": float(i)}}])
        os._exit(7)
    """
    assert run_python(code, check=False).returncode == 7
    assert ahead.exists() and count(lake) == 0
    with numbers.appender(write_ahead=ahead) as appender:
        assert count(lake) == 3
        with pytest.raises(timelake.InvalidArgumentError, match="in use by another appender"):
            numbers.appender(write_ahead=ahead)
        stats = appender.flush()
        assert (stats["recovered"], stats["rows"]) == (3, 0)
    assert not ahead.exists()
    assert count(lake) == 3
