"""maintain: merging of files, expiry, what is said of both."""

import json
import subprocess

import pytest

from conftest import CONTRACT, SCHEMA

HEADER = "time,device,v,n\n"


def fill(tl, name="t", appends=4, device="a"):
    """One file an append, of two days; the last write of each time counts."""
    if name not in tl("ls").out.replace("default.", "").split():
        tl.make_table(name, rows=None)
    for i in range(appends):
        day = 1 + i % 2
        rows = HEADER + f"2024-01-0{day}T00:00:00Z,{device},{i},1\n2024-01-0{day}T00:0{i}:00Z,{device},{i},1\n"
        tl("append", name, tl.file(f"{name}-{i}.csv", rows))


@pytest.fixture
def filled(tl):
    fill(tl)
    return tl


def test_small_files_are_merged(filled):
    before = filled.rows("SELECT * FROM t ORDER BY ALL")
    (report,) = filled("maintain", "t", "--json").json()
    assert report["table"] == "t"
    assert (report["partitions_compacted"], report["files_rewritten"], report["files_written"]) == (2, 4, 2)
    assert report["rows_rewritten"] == len(before) and report["duplicates_removed"] > 0
    assert {step["reason"] for step in report["planned"]} == {"small files"}
    assert len(filled("files", "t", "--json").json()) == 2
    assert filled.rows("SELECT * FROM t ORDER BY ALL") == before
    assert filled("maintain", "t").out.startswith("t: nothing to do, ")


def test_it_says_what_it_did(filled):
    out = filled("maintain").out
    assert out.startswith("default.t: 4 files of 2 partitions merged into 2, 2 rows replaced, "), out


def test_a_dry_run_shows_the_plan_and_changes_nothing(filled):
    version = filled("info", "t", "--json").json()["version"]
    out = filled("maintain", "t", "--dry-run").out
    assert out.startswith("t: would merge 4 files, ")
    assert "time_day=2024-01-01" in out and "small files" in out
    (report,) = filled("maintain", "t", "--dry-run", "--json").json()
    assert [(s["partition"], s["files"], s["rows"]) for s in report["planned"]] == [
        ("time_day=2024-01-01", 2, 3), ("time_day=2024-01-02", 2, 4)]
    assert report["files_rewritten"] == 0
    assert filled("info", "t", "--json").json()["version"] == version
    filled("maintain", "t")
    assert filled("maintain", "t", "--dry-run").out == "t: nothing to drop, merge or delete\n"


def test_all_tables_and_some(filled):
    fill(filled, "u")
    fill(filled, "w")
    assert [r["table"] for r in filled("maintain", "u", "w", "--dry-run", "--json").json()] == ["u", "w"]
    reports = filled("maintain", "--json").json()
    assert [r["table"] for r in reports] == ["default.t", "default.u", "default.w"]
    assert [r["files_rewritten"] for r in reports] == [4, 4, 4]


def test_tasks_can_be_left_out(filled):
    (report,) = filled("maintain", "t", "--no-compact", "--json").json()
    assert report["files_rewritten"] == 0 and report["planned"] == []
    filled("alter", "t", "--set", "snapshot-retention=0s", "--set", "min-snapshots=1")
    (report,) = filled("maintain", "t", "--no-expire", "--json").json()
    assert report["files_rewritten"] == 4 and report["snapshots_expired"] == 0
    (report,) = filled("maintain", "t", "--json").json()
    assert report["snapshots_expired"] == 4


def test_full_merges_what_nothing_asks_for(filled):
    filled("maintain", "t")
    (report,) = filled("maintain", "t", "--full", "--json").json()
    assert [step["reason"] for step in report["planned"]] == ["asked for", "asked for"]
    assert report["files_rewritten"] == 2


def test_a_cap_leaves_the_rest_for_the_next_run(filled):
    largest = max(f["bytes"] for f in filled("files", "t", "--json").json())
    runs = []
    for _ in range(3):
        (report,) = filled("maintain", "t", "--max-bytes", 2 * largest, "--json").json()
        assert report["bytes_rewritten"] <= 2 * largest
        runs.append((report["files_rewritten"], report["merges_left"]))
    assert runs == [(2, 1), (2, 0), (0, 0)]
    fill(filled)
    out = filled("maintain", "t", "--max-bytes", 1).out
    assert "2 merges left for the next run" in out


def test_settings_of_one_run(filled):
    filled("maintain", "t", "--full", "--set", "write-memory-bytes=65536")
    assert filled.rows("SELECT count(*) AS n FROM t") == [{"n": 5}]
    filled.fails("maintain", "t", "--set", "no-such=1", says="unknown setting \"no-such\"")


@pytest.mark.parametrize("arguments, says", [
    (["--max-bytes", "-1"], "--max-bytes"),
    (["--max-bytes", "many"], "many"),
    (["--max-seconds", "-2"], "--max-seconds"),
    (["--set", "novalue"], "--set"),
])
def test_a_wrong_command_line(filled, arguments, says):
    filled.fails("maintain", "t", *arguments, code=2, says=says)


def test_a_table_that_fails_costs_the_others_nothing(filled):
    done = filled.fails("maintain", "missing", "t", "--json", says="missing")
    assert [r["table"] for r in done.json()] == ["t"]
    assert done.json()[0]["files_rewritten"] == 4


def test_past_partitions_are_dropped(tl):
    tl.make_table(rows=None)
    tl("alter", "t", "--set", "retention=30d")
    path = tl.file("old.csv", HEADER + "2024-01-01T00:00:00Z,a,1,1\n2024-01-02T00:00:00Z,a,2,1\n")
    tl.fails("append", "t", path, says=["2024-01-01", "retention (30d)", "on-expired"])
    tl("append", "t", path, "--set", "on-expired=keep")
    out = tl("maintain", "t", "--dry-run").out
    assert out.startswith("t: would drop 2 files, ") and "past retention" in out
    (report,) = tl("maintain", "t", "--no-retention", "--json").json()
    assert report["rows_dropped"] == 0
    out = tl("maintain", "t").out
    assert out.startswith("t: 2 rows of 2 past partitions dropped, "), out
    assert tl.rows("SELECT count(*) AS n FROM t") == [{"n": 0}]


def test_appends_merge_small_files(tl):
    tl.make_table(rows=None)
    for i in range(8):
        tl("append", "t", tl.file(f"{i}.csv", HEADER + f"2024-01-01T00:00:0{i}Z,a,{i},1\n"))
    assert len(tl("files", "t", "--json").json()) == 1
    assert tl.rows("SELECT count(*) AS n FROM t") == [{"n": 8}]


def test_shards_share_the_work(filled):
    """Several processes at once: together they do what one would do."""
    for i in range(24):
        rows = HEADER + "".join(f"2024-02-{d:02}T00:00:{i:02}Z,b,{i},1\n" for d in range(1, 13))
        filled("append", "t", filled.file(f"more-{i}.csv", rows), "--set", "auto-maintain=false")
    before = filled.rows("SELECT * FROM t ORDER BY ALL")
    planned = {s["partition"] for s in filled("maintain", "t", "--dry-run", "--json").json()[0]["planned"]}
    assert len(planned) == 14
    of_shards = [[s["partition"] for s in filled("maintain", "t", "--dry-run", "--json", "--shard", f"{i}/3")
                  .json()[0]["planned"]] for i in range(3)]
    assert sorted(sum(of_shards, [])) == sorted(planned)
    assert sum(map(bool, of_shards)) > 1  # one may have none: shares go by a hash with the table's random id
    processes = [subprocess.Popen(filled.command("maintain", "t", "--json", "--shard", f"{i}/3"), env=filled.env,
                                  stdout=subprocess.PIPE) for i in range(3)]
    reports = [json.loads(process.communicate()[0])[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum(report["partitions_compacted"] for report in reports) == 14
    assert sum(report["merges_abandoned"] for report in reports) == 0
    assert filled.rows("SELECT * FROM t ORDER BY ALL") == before
    assert len(filled("files", "t", "--json").json()) == 14
    assert filled("maintain", "t", "--dry-run").out == "t: nothing to drop, merge or delete\n"
    assert filled("verify", "t", "--deep", "--json").json()[0]["findings"] == []


@pytest.mark.parametrize("shard", ["3/3", "-1/3", "1", "1/0", "a/b", "1/2/3", "1/2 "])
def test_a_wrong_shard_is_refused(filled, shard):
    filled.fails("maintain", "t", f"--shard={shard}", code=2, says="I/N")


def test_orphans_are_deleted(filled):
    orphan = filled.warehouse / "default" / "t" / "data" / "left.parquet"
    orphan.write_bytes(b"garbage")
    filled.fails("maintain", "t", "--orphan-min-age", "0s", says=["0s", "24h", "force"])
    assert filled("maintain", "t", "--json").json()[0]["orphans_young"] >= 1
    options = ("--orphan-min-age", "0s", "--force")
    assert filled("maintain", "t", "--no-orphans", "--json", *options).json()[0]["orphans_deleted"] == 0
    assert "delete 1 orphan" in filled("maintain", "t", "--dry-run", *options).out
    assert orphan.exists()
    out = filled("maintain", "t", *options).out
    assert " 1 orphan deleted (7 B)," in out, out
    assert not orphan.exists()
    assert filled("verify", "t", "--json").json()[0]["unreferenced_objects"] == 0


def test_info_shows_what_is_due(filled):
    health = filled("info", "t", "--json").json()["health"]
    assert (health["small_files"], health["overlapping_files"], health["hint_lag"]) == (4, 4, 0)
    assert [step["task"] for step in health["due"]] == ["compaction", "compaction"]
    out = filled("info", "t").out
    assert "small files   4\n" in out and "due           compaction of 4 files\n" in out, out
    (filled.warehouse / "default/t/metadata/version-hint.text").write_text("garbage")
    filled("maintain", "t")
    out = filled("info", "t").out
    assert "small files   2\n" in out and "\ndue " not in out, out


def test_what_a_dropped_table_left_goes(filled):
    filled("create", "d", "--schema", SCHEMA, *CONTRACT, "--prop", "metadata-min-age=10ms",
           "--prop", "delete-min-age=10ms")
    filled("append", "d", filled.file("d.csv", HEADER + "2024-02-01T00:00:00Z,a,1,1\n"))
    filled("drop", "d")
    folder = filled.warehouse / "default" / "d"
    assert filled("maintain", "t", "--json").json()[0]["table"] == "t"  # named tables only
    assert list(folder.rglob("*.parquet"))
    out = ""
    for _ in range(200):  # a run frees what is old enough then
        out += filled("maintain", "--no-compact").out
        if not list(folder.rglob("*.parquet")):
            break
    assert "default.d (dropped): " in out and "deleted," in out
    assert [path.name for path in folder.rglob("*.json")] == ["v3.metadata.json"]
    assert "dropped" not in filled("maintain").out
