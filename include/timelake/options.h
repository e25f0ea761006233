#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace timelake {

enum class LogLevel { kDebug, kInfo, kWarning };

// What a library that never prints tells instead. Both callbacks may be called from any thread,
// also from several at once, and must not call back into the library.
struct Observer {
  // Retries, rebases, index misses, repairs of the version hint: one line, no newline.
  std::function<void(LogLevel, const std::string& message)> log;
  // Counters, e.g. ("store.get", 1), ("commit.attempts", 3), ("index.miss", 1), ("scan.files", 12).
  std::function<void(const char* name, int64_t value)> metric;
};

struct LakeOptions {
  // As docs/object-stores.md has them; none exist for local folders. An unknown key is an error.
  std::map<std::string, std::string> storage_options;
  // Session-level settings (`timelake settings` lists them), e.g. {"commit-timeout", "10s"}.
  std::map<std::string, std::string> settings;
  std::shared_ptr<Observer> observer;
};

enum class Chunk { kHour, kDay, kMonth, kYear };

// The contract of a new table. Names are exact column names of the schema.
struct TableOptions {
  // Timestamp column that rows are ordered and partitioned by; made required. Empty: a plain table
  // without partitions, index or dedup.
  std::string time_column;
  std::vector<std::string> series_key;  // columns that identify a series; may be nullable
  Chunk chunk = Chunk::kDay;            // one partition per hour, day, month or year (UTC)
  // Further partition fields (Iceberg specification, "Partition Transforms"): "bucket(16, device)",
  // "bucket(16)" (of the only series key column), "identity(site)". Of columns of the series key
  // where dedup is on. For tables that many partitions at once grow too large without.
  std::vector<std::string> partition_by;
  std::optional<bool> dedup;  // one row per (series, time); default: true with a series key
  std::string retention;      // duration, e.g. "90d"; empty: for ever
  bool ingest_time = false;   // adds a required column `_ingest_ts`, filled on append
  std::map<std::string, std::string>
      properties;  // settings of table level, or foreign properties with a dot
  bool if_not_exists = false;
};

// The options with the partitions that suit a table of so many rows a day, at least 1: a chunk that
// gets a million rows or more, and beyond 100 million rows an hour buckets of the first column of
// the series key with about 50 million each.
TableOptions WithExpectedRows(TableOptions options, int64_t rows_per_day);

// One change of a table's columns. Types are written as for CreateTable ("double", "list<int>").
struct SchemaChange {
  enum class Kind { kAdd, kRename, kDrop, kWiden };
  Kind kind = Kind::kAdd;
  std::string column;
  std::string to;     // kAdd, kWiden: the type; kRename: the new name
  std::string after;  // kAdd: the column that it comes behind; empty: at the end
};

enum class OnFuture { kError, kSkip };

struct AppendOptions {
  // An append whose id the table's history holds already is a no-op that reports `duplicate`.
  std::string batch_id;
  // Extra keys for the snapshot summary; keys that start with "timelake." are refused.
  std::map<std::string, std::string> properties;
  // Rows later than now + `max-future`: refuse the append, or drop those rows and count them.
  std::optional<OnFuture> on_future;
  // Call-level settings, over the table's.
  std::map<std::string, std::string> settings;
  // Stops the append between steps; nothing is committed afterwards. Polled from several threads.
  std::function<bool()> cancelled;
};

struct AppendResult {
  int64_t rows = 0;     // rows committed (of the first append, when `duplicate`)
  int64_t skipped = 0;  // rows dropped by `on_future = skip` or the setting on-expired
  int64_t files = 0;    // data files committed
  int64_t bytes = 0;    // their size
  int64_t version =
      0;  // metadata version that holds the rows; unchanged when nothing was committed
  int64_t snapshot_id = 0;
  int attempts = 0;  // commit attempts; 0 when nothing was committed
  // Columns that the table has got by this commit: setting `new-columns`.
  std::vector<std::string> added_columns;
  bool duplicate = false;  // the batch id was known: nothing was written
  double commit_ms = 0;    // time from the first attempt to the acknowledgement
  // Of the maintenance that the append did afterwards (setting auto-maintain); most do none.
  int64_t files_merged = 0;
  int64_t files_written = 0;      // by merging them
  std::string maintenance_error;  // why it failed; the append has not
};

}  // namespace timelake
