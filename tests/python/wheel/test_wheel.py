"""The wheel does its job where nothing else is installed."""

import pathlib
import re
import shutil
import zipfile

import pytest

from .conftest import clean_environment, run

PROGRAM = """
import pathlib, sys
import timelake

lake = timelake.Lake(sys.argv[1])
table = lake.create_table("readings", "time:timestamptz, device:string, v:double",
                          time_column="time", series_key=["device"])
times = ["2026-01-03T00:00:00Z", "2026-01-03T00:01:00Z"]
table.append({"time": times, "device": ["a", "b"], "v": [1, 2]})
assert lake.sql("SELECT sum(v) AS v FROM readings").to_pylist() == [{"v": 3.0}]
assert lake.latest("readings").num_rows == 2
"""
BESIDE = """
import pyarrow
assert pathlib.Path(timelake.__file__).parents[1] == pathlib.Path(pyarrow.__file__).parents[1]
"""


def test_contents(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "_timelake_command.py",
        "timelake/__init__.py",
        "timelake/py.typed",
        "timelake/_core.pyi",
        "timelake/bin/timelake",
        "timelake/libtimelake-duckdb.so",
        "timelake/licenses/DuckDB-LICENSE",
    ):
        assert wanted in names
    assert any(re.fullmatch(r"timelake/_core\.cpython-\d+-.*\.so", name) for name in names)
    assert any(re.fullmatch(r"timelake/libtimelake\.so\.\d+", name) for name in names)
    assert not [name for name in names if "arrow" in name or "parquet" in name]
    assert wheel.stat().st_size < 30_000_000
    metadata = zipfile.ZipFile(wheel).read("timelake-0.1.0.dist-info/METADATA").decode()
    assert re.search(r"^Requires-Dist: pyarrow<27,>=26$", metadata, re.MULTILINE)


def test_create_append_query(fresh, tmp_path):
    code = PROGRAM + BESIDE
    run(fresh / "python", "-c", code, tmp_path / "wh", cwd=tmp_path, env=clean_environment())


def test_command(fresh, tmp_path):
    run(fresh / "python", "-c", PROGRAM, tmp_path / "wh", cwd=tmp_path, env=clean_environment())
    version = run(fresh / "timelake", "--version", env=clean_environment()).stdout
    assert (
        version
        == run(fresh / "python", "-m", "timelake", "--version", env=clean_environment()).stdout
    )
    assert version.startswith("timelake ")
    csv = run(
        fresh / "timelake",
        "-w",
        "wh",
        "latest",
        "readings",
        "--format",
        "csv",
        cwd=tmp_path,
        env=clean_environment(),
    ).stdout
    assert csv.splitlines() == [
        "time,device,v",
        "2026-01-03T00:00:00Z,a,1.0",
        "2026-01-03T00:01:00Z,b,2.0",
    ]
    wrong = run(fresh / "timelake", "nonsense", env=clean_environment(), check=False)
    assert wrong.returncode == 2


def test_pyarrow_in_another_site_directory(wheel, fresh, tmp_path):
    """The package here, pyarrow there: no RUNPATH leads from one to the other."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    command = tmp_path / "site/timelake/bin/timelake"
    command.chmod(0o755)
    bare = tmp_path / "bare"
    run(fresh / "python", "-m", "venv", bare)
    (arrow,) = fresh.parent.glob("lib/python3*/site-packages/pyarrow")
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "pyarrow").symlink_to(arrow)
    env = clean_environment(PYTHONPATH=f"{tmp_path}/site:{other}")
    python = bare / "bin/python"
    run(python, "-c", PROGRAM, tmp_path / "wh", cwd=tmp_path, env=env)
    listed = run(python, "-m", "timelake", "-w", tmp_path / "wh", "ls", env=env).stdout
    assert listed == "default.readings\n"


def test_wrong_pyarrow_is_refused(wheel, fresh, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    bare = tmp_path / "bare"
    run(fresh / "python", "-m", "venv", bare)
    env = clean_environment(PYTHONPATH=str(tmp_path / "site"))
    missing = run(bare / "bin/python", "-c", "import timelake", env=env, check=False)
    assert (
        "ImportError: timelake needs pyarrow 26 (pip install 'pyarrow>=26,<27')" in missing.stderr
    )
    (tmp_path / "site/pyarrow").mkdir()
    (tmp_path / "site/pyarrow/__init__.py").touch()
    wrong = run(bare / "bin/python", "-c", "import timelake", env=env, check=False)
    assert "is another version, it has no libarrow.so.2600" in wrong.stderr


@pytest.fixture
def folder(fresh, tmp_path):
    """The installed package in a folder of its own."""
    (installed,) = fresh.parent.glob("lib/python3*/site-packages/timelake")
    return shutil.copytree(installed, tmp_path / "timelake")


def test_libraries_do_not_depend_on_the_build_machine(folder):
    for path in [*folder.glob("*.so*"), folder / "bin/timelake"]:
        dynamic = run("readelf", "-d", path).stdout
        runpath = re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", dynamic)
        assert all(part.startswith("$ORIGIN") for line in runpath for part in line.split(":")), path
        for needed in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
            assert (
                (folder / needed).exists()
                or re.match(r"lib(arrow|parquet)", needed)
                or re.match(r"(ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so)", needed)
            ), f"{path.name} needs {needed}"


def test_duckdb_has_a_name_of_its_own(folder):
    dynamic = run("readelf", "-d", folder / "libtimelake-duckdb.so").stdout
    assert "soname: [libtimelake-duckdb.so]" in dynamic
    assert pathlib.Path(folder / "licenses/DuckDB-LICENSE").read_text().startswith("Copyright")
