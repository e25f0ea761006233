#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "timelake/options.h"

namespace timelake {

struct TableInfo {
  std::string name;      // "namespace.table"
  std::string location;  // URI
  int64_t version = 0;
  std::string table_uuid;
  std::string format_version;  // `timelake.format-version`
  std::string time_column;     // empty for a plain table
  std::vector<std::string> series_key;
  std::string chunk;                      // "hour", "day", "month", "year"; empty for a plain table
  std::vector<std::string> partition_by;  // beside the time: "bucket(16, device)", "identity(site)"
  bool dedup = false;
  std::string ingest_time_column;  // empty: none
  std::optional<int64_t> retention_us;
  int64_t rows = 0;  // before dedup on read and deletes
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t delete_files = 0;
  int64_t snapshots = 0;
  int64_t manifests = 0;
  std::string last_value_index;  // URI of the complete one (docs/format.md); empty: none
  int64_t batch_id_horizon_ms =
      0;  // batch ids committed since then are certainly known; 0: all of them
  std::vector<std::string>
      foreign_snapshots;     // replace snapshots by unknown engines, "id (engine)"
  bool shared = false;       // other engines write here (docs/commit-protocol.md)
  int64_t hint_version = 0;  // what version-hint.text names; 0: absent or garbage
  std::map<std::string, std::string> properties;  // as stored, settings and foreign ones
};

struct SnapshotInfo {
  int64_t snapshot_id = 0;
  std::optional<int64_t> parent_id;
  int64_t sequence_number = 0;
  int64_t timestamp_ms = 0;  // UTC
  std::string operation;     // append, replace, overwrite, delete
  bool current = false;
  std::map<std::string, std::string> summary;
};

struct FileInfo {
  std::string path;       // URI
  std::string content;    // data, position-deletes, equality-deletes
  std::string partition;  // "time_day=2026-01-03", empty when unpartitioned
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t sequence_number = 0;
  std::optional<int64_t> min_time_us;  // of the time column
  std::optional<int64_t> max_time_us;
};

struct DeleteOptions {
  // Only counts the rows.
  bool dry_run = false;
  // Stops the delete between steps; nothing is committed afterwards. Polled from several threads.
  std::function<bool()> cancelled;
};

struct DeleteResult {
  int64_t rows = 0;             // that a query saw and that are gone (or would be)
  int64_t files_dropped = 0;    // without a row left
  int64_t files_rewritten = 0;  // those with rows left
  int64_t files_written = 0;    // for them
  int64_t version = 0;          // metadata version without the rows; unchanged when there were none
  int64_t snapshot_id = 0;      // 0 when there were none
};

namespace detail {
class TableImpl;
}

// A handle on one table. Cheap to copy; all copies share the version they know. Thread-safe:
// appends through one handle from several threads are independent commits.
class Table {
 public:
  explicit Table(std::shared_ptr<detail::TableImpl> impl);

  const std::string& name() const;      // "namespace.table"
  const std::string& location() const;  // URI
  int64_t version() const;              // as last seen; does no I/O

  // Current schema as Arrow sees it; field ids in the metadata key "PARQUET:field_id".
  std::shared_ptr<arrow::Schema> schema() const;

  // Writes all rows of `reader` as one commit, all or nothing. Columns are aligned by exact name:
  // a missing nullable column is null; an extra column (but see the setting `new-columns`), a
  // missing key or time column, a value that does not fit its column, NULL or NaN time, NaN in the
  // key -> kInvalidArgument, naming the column, the row and the value; nothing is committed. Where
  // the columns are changed meanwhile, the rows go to the columns of the same names as they are at
  // the commit. kConflict: nothing was committed.
  // kCommitUnknown: it may have been; nothing was deleted; retry with the same batch id.
  arrow::Result<AppendResult> Append(arrow::RecordBatchReader* reader,
                                     const AppendOptions& options = {});
  arrow::Result<AppendResult> Append(const std::shared_ptr<arrow::RecordBatch>& batch,
                                     const AppendOptions& options = {});

  // The newest row of every series, ordered by series key; from the last-value index where it
  // covers the table, else by a scan. kInvalidArgument for a plain table.
  arrow::Result<std::shared_ptr<arrow::Table>> Latest();

  arrow::Result<TableInfo> Info();
  arrow::Result<std::vector<SnapshotInfo>> Snapshots();  // oldest first
  arrow::Result<std::vector<FileInfo>> Files();          // of the current snapshot, by path

  // Looks for a newer version; returns it. Appends and queries do so by themselves.
  arrow::Result<int64_t> Refresh();

  // Sets (value) or removes (nullopt) properties in one commit without a snapshot. Names with or
  // without "timelake.", with '-' or '_'. Unknown settings, values out of range and settings fixed
  // at creation are refused with what is accepted.
  arrow::Status SetProperties(const std::map<std::string, std::optional<std::string>>& properties);

  // Changes the columns, one change after the other, all in one commit without a snapshot; no data
  // file is rewritten (Iceberg specification, "Schema Evolution"). Rows written before have NULL in
  // a new column, and their values under a new name or type; a new column of a dropped one's name
  // is another column. kInvalidArgument, naming the column and what protects it: a change of the
  // time or ingest-time column, of the series key, of what partitions and orders are made of or
  // what a property names; a name that is taken, also in other case; a type that does not grow (int
  // to long, float to double, digits of a decimal). Nothing to change: no commit.
  arrow::Status ChangeSchema(const std::vector<SchemaChange>& changes);

  // Deletes the rows for which `where`, a condition in SQL as behind WHERE, is true, in one commit;
  // "true" deletes all. Files without a row left are dropped, others written anew. Of a table with
  // dedup the rows that a query sees count, and earlier ones of the same series and time go with
  // them. Rows that are appended meanwhile stay; where files are merged meanwhile, rows are looked
  // for again. Earlier snapshots keep the rows until they expire. kInvalidArgument: the condition
  // (DuckDB's message). kUnsupported: a file that cannot be rewritten. kConflict: nothing was
  // deleted. kCommitUnknown: it may have been; nothing else was; delete again.
  arrow::Result<DeleteResult> Delete(std::string_view where, const DeleteOptions& options = {});

  // Makes an earlier snapshot current again; later snapshots stay until they expire. kNotFound if
  // the table does not hold it.
  arrow::Status Rollback(int64_t snapshot_id);

  // SQL that reads this table with plain DuckDB and its iceberg extension.
  std::string DuckDbSql() const;

  const std::shared_ptr<detail::TableImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<detail::TableImpl> impl_;
};

}  // namespace timelake
