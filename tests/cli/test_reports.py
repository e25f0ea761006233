"""info, ls, snapshots, files, settings, duckdb."""

import json
import re

import pytest

import duckdb

from conftest import OTHER_ROWS, ROWS


def test_info_for_people(table):
    lines = dict(re.split(r"  +", line, maxsplit=1) for line in table("info", "t").out.split("\n\n")[0].splitlines())
    assert lines["table"] == "default.t"
    assert lines["location"].startswith("file:///")
    assert lines["version"] == "2, table format 0.3.0"
    assert lines["rows"] == "3"
    assert lines["time column"] == "time, one partition for each day"
    assert lines["series key"] == "device"
    assert lines["dedup"] == "one row for each series and time"
    assert lines["retention"] == "for ever"
    assert lines["latest rows"] == "indexed"
    assert "time    timestamptz  never NULL" in table("info", "t").out


def test_info_as_json(table):
    info = table("info", "t", "--json").json()
    assert info["table"] == "default.t" and info["version"] == 2 and info["hint_version"] == 2
    assert info["rows"] == 3 and info["files"] == 2 and info["bytes"] > 0
    assert info["snapshots"] == 1 and info["manifests"] == 1 and info["delete_files"] == 0
    assert info["last_value_index"].startswith("file://")
    assert info["foreign_snapshots"] == [] and info["shared"] is False


def test_ls(tl):
    assert tl("ls").out == ""
    assert tl("ls", "--json").json() == []
    tl.make_table("b")
    tl.make_table("ns.a", rows=None)
    assert tl("ls").out == "default.b\nns.a\n"
    assert tl("ls", "ns").out == "ns.a\n"
    assert tl("ls", "--json").json() == ["default.b", "ns.a"]
    rows = [line.split() for line in tl("ls", "--long").out.splitlines()]
    assert rows[0] == ["table", "rows", "files", "size", "version", "chunk", "rollup_of"]
    assert rows[2][:3] == ["default.b", "3", "2"] and rows[3] == ["ns.a", "0", "0", "0", "B", "1", "day", "-"]
    assert [entry["table"] for entry in tl("ls", "-l", "--json").json()] == ["default.b", "ns.a"]


def test_ls_does_not_list_a_dropped_table(table):
    table("drop", "t")
    assert table("ls").out == ""


@pytest.mark.damaged
def test_ls_reports_a_broken_table_and_lists_the_others(table):
    table.make_table("other")
    table.metadata().write_text("{")
    done = table.run("ls", "--long")
    assert done.code == 1
    assert "default.other" in done.out and "default.t" not in done.out
    assert done.err.startswith("error: ") and "v2.metadata.json" in done.err


def test_snapshots(table):
    table("append", "t", table.file("more.csv", OTHER_ROWS))
    first, second = table("snapshots", "t", "--json").json()
    assert first["parent_id"] is None and second["parent_id"] == first["snapshot_id"]
    assert not first["current"] and second["current"]
    assert isinstance(first["snapshot_id"], str) and int(first["snapshot_id"]) > 0
    assert first["operation"] == "append" and first["summary"]["added-records"] == "3"
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", first["time"])
    lines = table("snapshots", "t").out.splitlines()
    assert lines[0].split() == ["snapshot", "time", "operation", "added", "deleted", "rows"]
    assert lines[2].split()[0] == first["snapshot_id"] and lines[2].split()[3:] == ["+3", "3"]
    assert lines[3].endswith("current")


def test_files(table):
    files = table("files", "t", "--json").json()
    assert [(file["partition"], file["rows"]) for file in files] == [
        ("time_day=2024-01-01", 2), ("time_day=2024-01-02", 1)]
    assert files[0]["content"] == "data"
    assert (files[0]["min_time"], files[0]["max_time"]) == ("2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z")
    lines = table("files", "t").out.splitlines()
    assert lines[0].split() == ["rows", "size", "first", "last", "file"]
    assert " data/time_day=2024-01-01/" in lines[2]


def test_settings_registry(tl):
    settings = {setting["name"]: setting for setting in tl("settings", "--json").json()}
    assert settings["row-group-rows"]["default"] == "1048576"
    assert settings["retention"]["levels"] == "create, table"
    assert "zstd" in settings["write.parquet.compression-codec"]["accepted"]
    text = tl("settings").out
    for name, setting in settings.items():
        assert f"{name}\n    {setting['description']}\n" in text


def test_settings_of_a_table(table):
    table("alter", "t", "--set", "retention=30d", "--set", "owner.team=ops")
    values = {value["name"]: value for value in table("settings", "t", "--json").json()}
    assert values["retention"]["value"] == "30d" and values["retention"]["is_default"] is False
    assert values["max-snapshots"] == {"name": "max-snapshots", "value": "100", "is_default": True}
    assert values["time-column"]["value"] == "time"
    assert values["owner.team"]["value"] == "ops"
    lines = table("settings", "t").out.splitlines()
    assert any(re.fullmatch(r"max-snapshots +100 +default", line) for line in lines)
    assert any(re.fullmatch(r"retention +30d", line) for line in lines)


def test_duckdb_prints_sql_that_duckdb_parses(table):
    sql = table("duckdb", "t").out
    assert "iceberg_scan" in sql and str(table.warehouse) in sql
    assert len(duckdb.extract_statements(sql)) >= 1


def test_reports_go_to_stdout_alone(table):
    for command in (["info", "t"], ["ls"], ["snapshots", "t"], ["files", "t"], ["settings", "t"], ["settings"],
                    ["duckdb", "t"], ["latest", "t"]):
        done = table(*command)
        assert done.out and done.err == "", done


def test_reports_of_every_command_are_json_on_request(table):
    snapshot = table("snapshots", "t", "--json").json()[0]["snapshot_id"]
    path = table.file("more.csv", ROWS)
    for command in (["create", "u", "--schema", "a:int"], ["import", "w", path], ["append", "t", path],
                    ["alter", "t", "--set", "max-snapshots=50"], ["rollback", "t", snapshot], ["drop", "u"],
                    ["info", "t"], ["ls"], ["snapshots", "t"], ["files", "t"], ["settings"], ["latest", "t"]):
        json.loads(table(*command, "--json").out)
