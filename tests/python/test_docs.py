"""Docstrings: every public name has one, and their examples run. help() is worth reading."""

import ast
import asyncio
import doctest
import importlib
import inspect
import pathlib
import pydoc
import re

import pytest

MODULES = (
    "__init__",
    "_aio",
    "_care",
    "_data",
    "_duckdb",
    "_errors",
    "_lake",
    "_progress",
    "_result",
    "_rollups",
    "_schemas",
    "_session",
    "_table",
    "_types",
)
ROWS = {
    "time": [
        "2026-01-03T00:00:00Z",
        "2026-01-03T00:01:00Z",
        "2026-01-04T00:00:00Z",
        "2026-01-04T00:01:00Z",
    ],
    "device": ["a", "b", "a", "b"],
    "v": [0.5, 7.0, 2.5, 2.0],
}


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        module = importlib.import_module("timelake" if name == "__init__" else f"timelake.{name}")
        for test in finder.find(module, module.__name__):
            if test.examples:
                yield test


@pytest.fixture
def world(timelake, tmp_path, monkeypatch):
    """What the examples take for granted: `lake`, `table`, a folder to write to."""
    monkeypatch.chdir(tmp_path)
    lake = timelake.Lake("warehouse")
    table = lake.create_table(
        "readings",
        "time:timestamptz, device:string, v:double",
        time_column="time",
        series_key=["device"],
    )
    table.append(ROWS)
    return {"timelake": timelake, "lake": lake, "table": table, "asyncio": asyncio}


@pytest.mark.parametrize(
    "example", list(examples()), ids=lambda test: test.name.removeprefix("timelake.")
)
def test_example(example, world):
    example.globs = dict(world)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    output = []
    runner.run(example, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks():
    """The Python examples of the pages."""
    for page in ("README.md", "docs/python.md"):
        for number, code in enumerate(
            re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
        ):
            yield pytest.param(code, id=f"{page}-{number}")


@pytest.mark.parametrize("code", list(blocks()))
def test_pages(code, timelake, tmp_path, monkeypatch):
    """Each block runs, with what the text around it takes for granted."""
    import duckdb
    import pandas
    import pyarrow as pa

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(duckdb, "connect", lambda connect=duckdb.connect: prepared(connect()))
    lake = timelake.Lake("warehouse")
    rows = {
        "time": pandas.to_datetime(["2026-01-03", "2026-01-04"], utc=True),
        "device": ["a", "b"],
        "v": [81.0, 90.5],
    }
    if "create_table" not in code:
        schema = "time:timestamptz, device:string, v:double"
        lake.create_table("readings", schema, time_column="time", series_key=["device"]).append(
            rows
        )
        lake.import_files(
            "weather", ROOT / "examples/data/nyc_weather.csv.gz", "time_hour", ["origin"], "month"
        )
    names = {"timelake": timelake, "lake": lake, "duckdb": duckdb, "frame": pandas.DataFrame(rows)}
    names["parts"] = [pa.table(rows), pa.table(rows)]
    names["table"] = lake.table("readings") if "create_table" not in code else None
    compiled = compile(code, "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(compiled, names)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def prepared(connection):
    connection.execute("CREATE TABLE my_table AS SELECT 'a' AS device")
    return connection


def members(cls):
    """What a class and those that it is made of have."""
    bases = [base for base in reversed(cls.__mro__) if base.__module__.startswith("timelake")]
    return {name: what for base in bases for name, what in vars(base).items()}


def public():
    import timelake

    for name in timelake.__all__:
        value = getattr(timelake, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        yield name, value
        if inspect.isclass(value) and value.__module__.startswith("timelake"):
            for member, what in members(value).items():
                if not member.startswith("_") and (
                    inspect.isfunction(what) or isinstance(what, property)
                ):
                    yield f"{name}.{member}", what


@pytest.mark.parametrize(("name", "value"), list(public()), ids=[name for name, _ in public()])
def test_has_a_docstring(name, value):
    text = inspect.getdoc(value)
    assert text and len(text) > 15 and text[0].isupper()
    assert text.split("\n")[0].rstrip().endswith((".", ":", "?")) or "\n" in text


@pytest.mark.parametrize("name", ["Lake", "Table", "Result", "Session"])
def test_every_method_has_an_example(timelake, name):
    cls = getattr(timelake, name)
    for member, what in members(cls).items():
        if not member.startswith("_") and (inspect.isfunction(what) or isinstance(what, property)):
            assert "Example:" in what.__doc__, f"{name}.{member}"


def test_help(timelake):
    text = pydoc.plain(pydoc.render_doc(timelake))
    for wanted in (
        "time-series lakehouse",
        "class Lake",
        "class Table",
        "class Result",
        "lake.sql(",
        "attach",
    ):
        assert wanted in text
