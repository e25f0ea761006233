#pragma once

#include <functional>
#include <map>
#include <string>

#include <arrow/record_batch.h>

#include "table/catalog.h"
#include "timelake/options.h"
#include "write/write.h"

namespace timelake::api {

// What an append to `metadata` writes to; kUnsupported when this version cannot write the table.
Result<write::Target> MakeTarget(const table::Handle& handle,
                                 const iceberg::TableMetadata& metadata,
                                 const table::SettingMap& session,
                                 const std::map<std::string, std::string>& call_settings);

// What is said of rows that did not fit the columns as of schema `seen`: if the table has others by
// now, which `handle` then knows, they may fit those, and the error is kConflict.
Status CheckStale(table::Handle& handle, int seen, Status status);

// Of an append that refreshes a rollup.
struct RefreshMark {
  std::map<std::string, std::string> summary;  // keys of the library's own
  std::function<Status(const table::Version& base)> check;
};

// Writes the rows of `reader` and commits them with the table's last-value index. `create`: the
// metadata of a table that is not there yet and comes with the same commit.
Result<AppendResult> Append(table::Handle& handle, const table::SettingMap& session,
                            arrow::RecordBatchReader* reader, const AppendOptions& options,
                            const iceberg::TableMetadata* create = nullptr);

// The same to a rollup, where an append by hand is refused. A snapshot without rows, if there are
// none.
Result<AppendResult> AppendRefresh(table::Handle& handle, const table::SettingMap& session,
                                   arrow::RecordBatchReader* reader, const AppendOptions& options,
                                   const RefreshMark& mark);

// The newest row of every series at `version`: from the index, else by a scan.
Result<std::shared_ptr<arrow::Table>> Latest(const table::Env& env, const std::string& name,
                                             const table::Version& version);

}  // namespace timelake::api
