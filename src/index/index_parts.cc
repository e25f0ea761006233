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

bool IsOurs(const iceberg::Snapshot& snapshot) {
  const auto writer = snapshot.summary.find(table::kWriter);
  return writer != snapshot.summary.end() && writer->second.starts_with("timelake-cpp");
}

// Whether the values of a snapshot's index are in their columns. The Rust timelake (0.7.0) extends
// an index by position: where it goes back over a change of columns, values are in others' places.
// Not known (the snapshots in between have expired) counts as no.
bool IsInItsColumns(const iceberg::TableMetadata& metadata, const iceberg::Snapshot& snapshot) {
  if (metadata.schemas.size() == 1) return true;
  const iceberg::Snapshot* at = &snapshot;
  for (size_t steps = 0; at != nullptr && steps <= metadata.snapshots.size(); ++steps) {
    if (at->schema_id != snapshot.schema_id) return false;
    if (!at->parent_snapshot_id || (IsOurs(*at) && PartsOf(*at))) return true;
    at = iceberg::SnapshotById(metadata, *at->parent_snapshot_id);
  }
  return false;
}

// Whether a snapshot's index tells all columns of today. One that is younger than the index is NULL
// in all its rows. One that was away then and is back (an engine has made an older schema the
// current one) has values that the index lacks.
bool HasAllColumns(const iceberg::TableMetadata& metadata, const iceberg::Snapshot& snapshot) {
  if (metadata.schemas.size() == 1 || !snapshot.schema_id) return true;
  const iceberg::Schema* then = iceberg::SchemaById(metadata, *snapshot.schema_id);
  if (then == nullptr) return false;
  for (const iceberg::Field& field : iceberg::CurrentSchema(metadata)->fields) {
    if (iceberg::FindFieldById(*then, field.id) != nullptr) continue;
    for (const iceberg::Schema& schema : metadata.schemas) {
      if (schema.schema_id > then->schema_id) continue;
      if (iceberg::FindFieldById(schema, field.id) != nullptr) return false;
    }
  }
  return true;
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
    auto parts = PartsOf(*at);
    if (parts && IsInItsColumns(metadata, *at) && HasAllColumns(metadata, *at)) {
      ancestor.parts = std::move(parts);
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
  Remember(env, both, schema, rows);
  return rows;
}

}  // namespace timelake::index
