"""Maintenance by several processes at once, beside appends and deletes: a checksum of each series stays what it was."""

import json
import subprocess
import sys

from conftest import CONTRACT, SCHEMA

HEADER = "time,device,v,n\n"
SHARDS, ROUNDS, APPENDS, DAYS = 3, 4, 12, 6


def rows(device, append):
    """A row on each of some days, so that every append leaves small files in all partitions."""
    return HEADER + "".join(f"2024-02-{day:02}T00:{append:02}:00Z,{device},{append}.5,{day}\n"
                            for day in range(1, DAYS + 1))


def checksums(tl):
    return {row["device"]: (row["rows"], row["sum"], row["hash"]) for row in tl.rows(
        "SELECT device, count(*) AS rows, sum(v * n) AS sum, bit_xor(hash(time, v, n))::VARCHAR AS hash FROM t "
        "GROUP BY ALL")}


def fill(tl, device, times):
    for i in range(times):
        tl("append", "t", tl.file(f"{device}-{i}.csv", rows(device, i)), "--set", "auto-maintain=false")


def loop(tl, commands):
    """A process that runs commands one after the other, and fails with the first that fails."""
    script = ("import json, subprocess, sys\n"
              "for command in json.loads(sys.argv[1]): subprocess.run(command, check=True)")
    lines = json.dumps([tl.command(*command) for command in commands])
    return subprocess.Popen([sys.executable, "-c", script, lines], env=tl.env, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def test_checksums_of_all_series_hold(tl):
    tl("create", "t", "--schema", SCHEMA, *CONTRACT, "--prop", "metadata-min-age=1s", "--prop", "delete-min-age=1s",
       "--prop", "snapshot-retention=1s", "--prop", "min-snapshots=2")
    for device in ("a", "b", "gone"):
        fill(tl, device, APPENDS)
    before = checksums(tl)
    for device in ("c", "d"):  # what the appends below must make of them
        for i in range(APPENDS):
            tl.file(f"{device}-{i}.csv", rows(device, i))
    processes = [loop(tl, [("maintain", "t", "--full", "--shard", f"{i}/{SHARDS}")] * ROUNDS) for i in range(SHARDS)]
    processes += [loop(tl, [("append", "t", tl.folder / f"{device}-{i}.csv") for i in range(APPENDS)])
                  for device in ("c", "d")]
    processes.append(loop(tl, [("delete", "t", "--where", f"device = 'gone' AND n = {day}")
                               for day in range(1, DAYS + 1)]))
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said

    after = checksums(tl)
    assert after.pop("gone", None) is None
    assert {device: after[device] for device in ("a", "b")} == {device: before[device] for device in ("a", "b")}
    # Each series has the same rows but for its name.
    assert after["c"] == after["d"] == before["a"]
    tl("maintain", "t")
    assert checksums(tl) == after
    assert tl("verify", "t", "--deep", "--json").json()[0]["findings"] == []
