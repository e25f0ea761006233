#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "base/error.h"
#include "iceberg/metadata.h"
#include "scan/scan.h"
#include "table/contract.h"
#include "table/env.h"
#include "table/handle.h"
#include "table/settings.h"

namespace timelake::sql {

struct TableVersion;

// Plans and opens a scan; the request lacks only the schema.
using OpenScan = std::function<Result<std::shared_ptr<scan::Scanner>>(const TableVersion& table,
                                                                      scan::ScanRequest request)>;

// A table at the version that a transaction pinned: all that binding and scanning need of it.
// Immutable; plans and running scans share it, so it outlives the catalog entry.
struct TableVersion {
  std::string name;  // "namespace.table"
  int64_t number = 0;
  std::shared_ptr<const iceberg::TableMetadata> metadata;
  const iceberg::Schema* schema = nullptr;      // of the rows as seen; inside `metadata`
  const iceberg::Snapshot* snapshot = nullptr;  // null: an empty table
  table::Env env;
  table::Contract contract;
  bool dedup = false;        // rows that were replaced are left out of scans
  bool time_travel = false;  // `snapshot` was asked for by AT: others may be newer
  OpenScan open;             // tests give one that needs no files
  // The newest row of each series for which the predicate, on columns of the key, may hold
  // (newest_rows.h); null when no index holds. Unset: not to be asked for.
  std::function<std::shared_ptr<arrow::RecordBatch>(const TableVersion&, const scan::Predicate&)>
      latest;
  // The files that a scan would read, by metadata alone or with the rows that were replaced marked;
  // just which they are.
  // Unset: rows in memory stand in for the table.
  std::function<Result<scan::Plan>(const TableVersion&, const scan::Predicate&, bool mark)> plan;
  std::function<Result<scan::FileList>(const TableVersion&, const scan::Predicate&)> files;
  bool aggregates_from_metadata = true;      // setting
  std::string rewrite;                       // what stands in for the scan, for EXPLAIN
  std::shared_ptr<arrow::RecordBatch> rows;  // what stands in, or null
  // Paths of files that a scan leaves out, as what is asked of them is known from metadata; how
  // many they are, for EXPLAIN.
  std::shared_ptr<const std::set<std::string>> answered;
  std::string from_metadata;
};

// The current snapshot of a version that a handle has seen. kUnsupported for a table of a newer
// format.
Result<std::shared_ptr<const TableVersion>> CurrentVersion(const table::Handle& handle,
                                                           const table::Version& version,
                                                           const table::SettingMap& session);

// The table as a query sees it with other settings of the session.
Result<std::shared_ptr<const TableVersion>> WithSettings(const TableVersion& table,
                                                         const table::SettingMap& session);

// The table with only the newest row of each series and time, whatever the settings are.
std::shared_ptr<const TableVersion> WithDedup(const TableVersion& table);

// The table with these rows for all of its own.
std::shared_ptr<const TableVersion> LatestVersion(const TableVersion& table,
                                                  std::shared_ptr<arrow::RecordBatch> rows);

// The same with other rows in memory.
std::shared_ptr<const TableVersion> WithRows(const TableVersion& table,
                                             std::shared_ptr<arrow::RecordBatch> rows);

// The table with nothing but one row without columns in it, and with fewer files to read.
std::shared_ptr<const TableVersion> AnsweredVersion(const TableVersion& table,
                                                    std::string from_metadata);
std::shared_ptr<const TableVersion> WithoutFiles(const TableVersion& table,
                                                 std::set<std::string> answered,
                                                 std::string from_metadata);

// Rows that the snapshot's summary declares; 0 if it does not say.
int64_t DeclaredRows(const TableVersion& table);

}  // namespace timelake::sql
