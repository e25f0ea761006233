"""One table through every kind of maintenance: after each, all engines see the same rows, and verify finds no fault."""

import datetime
import json

import pyarrow as pa

from test_maintenance import SCHEMA, expect, maintain, make
from test_relocate import moved, relocate

UTC = datetime.timezone.utc
TODAY = datetime.datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAYS = [40, 9, 2]  # ago


def rows_of(i, days=DAYS):
    """Three devices, by night and at noon; no row replaces another, as other engines show all."""
    return [{"time": TODAY - datetime.timedelta(days=day) + datetime.timedelta(hours=hour, seconds=i),
             "device": device, "v": 1000.0 * i + 100 * place + hour}
            for place, day in enumerate(days) for hour in (0, 12) for device in (None, "a", "b")]


class Checked:
    """A table and the rows that it must have."""

    def __init__(self, lake, duck):
        self.lake, self.duck, self.rows = lake, duck, []

    def append(self, *numbers, days=DAYS, **options):
        for i in numbers:
            rows = rows_of(i, days)
            self.lake.append("t", pa.Table.from_pylist(rows, SCHEMA), **options)
            self.rows += [(row["device"] or "", row["time"], row["v"]) for row in rows]

    def lose(self, gone):
        kept = [row for row in self.rows if not gone(*row)]
        lost = len(self.rows) - len(kept)
        assert lost > 0
        self.rows = kept
        return lost

    def alter(self, **properties):
        for name, value in properties.items():
            self.lake.run("alter", "t", "--set", f"{name.replace('_', '-')}={value}")

    def files(self):
        return json.loads(self.lake.run("files", "t", "--json").stdout)

    def expect(self):
        expect(self.lake, self.duck, sorted(self.rows))
        (report,) = json.loads(self.lake.run("verify", "t", "--deep", "--json").stdout)
        assert report["findings"] == [] and report["rows_read"] == len(self.rows)


def test_all_kinds_of_tasks(lake, duck, tmp_path):
    make(lake, [], compact_min_files="4", max_snapshots="1000", metadata_min_age="300ms", delete_min_age="300ms")
    table = Checked(lake, duck)

    table.append(*range(8))  # inline compaction
    assert len(table.files()) < 8 * len(DAYS)
    table.expect()

    table.append(8, 9, set="auto-maintain=false")
    assert maintain(lake, "--full", "--no-expire")["partitions_compacted"] == len(DAYS)
    assert len(table.files()) == len(DAYS)
    table.expect()

    (done,) = [json.loads(lake.run("delete", "t", "--where", "device = 'b' AND v >= 3000", "--json").stdout)]
    assert done["rows"] == table.lose(lambda device, at, v: device == "b" and v >= 3000)
    table.expect()

    table.alter(retention="20d")
    oldest = TODAY - datetime.timedelta(days=20)
    assert maintain(lake, "--no-expire")["rows_dropped"] == table.lose(lambda device, at, v: at < oldest)
    table.expect()

    cutoff = TODAY - datetime.timedelta(days=9) + datetime.timedelta(hours=6)
    table.alter(retention=f"{int((datetime.datetime.now(UTC) - cutoff).total_seconds())}s")
    assert maintain(lake, "--exact", "--no-expire")["rows_dropped"] == table.lose(lambda device, at, v: at < cutoff)
    table.expect()
    lake.run("alter", "t", "--unset", "retention")

    orphan = tmp_path / "wh/default/t/data/left-behind.parquet"
    orphan.write_bytes(b"of a writer that was interrupted")
    done = maintain(lake, "--no-expire", "--orphan-min-age", "0s", "--force")
    assert done["orphans_deleted"] == 1 and not orphan.exists()
    table.expect()

    table.alter(**{"commit.manifest.target-size-bytes": "2000"})
    table.append(*range(10, 16), days=DAYS[1:], set="auto-maintain=false")
    assert maintain(lake, "--no-compact", "--no-expire")["manifests_rewritten"] > 0
    table.expect()

    table.alter(chunk_tiers="hour:1d, day")
    table.append(16, 17, days=DAYS[1:], set="auto-maintain=false")
    # Ages count from the newest row, so the younger day stays as it is.
    hour = f"time_hour={(TODAY - datetime.timedelta(days=9)).date()}"
    assert any(hour in file["path"] for file in table.files())
    planned = json.loads(lake.run("maintain", "t", "--dry-run", "--json").stdout)[0]["planned"]
    assert "old enough for longer partitions" in {step["reason"] for step in planned}
    maintain(lake, "--no-expire")
    assert not any(hour in file["path"] for file in table.files())
    table.expect()

    table.alter(snapshot_retention="0s", min_snapshots="1")
    assert maintain(lake)["snapshots_expired"] > 5
    named = {file["path"].rsplit("/", 1)[1] for file in table.files()}
    for _ in range(100):  # a run frees what is old enough then
        stored = {path.name for path in (lake.folder("t") / "data").rglob("*.parquet")}
        if stored == named:
            break
        maintain(lake)
    assert stored == named
    table.expect()

    table.lake = moved(lake, tmp_path)
    assert relocate(table.lake)["relocated"]
    table.append(18, days=DAYS[1:])
    maintain(table.lake)
    table.expect()
