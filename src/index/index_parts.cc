#include "index/index_parts.h"

#include <utility>

#include "base/text.h"

namespace timelake::index {
namespace {

Status CheckNoDeletes(const iceberg::Snapshot& snapshot) {
  const auto total = snapshot.summary.find("total-delete-files");
  if (total == snapshot.summary.end() || total->second == "0") return Status::OK();
  return NotFound("the table has delete files");
}

// Only these leave every row of the ancestor where it was.
bool KeepsRows(const iceberg::Snapshot& snapshot) {
  return snapshot.operation() == "append" || snapshot.operation() == "replace";
}

}  // namespace

std::optional<IndexParts> PartsOf(const iceberg::Snapshot& snapshot) {
  const auto find = [&](const char* key) {
    const auto found = snapshot.summary.find(key);
    return found == snapshot.summary.end() ? std::string() : found->second;
  };
  IndexParts parts;
  parts.base = find(table::kLastValueIndex);
  if (parts.base.empty()) {
    parts.base = find(table::kIndexBase);
    parts.part = find(table::kIndexPart);
    if (parts.base.empty() || parts.part.empty()) return std::nullopt;
  }
  const Result<int64_t> rows = ParseInt64(find(table::kIndexRows));
  if (rows.ok() && *rows >= 0) parts.base_rows = *rows;
  return parts;
}

Result<Ancestor> FindAncestor(const table::Env& env, const iceberg::TableMetadata& metadata,
                              const iceberg::Snapshot& snapshot) {
  Ancestor ancestor;
  const iceberg::Snapshot* at = &snapshot;
  while (true) {
    TL_RETURN_NOT_OK(CheckNoDeletes(*at));
    ancestor.parts = PartsOf(*at);
    if (ancestor.parts) {
      ancestor.sequence_number = at->sequence_number;
      return ancestor;
    }
    if (env.rules->index_chain && !KeepsRows(*at)) {
      return NotFound("snapshot {} is a {} without an index", at->snapshot_id, at->operation());
    }
    if (!ancestor.since.insert(at->snapshot_id).second) {
      return NotFound("snapshot {} is its own ancestor", at->snapshot_id);
    }
    if (!at->parent_snapshot_id) return ancestor;
    const iceberg::Snapshot* parent = iceberg::SnapshotById(metadata, *at->parent_snapshot_id);
    if (parent == nullptr) {
      return NotFound("snapshot {} has expired, none since names an index",
                      *at->parent_snapshot_id);
    }
    at = parent;
  }
}

Result<std::shared_ptr<arrow::RecordBatch>> ReadParts(const table::Env& env,
                                                      const IndexParts& parts,
                                                      const iceberg::Schema& schema,
                                                      const table::Contract& contract) {
  if (parts.part.empty()) return Read(env, parts.base, schema);
  const std::string both = parts.base + "+" + parts.part;
  if (auto known = Recall(env, both, schema)) return known;
  TL_ASSIGN_OR_RAISE(auto base, Read(env, parts.base, schema));
  TL_ASSIGN_OR_RAISE(auto part, Read(env, parts.part, schema));
  TL_ASSIGN_OR_RAISE(auto rows, Merge(base, part, schema, contract));
  Remember(env, both, rows);
  return rows;
}

}  // namespace timelake::index
