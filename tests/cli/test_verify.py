"""verify: tables as they should be, and every kind of damage that it names."""

import pytest

from conftest import OTHER_ROWS


@pytest.fixture
def filled(table):
    table("append", "t", table.file("more.csv", OTHER_ROWS))
    return table


def faults(tl, *arguments):
    done = tl.fails("verify", "t", *arguments, "--json", says="found")
    (report,) = done.json()
    return [(finding["file"].rsplit("/", 1)[1], finding["what"]) for finding in report["findings"]]


def files(tl, pattern):
    return sorted((tl.warehouse / "default" / "t").rglob(pattern))


def test_a_good_table(filled):
    assert filled("verify", "t").out.startswith("t: all well in 2 snapshots, 4 files in ")
    filled("maintain")
    (report,) = filled("verify", "--deep", "--json").json()
    assert report["table"] == "default.t" and report["findings"] == []
    assert (report["snapshots"], report["data_files"], report["rows_read"]) == (3, 6, 5)
    assert report["unreferenced_objects"] == 0


@pytest.mark.damaged
def test_a_data_file_that_is_cut(filled):
    path = files(filled, "data/**/*.parquet")[0]
    path.write_bytes(path.read_bytes()[:-10])
    found = faults(filled)
    assert {name for name, _ in found} == {path.name}
    assert any("bytes" in what for _, what in found)


def test_a_file_that_is_missing(filled):
    for pattern in ("data/**/*.parquet", "metadata/*-added-m.avro", "metadata/snap-*.avro", "metadata/lvi-*.parquet"):
        path = files(filled, pattern)[0]
        bytes = path.read_bytes()
        path.unlink()
        assert path.name in {name for name, _ in faults(filled)}, pattern
        path.write_bytes(bytes)
    assert "all well" in filled("verify", "t").out


@pytest.mark.damaged
def test_a_data_file_of_other_rows(filled):
    first, *_, last = files(filled, "data/**/*.parquet")
    first.write_bytes(last.read_bytes())
    found = faults(filled, "--deep")
    assert {name for name, _ in found} >= {first.name}


def test_objects_that_nothing_needs(filled):
    (files(filled, "data/**/*.parquet")[0].parent / "left-behind.parquet").write_bytes(b"x" * 100)
    (report,) = filled("verify", "t", "--json").json()
    assert (report["unreferenced_objects"], report["unreferenced_bytes"]) == (1, 100)
    assert "1 object unreferenced (100 B)" in filled("verify", "t").out


def test_other_tables_are_looked_at_although_one_fails(filled):
    filled.make_table("u")
    done = filled.fails("verify", "missing", "u", "--json", says="missing")
    assert [report["table"] for report in done.json()] == ["u"]
