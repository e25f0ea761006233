"""%load_ext timelake, %timelake and %%timelake."""

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell(timelake, lake, table, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "timelake")
    shell.user_ns["lake"] = lake
    return shell


def test_cell(shell, lake):
    assert shell.run_line_magic("timelake", "lake") is lake
    shell.user_ns["device"] = "a"
    result = shell.run_cell_magic(
        "timelake", "", "SELECT v FROM readings\nWHERE device = $device ORDER BY v;\n"
    )
    assert result.to_pylist() == [{"v": 1.5}, {"v": 3.5}]
    assert "_repr_html_" in dir(result)
    shell.run_cell_magic("timelake", "rows", "SELECT count(*) AS n FROM readings")
    assert shell.user_ns["rows"].to_pylist() == [{"n": 4}]
    lake.create_table("plant.pumps", "n:int").append({"n": [1]})
    assert shell.run_cell_magic("timelake", "-n plant rows", "FROM pumps").to_pylist() == [{"n": 1}]


def test_line(shell, lake):
    opened = shell.run_line_magic("timelake", lake.location)
    assert opened.location == lake.location
    assert shell.run_line_magic("timelake", "SELECT 1 AS one").to_pylist() == [{"one": 1}]
    assert shell.run_line_magic("timelake", "") is opened


def test_dollars_in_texts_are_no_parameters(shell):
    shell.run_line_magic("timelake", "lake")
    cell = "SELECT '$x' AS a, /* $y */ \"b\" FROM (SELECT 1 AS b) -- $z"
    assert shell.run_cell_magic("timelake", "", cell).to_pylist() == [{"a": "$x", "b": 1}]


def test_mistakes(shell):
    with pytest.raises(ValueError, match="no lake yet"):
        shell.run_cell_magic("timelake", "", "SELECT 1")
    shell.run_line_magic("timelake", "lake")
    with pytest.raises(ValueError, match="no variable 'nope'"):
        shell.run_cell_magic("timelake", "", "SELECT $nope")
    with pytest.raises(ValueError, match="one variable"):
        shell.run_cell_magic("timelake", "a b", "SELECT 1")
    with pytest.raises(ValueError, match="needs a namespace"):
        shell.run_cell_magic("timelake", "-n", "SELECT 1")
    with pytest.raises(ValueError, match="syntax error"):
        shell.run_cell_magic("timelake", "", "SELEC")
