#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

#include "timelake/lake.h"
#include "timelake/table.h"

namespace timelake {

// Which tasks run, rollups first, then in this order. docs/maintenance.md says what each does.
struct MaintainOptions {
  bool retention = true;  // partitions older than the table's retention are dropped
  bool exact = false;     // and rows older than it out of the partitions that stay
  // Small, unsorted and overlapping data files are merged; a lost last-value index is built again.
  bool compact = true;
  bool rollups = true;    // of the table are refreshed, before retention takes rows of it
  bool manifests = true;  // clustered by time where queries would open many of them
  bool expire = true;     // snapshots by the table's settings, then what no version needs any more
  bool orphans = true;    // objects of the table's folders that no version refers to are deleted
  bool full = false;      // compact every partition as a whole, also where nothing asks for it
  bool dry_run = false;   // only say what would be done
  int64_t max_bytes = 0;  // of data files that compaction reads; 0: no limit
  // Duration: younger objects are not taken for orphans. Below 24h, in which a writer may still be
  // at work, only with `force`.
  std::string orphan_min_age = "3d";
  bool force = false;
  double max_seconds =
      0;  // nothing that takes long begins after; what is done is committed; 0: no limit
  // Of `shards` runs that share the work, on as many machines if need be: 0 .. shards - 1. Each
  // merges the partitions that are its own; the other tasks are those of shard 0.
  int shard = 0;
  int shards = 1;
  std::map<std::string, std::string> settings;  // call-level settings, over the table's
  // Polled from several threads; what was merged before and is committed stays.
  std::function<bool()> cancelled;
};

// Files of one partition that are dropped or merged (or would be), manifests, snapshots that would
// expire, and all orphans.
struct MaintainStep {
  std::string task;       // "retention", "compaction", "manifests", "expiry", "orphans"
  std::string partition;  // "time_day=2026-01-03"; empty: unpartitioned
  std::string reason;     // "past retention", "small files", "files not in order", ...
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t rows = 0;
};

struct MaintainReport {
  std::vector<MaintainStep> planned;
  int64_t partitions_dropped = 0;  // by retention
  int64_t files_dropped = 0;
  int64_t rows_dropped = 0;
  int64_t files_held_back = 0;  // past retention, but an older row would come back without them
  int64_t partitions_compacted = 0;
  int64_t files_rewritten = 0;
  int64_t files_written = 0;
  int64_t rows_rewritten = 0;   // in the files written
  int64_t bytes_rewritten = 0;  // of the files that went
  int64_t bytes_written = 0;
  int64_t duplicates_removed = 0;  // rows that a later write of the same series and time replaced
  int64_t rows_deleted = 0;        // rows that delete files of other engines had marked
  int64_t delete_files_removed = 0;
  int64_t merges_abandoned = 0;  // another writer changed what they rest on; run again
  int64_t merges_left = 0;       // by max_bytes or max_seconds, for the next run
  int64_t bytes_left = 0;        // of those
  bool index_rebuilt = false;    // the last-value index, which the table had lost
  int64_t manifests_rewritten = 0;
  int64_t manifests_written = 0;  // for them
  int64_t snapshots_expired = 0;
  int64_t versions_freed = 0;
  int64_t objects_deleted = 0;  // metadata files of freed versions and all that only they named
  int64_t orphans_deleted = 0;
  int64_t orphan_bytes = 0;
  int64_t orphans_young = 0;  // objects that no version refers to, not old enough yet
  int64_t rollups_refreshed = 0;
  int64_t rollup_rows = 0;  // that they got
  double seconds = 0;
};

// Keeps a table small and fast. Safe beside any number of writers, readers and other runs of it.
// Unknown settings -> kInvalidArgument; a table that this version cannot write -> kUnsupported.
// kCommitUnknown: the outcome of a commit is unknown, nothing was deleted; run it again.
arrow::Result<MaintainReport> Maintain(Table& table, const MaintainOptions& options = {});

// A table that was dropped, and what was done about what it left.
struct DroppedTable {
  std::string name;      // "namespace.table"
  arrow::Status status;  // of this table; the others are done all the same
  MaintainReport report;
};

// Deletes what dropped tables have left: files of their versions once those are `metadata-min-age`
// old, for the sake of who still reads them, and orphans. The last version of each stays, as
// numbers of versions never start anew. Of the options `expire`, `orphans`, `orphan_min_age`,
// `force`, `dry_run` (orphans only), `max_seconds`, `shard` and `cancelled` count.
arrow::Result<std::vector<DroppedTable>> MaintainDropped(Lake& lake,
                                                         const MaintainOptions& options = {});

// What an operator looks for, at the newest version.
struct TableHealth {
  int64_t small_files = 0;        // below three quarters of the target size
  int64_t unsorted_files = 0;     // that do not say that they are in the table's order
  int64_t overlapping_files = 0;  // may share rows of one series and time with one of another write
  // Versions that version-hint.text is behind; -1: it is absent or garbage. Plain engines start
  // there.
  int64_t hint_lag = 0;
  std::vector<MaintainStep> due;  // what Maintain would do now, but for orphans and deletions
};

// Reads manifests, and nothing else; changes nothing. kUnsupported: the table cannot be written
// here.
arrow::Result<TableHealth> Health(Table& table);

struct VerifyOptions {
  bool deep = false;                // reads the data of the current snapshot, too
  std::function<bool()> cancelled;  // polled from several threads
};

// Something that is missing or not as it is recorded.
struct VerifyFinding {
  std::string file;  // URI
  std::string what;
};

struct VerifyReport {
  std::vector<VerifyFinding> findings;  // empty: all is well
  int64_t version = 0;
  int64_t snapshots = 0;
  int64_t manifests = 0;
  int64_t data_files = 0;  // of all kept snapshots
  int64_t delete_files = 0;
  int64_t bytes = 0;
  int64_t rows_read = 0;  // deep only
  // Objects of the table's folders that no version needs: of writers at work, or left by ones that
  // were interrupted.
  int64_t unreferenced_objects = 0;
  int64_t unreferenced_bytes = 0;
  double seconds = 0;
};

// Looks whether all that the kept snapshots refer to is there: sizes, counts, sequence numbers,
// rows of footers, the last-value index; deep: order and times of the rows, and the index against
// them. Changes nothing. kIo: the store gave no answer, so the look is not complete.
arrow::Result<VerifyReport> Verify(Table& table, const VerifyOptions& options = {});

struct RelocateReport {
  std::string from;        // the location that the table recorded
  std::string to;          // where it lies
  bool relocated = false;  // false: it lay where it says, and nothing was done
  int64_t version = 0;
  int64_t snapshots = 0;     // all that were kept
  int64_t manifests = 0;     // written anew
  int64_t files = 0;         // data and delete files that they name
  int64_t delete_files = 0;  // position-delete files of other engines, written anew
  double seconds = 0;
};

// Makes a table whose folder was moved or copied one of the place where it lies: until then it can
// be read there (its metadata names the old place), and writing is refused. One commit, which
// rewrites metadata only; the place that it was copied from is not touched. Open the table again
// afterwards. kNotFound: there is no such table, or an object of it did not come along.
arrow::Result<RelocateReport> Relocate(Lake& lake, std::string_view name);

}  // namespace timelake
