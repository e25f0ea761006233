"""Docstrings: every public name has one, and their examples run. help() is worth reading."""

import asyncio
import doctest
import importlib
import inspect
import pydoc

import pytest

MODULES = (
    "__init__",
    "_aio",
    "_data",
    "_duckdb",
    "_errors",
    "_lake",
    "_progress",
    "_result",
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


def public():
    import timelake

    for name in timelake.__all__:
        value = getattr(timelake, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        yield name, value
        if inspect.isclass(value) and value.__module__.startswith("timelake"):
            for member, what in vars(value).items():
                if not member.startswith("_") and (
                    inspect.isfunction(what) or isinstance(what, property)
                ):
                    yield f"{name}.{member}", what


@pytest.mark.parametrize(("name", "value"), list(public()), ids=[name for name, _ in public()])
def test_has_a_docstring(name, value):
    text = inspect.getdoc(value)
    assert text and len(text) > 15 and text[0].isupper()
    assert text.split("\n")[0].rstrip().endswith((".", ":", "?")) or "\n" in text


def test_the_main_methods_have_examples(timelake):
    for cls, names in (
        (timelake.Lake, "create_table table tables drop_table sql latest session namespaces"),
        (
            timelake.Table,
            "append import_files latest scan info snapshots files set_properties rollback maintain",
        ),
        (timelake.Result, "fetch_batches to_polars plot"),
    ):
        for name in names.split():
            assert "Example:" in getattr(cls, name).__doc__, name


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
