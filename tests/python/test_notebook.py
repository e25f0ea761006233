"""The notebook of examples/ runs, and its pictures are pictures."""

import pathlib
import shutil

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = [path.stem for path in sorted((ROOT / "examples").glob("*.ipynb"))]


def run_notebook(path, folder):
    """Executes it in `folder`; raises what a cell raises."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return notebook


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel of this interpreter, whatever is installed elsewhere, that writes nothing outside."""
    from ipykernel.kernelspec import install

    install(prefix=str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter/share/jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")


@pytest.mark.parametrize("name", NAMES)
def test_notebook(name, kernel, tmp_path):
    folder = tmp_path / "examples"
    folder.mkdir()
    shutil.copytree(ROOT / "examples/data", folder / "data")
    notebook = run_notebook(ROOT / f"examples/{name}.ipynb", folder)
    outputs = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    ]
    assert not [output for output in outputs if output.output_type == "error"]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    saved = sorted(path.name for path in folder.glob("*.png"))
    assert len(saved) == len(pictures) == 3
    assert saved == sorted(path.name for path in (ROOT / "examples").glob(f"{name}_*.png"))
    assert all(path.stat().st_size > 10_000 for path in folder.glob("*.png"))
    html = [
        output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})
    ]
    assert any("timelake-result" in text for text in html)


if __name__ == "__main__":  # writes the notebook with its outputs, and the pictures, into examples/
    for notebook_name in NAMES:
        target = ROOT / f"examples/{notebook_name}.ipynb"
        nbformat.write(run_notebook(target, target.parent), target)
