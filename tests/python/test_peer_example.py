"""Programs written for the Rust `timelake` 0.7.0 run unchanged."""

import datetime as dt
import inspect
import json
import os
import subprocess

import pyarrow as pa
import pytest

PEER = os.environ.get("TIMELAKE_PEER_PYTHON", "")


def test_the_example_of_its_pypi_page(timelake, tmp_path):
    """The calls of that page, with a warehouse on disk where it has a bucket."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    batch = pa.table(
        {
            "time": pa.array([now, now + dt.timedelta(seconds=1)], pa.timestamp("us", tz="UTC")),
            "device_id": ["pump-7", "pump-7"],
            "temp": [20.5, 21.0],
        }
    )
    lake = timelake.Lake(str(tmp_path / "wh"), storage_options={})
    t = lake.create_table(
        "iot.readings", batch.schema, time_column="time", series_key=["device_id"]
    )
    t.append(batch)

    rows = lake.sql(
        "SELECT * FROM iot.readings WHERE device_id = 'pump-7' ORDER BY time DESC LIMIT 1"
    )
    assert rows.num_rows == 1 and rows.column("temp").to_pylist() == [21.0]
    latest = lake.latest("iot.readings")
    assert latest.num_rows == 1 and latest.to_pylist()[0]["device_id"] == "pump-7"


def test_the_example_of_its_docstring(timelake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lake = timelake.Lake("warehouse")
    schema = pa.schema(
        [("time", pa.timestamp("us", tz="UTC")), ("device_id", pa.int32()), ("temp", pa.float64())]
    )
    table = lake.create_table("iot.readings", schema, time_column="time", series_key=["device_id"])
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    batch = pa.table({"time": [now, now], "device_id": [1, 2], "temp": [20.5, 21.0]}, schema=schema)
    assert table.append(batch)["rows"] == 2
    assert lake.sql("SELECT avg(temp) AS temp FROM iot.readings").to_pylist() == [{"temp": 20.75}]
    assert lake.latest("iot.readings").num_rows == 2
    assert table.maintain()["files_rewritten"] == 0  # one file is nothing to merge


def test_exceptions_that_its_users_catch(timelake, tmp_path):
    lake = timelake.Lake(str(tmp_path))
    schema = pa.schema([("time", pa.timestamp("us", tz="UTC")), ("v", pa.float64())])
    table = lake.create_table("t", schema, time_column="time")
    with pytest.raises(FileExistsError):
        lake.create_table("t", schema)
    with pytest.raises(KeyError):
        lake.table("nope")
    with pytest.raises(KeyError):
        lake.latest("nope")
    with pytest.raises(RuntimeError):
        lake.sql("SELECT * FROM nope")
    with pytest.raises(ValueError):
        table.append(pa.table({"nope": [1]}))
    with pytest.raises(ValueError):
        table.set_properties({"no-such-setting": "1"})
    with pytest.raises(KeyError):
        table.rollback(1)
    with pytest.raises(ValueError):
        timelake.Lake("ftp://x/y")
    with pytest.raises(ValueError):
        lake.create_table("a.b.c", schema)
    for wrong in ([1], {"a": 1}, None):
        with pytest.raises(TypeError):
            table.append(wrong)
    assert issubclass(timelake.ConflictError, RuntimeError)


@pytest.fixture(scope="module")
def peer():
    """Names, parameters and report keys of the installed peer."""
    if not os.path.exists(PEER):
        pytest.fail(f"TIMELAKE_PEER_PYTHON={PEER!r} does not exist: run tools/deps.sh")
    code = """
import ast, json, os, timelake
stub = open(os.path.join(os.path.dirname(timelake.__file__), "_timelake.pyi")).read()
out = {"methods": {}, "keys": {}}
for cls in ast.parse(stub).body:
    if isinstance(cls, ast.ClassDef) and cls.name in ("Lake", "Table"):
        for f in cls.body:
            if isinstance(f, ast.FunctionDef):
                prop = any(getattr(d, "id", "") == "property" for d in f.decorator_list)
                out["methods"][f"{cls.name}.{f.name}"] = "property" if prop else [a.arg for a in f.args.args[1:]]
for name in ("AppendResult", "TableInfo", "MaintainReport"):
    out["keys"][name] = sorted(getattr(timelake, name).__required_keys__)
print(json.dumps(out))
"""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return json.loads(
        subprocess.run(
            [PEER, "-c", code], capture_output=True, text=True, check=True, env=env
        ).stdout
    )


# Of the peer, and meaning nothing here: there is no older format to upgrade from.
ITS_OWN = {"Table.upgrade"}


def test_same_names_and_parameters(timelake, peer):
    compared = 0
    for name, parameters in peer["methods"].items():
        if name in ITS_OWN:
            continue
        cls, method = name.split(".")
        if method == "__new__":
            ours = inspect.signature(getattr(timelake, cls).__init__)
        elif parameters == "property":
            assert isinstance(vars(getattr(timelake, cls))[method], property), name
            continue
        else:
            ours = inspect.signature(getattr(getattr(timelake, cls), method))
        mine = [p.name for p in ours.parameters.values() if p.name != "self"]
        if name == "Lake.sql":  # a str as second argument is taken for the namespace
            assert mine[:3] == ["query", "params", "namespace"]
            assert parameters == ["query", "namespace"]
        else:
            assert mine[: len(parameters)] == parameters, name
        compared += 1
    assert compared >= 13


def test_same_report_keys(timelake, peer, table):
    info, report, maintained = table.info(), table.append([]), table.maintain()
    assert set(peer["keys"]["TableInfo"]) <= set(info)
    assert set(peer["keys"]["AppendResult"]) <= set(report)
    assert set(peer["keys"]["MaintainReport"]) <= set(maintained)
