#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "store/object_store.h"
#include "table/env.h"

namespace timelake::table {

// Batch ids of snapshots that have expired (docs/commit-protocol.md, "Batch ids"). Ids of live
// snapshots stand in their summaries. The log is named by the property `timelake.batch-id-log`: up
// to 200 rows as JSON in the property itself, more as a Parquet file named by its URI.
struct BatchIdRow {
  std::string id;
  int64_t snapshot_id = 0;
  int64_t timestamp_ms = 0;
  int64_t rows = 0;
  // Kept snapshots from which parent links no longer lead to the id. It counts if one of them is
  // the head or reachable from it.
  std::set<int64_t> behind;
};
using BatchIdLog = std::vector<BatchIdRow>;

inline constexpr size_t kInlineBatchIds = 200;

// A missing or unreadable log shortens the horizon: an empty log, and a note in `env.Log`.
BatchIdLog ReadBatchIdLog(const Env& env, const iceberg::TableMetadata& metadata);

// Property value for `log`; when it does not fit, `object` is the file to be stored before the
// commit. Empty log: nullopt, the property is removed.
struct EncodedBatchIdLog {
  std::optional<std::string> property;
  std::optional<store::PutRequest> object;
};
Result<EncodedBatchIdLog> EncodeBatchIdLog(const Env& env, const std::string& folder,
                                           const BatchIdLog& log);

// URI of the log's file, when it is one.
std::optional<std::string> BatchIdLogFile(const iceberg::TableMetadata& metadata);

struct BatchIdHit {
  int64_t snapshot_id = 0;
  int64_t rows = 0;  // of the first append
};

// Whether an ancestor of the branch head carries `id`; live snapshots first, then the log.
std::optional<BatchIdHit> FindBatchId(const Env& env, const iceberg::TableMetadata& metadata,
                                      const std::string& id);

// The log after the snapshots outside `keep` expire: their ids are folded in, anchored at every
// kept snapshot that they hide behind; rows older than `oldest_ms` and rows behind nothing go.
BatchIdLog FoldBatchIds(const Env& env, const iceberg::TableMetadata& metadata,
                        const BatchIdLog& log, const std::set<int64_t>& keep, int64_t oldest_ms);

}  // namespace timelake::table
