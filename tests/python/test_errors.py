"""Exceptions: one hierarchy, the builtins that users expect, the core's own words. And logging."""

import logging

import pytest

from conftest import ROWS, SCHEMA

BASES = {
    "InvalidArgumentError": ValueError,
    "NotFoundError": KeyError,
    "AlreadyExistsError": FileExistsError,
    "ConflictError": RuntimeError,
    "CommitUnknownError": RuntimeError,
    "CorruptError": RuntimeError,
    "UnsupportedError": NotImplementedError,
    "StorageError": OSError,
    "CancelledError": RuntimeError,
    "InternalError": RuntimeError,
}


@pytest.mark.parametrize("name", BASES)
def test_hierarchy(timelake, name):
    cls = getattr(timelake, name)
    assert issubclass(cls, timelake.TimelakeError) and issubclass(cls, BASES[name])
    assert issubclass(cls, RuntimeError)
    assert str(cls("what 'is' wrong")) == "what 'is' wrong"
    assert cls.__module__ == "timelake" and cls.__doc__ and cls.kind


def test_kinds_are_those_of_the_core(timelake, tmp_path):
    import pathlib
    import re

    source = pathlib.Path(__file__).resolve().parents[2] / "src/base/error.cc"
    kinds = set(re.findall(r'case ErrorKind::\w+: return "([^"]+)"', source.read_text()))
    assert kinds == {getattr(timelake, name).kind for name in BASES}


def test_messages_are_the_cores(lake, table):
    with pytest.raises(KeyError) as caught:
        lake.table("redings")
    assert str(caught.value) == (
        f"table default.redings does not exist in {lake.location}; did you mean default.readings?"
    )
    with pytest.raises(ValueError, match='Referenced column "nope" not found'):
        lake.sql("SELECT nope FROM readings")
    with pytest.raises(ValueError, match="Did you mean"):
        lake.sql("SELECT * FROM redings")
    with pytest.raises(ValueError, match="2 statements where one is expected"):
        lake.sql("SELECT 1; SELECT 2")
    with pytest.raises(ValueError, match="no statement"):
        lake.sql("  ")
    with pytest.raises(ValueError, match="division|Overflow|overflow|out of range"):
        lake.sql("SELECT 9223372036854775807::BIGINT + i FROM range(2) r(i)").fetch_all()


def test_query_errors_are_runtime_errors_too(lake):
    with pytest.raises(RuntimeError):
        lake.sql("SELEC")


def test_an_error_in_the_middle_of_a_stream(lake):
    query = "SELECT CASE WHEN i = 300000 THEN error('boom') ELSE i::VARCHAR END AS x FROM range(400000) r(i)"
    with pytest.raises(ValueError, match="boom"):
        lake.sql(query).fetch_all()
    with pytest.raises(ValueError, match="boom"):
        for _ in lake.sql(query).fetch_batches():
            pass
    import pyarrow as pa

    with pytest.raises(pa.ArrowInvalid, match="boom"):
        pa.table(lake.sql(query))
    assert lake.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_unreadable_warehouse(timelake, tmp_path):
    file = tmp_path / "file"
    file.write_text("not a folder")
    with pytest.raises(ValueError, match="is a file, not a folder"):
        timelake.Lake(file)
    with pytest.raises(OSError, match="sub"):
        timelake.Lake(file / "sub").create_table("t", SCHEMA)


@pytest.mark.damaged
def test_corrupt_metadata(timelake, lake, table):
    import pathlib

    for path in pathlib.Path(lake.location.removeprefix("file://")).rglob("v*.metadata.json"):
        path.write_text("{}")
    with pytest.raises(timelake.CorruptError, match="metadata.json"):
        timelake.Lake(lake.location).table("readings")


def test_conflict(timelake, lake, table, monkeypatch):
    """No time to try again: another writer's commit is a conflict."""
    import threading

    conflicts = []
    hurried = timelake.Lake(lake.location, settings={"commit-timeout": "1ms"})

    def work(number):
        mine = hurried.table("readings")
        for i in range(12):
            try:
                mine.append([{"time": f"2026-01-{5 + i:02}", "device": f"d{number}", "v": i}])
            except timelake.ConflictError as error:
                conflicts.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = table.info()["rows"]
    assert rows == 4 + 72 - len(conflicts)


def test_errors_can_be_pickled(timelake):
    import pickle

    error = pickle.loads(pickle.dumps(timelake.NotFoundError("no table")))
    assert type(error) is timelake.NotFoundError and str(error) == "no table"


@pytest.mark.damaged
def test_logging(timelake, lake, table, caplog):
    import pathlib

    root = pathlib.Path(lake.location.removeprefix("file://"))
    for path in root.rglob("lvi-*.parquet"):
        path.unlink()
    with caplog.at_level(logging.DEBUG, logger="timelake"):
        timelake.Lake(lake.location).latest("readings")
    lines = [record for record in caplog.records if record.name == "timelake"]
    assert any("scan" in record.getMessage() for record in lines)
    assert {record.levelno for record in lines} <= {logging.DEBUG, logging.INFO, logging.WARNING}


@pytest.mark.damaged
def test_silent_without_logging(python, tmp_path):
    code = """
        import pathlib, timelake
        lake = timelake.Lake("wh")
        t = lake.create_table("t", "time:timestamptz, d:string", time_column="time", series_key=["d"])
        t.append({"time": ["2026-01-03"], "d": ["a"]})
        for path in pathlib.Path("wh").rglob("lvi-*"): path.unlink()
        timelake.Lake("wh").latest("t")
    """
    process = python(code, cwd=tmp_path, check=False)
    assert process.returncode == 0 and process.stdout == "" and process.stderr == ""


@pytest.mark.damaged
def test_a_log_handler_may_raise(python, tmp_path):
    code = """
        import logging, pathlib, timelake
        class Bad(logging.Handler):
            def emit(self, record): raise RuntimeError("handler")
        logging.getLogger("timelake").addHandler(Bad())
        logging.getLogger("timelake").setLevel(logging.DEBUG)
        lake = timelake.Lake("wh")
        t = lake.create_table("t", "time:timestamptz, d:string", time_column="time", series_key=["d"])
        t.append({"time": ["2026-01-03"], "d": ["a"]})
        for path in pathlib.Path("wh").rglob("lvi-*"): path.unlink()
        print(timelake.Lake("wh").latest("t").num_rows)
    """
    assert python(code, cwd=tmp_path) == "1\n"


def test_rows(table):
    assert table.append(ROWS)["rows"] == 4
