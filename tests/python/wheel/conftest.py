"""A wheel, packed from the build under test, in a virtual environment that has nothing but pip
before."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("TIMELAKE_BUILD_DIR", ROOT / "build/dev"))


def run(*command, cwd=None, env=None, check=True):
    process = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )
    if check and process.returncode:
        raise AssertionError(
            f"{command}: exit {process.returncode}\n{process.stdout}\n{process.stderr}"
        )
    return process


def clean_environment(**more):
    """Without what makes this build importable."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("PYTHONPATH", "TIMELAKE_BUILD_DIR", "TIMELAKE_BIN")
    }
    return {**kept, **more}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-build-isolation",
        "--no-deps",
        "-w",
        folder,
        "-C",
        f"build-dir={BUILD}/wheel",
        ROOT,
        env={**os.environ, "TIMELAKE_BUILD_DIR": str(BUILD)},
    )
    (path,) = folder.glob("timelake-*.whl")
    return path


@pytest.fixture(scope="session")
def fresh(wheel, tmp_path_factory):
    """bin/ of a virtual environment with the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", folder)
    run(
        folder / "bin/python",
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        wheel,
        env=clean_environment(),
    )
    return folder / "bin"
