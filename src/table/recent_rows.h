#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/record_batch.h>

#include "iceberg/schema.h"
#include "table/env.h"

namespace timelake::table {

// Rows of small data files that this process has written, as they are in the file: they will most
// likely be merged soon, and to read a file of many columns takes longer than to write it. Bounded
// for the process, the least recently used go first.

// More are not kept: of these the reading does not matter so much.
inline constexpr int64_t kMostRecentBytes = 1 << 20;

// `rows`, which take `bytes`, must not point into memory of a caller. `uri`: of the file.
void KeepRecent(const Env& env, const std::string& uri, const iceberg::Schema& schema,
                std::shared_ptr<arrow::RecordBatch> rows, int64_t bytes);

// Null: not kept, or with other columns.
std::shared_ptr<arrow::RecordBatch> RecentRows(const Env& env, const std::string& uri,
                                               const iceberg::Schema& schema);

// The file is no more.
void ForgetRecent(const Env& env, const std::string& uri);

}  // namespace timelake::table
