#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "index/last_value_index.h"
#include "table/snapshot_attempt.h"

namespace timelake::index {

// A complete index of these rows, in the table's current schema, for snapshot `snapshot_id`.
Result<table::IndexObject> WholeIndex(const table::Env& env, const std::string& folder,
                                      int64_t snapshot_id,
                                      const std::shared_ptr<arrow::RecordBatch>& rows,
                                      const iceberg::Schema& schema);

// The index of a snapshot that adds rows to the head of `base`, but for its name. nullopt: there is
// none, because none holds at the head, or the table's columns have changed since `schema`.
//
// A large index grows by parts (index_parts.h), so that a few rows cost about their own size. It is
// written anew when the part has grown so much that this costs less in the long run. Tables that
// the peer writes, too, always get a complete one: it knows no other.
struct PreparedIndex {
  bool is_part = false;
  iceberg::Schema schema;
  std::shared_ptr<arrow::RecordBatch> rows;
  std::shared_ptr<arrow::Buffer> bytes;
  std::map<std::string, std::string> summary;  // what tells of it besides its URI
};
// `newest` has the newest row of each series among the new rows, in `schema`.
Result<std::optional<PreparedIndex>> PrepareIndex(const table::Env& env, const table::Version& base,
                                                  const std::shared_ptr<arrow::RecordBatch>& newest,
                                                  const iceberg::Schema& schema);

// As an object of snapshot `snapshot_id`. `folder`: the table's, a key of the store.
table::IndexObject NamedIndex(const table::Env& env, const std::string& folder, int64_t snapshot_id,
                              const PreparedIndex& prepared);

// Both at once.
Result<std::optional<table::IndexObject>> NextIndex(
    const table::Env& env, const std::string& folder, const table::Version& base,
    int64_t snapshot_id, const std::shared_ptr<arrow::RecordBatch>& newest,
    const iceberg::Schema& schema);

}  // namespace timelake::index
