#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "iceberg/metadata.h"
#include "index/last_value_index.h"

namespace timelake::index {

// Where the last-value index of a snapshot lies (docs/format.md). A small one is one object. A
// large one is not written anew for every few rows: a snapshot then names the complete index of an
// ancestor, the base, and the part, the newest row of each series among what was written since.
struct IndexParts {
  std::string base;                  // URI of a complete index
  std::string part;                  // URI; empty: the base is complete
  std::optional<int64_t> base_rows;  // if the summary says
};

// What the summary of this very snapshot names; nullopt: nothing.
std::optional<IndexParts> PartsOf(const iceberg::Snapshot& snapshot);

// The newest ancestor (or the snapshot itself) whose index is known and tells the table's current
// columns right, and what came since.
struct Ancestor {
  std::optional<IndexParts> parts;  // nullopt: the empty table, before its first snapshot
  int64_t sequence_number = -1;
  std::set<int64_t> since;  // ids of the snapshots that followed
};

// kNotFound: why there is none, e.g. a snapshot between them that deleted rows. Reads nothing.
Result<Ancestor> FindAncestor(const table::Env& env, const iceberg::TableMetadata& metadata,
                              const iceberg::Snapshot& snapshot);

// Both parts as one; cached by URI, in the current schema.
Result<std::shared_ptr<arrow::RecordBatch>> ReadParts(const table::Env& env,
                                                      const IndexParts& parts,
                                                      const iceberg::Schema& schema,
                                                      const table::Contract& contract);

}  // namespace timelake::index
