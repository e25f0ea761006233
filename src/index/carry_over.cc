#include "index/carry_over.h"

#include <fmt/format.h>

#include "index/index_parts.h"
#include "index/last_value_index.h"
#include "index/next_index.h"
#include "table/contract.h"
#include "table/versions.h"

namespace timelake::index {
namespace {

// What the head names, named again; nullopt: its index has to be written for this snapshot.
std::optional<table::IndexObject> SameObject(const table::Env& env,
                                             const iceberg::TableMetadata& metadata,
                                             const iceberg::Snapshot& head) {
  // An index that a snapshot names has the columns that it was written with.
  if (head.schema_id != metadata.current_schema_id) return std::nullopt;
  const auto ancestor = FindAncestor(env, metadata, head);
  if (!ancestor.ok() || !ancestor->parts || !ancestor->since.empty()) return std::nullopt;
  // The peer knows complete indexes only.
  if (!ancestor->parts->part.empty() && table::IsShared(metadata)) return std::nullopt;
  table::IndexObject object;
  for (const char* key :
       {table::kLastValueIndex, table::kIndexBase, table::kIndexPart, table::kIndexRows}) {
    if (const auto found = head.summary.find(key); found != head.summary.end()) {
      object.summary.insert(*found);
    }
  }
  return object;
}

}  // namespace

Result<std::optional<table::IndexObject>> CarryOver(
    const table::Handle& handle, const table::Version& base, int64_t snapshot_id,
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& moved, bool order_kept) {
  const table::Env& env = handle.env();
  const iceberg::TableMetadata& metadata = *base.metadata;
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(metadata);
  if (head == nullptr) return std::nullopt;
  TL_ASSIGN_OR_RAISE(const auto contract, table::ReadContract(metadata));
  TL_ASSIGN_OR_RAISE(const auto rows, ValidAt(env, metadata, *head, contract));
  if (!rows) return std::nullopt;
  const iceberg::Schema& schema = *iceberg::CurrentSchema(metadata);
  for (const auto& batch : moved) {
    if (Status holds = CheckMoved(*rows, batch, schema, contract, order_kept); !holds.ok()) {
      env.Metric("index.miss");
      env.Log(LogLevel::kInfo, fmt::format("{}: the last-value index is not carried on: {}",
                                           handle.name(), MessageOf(holds)));
      return std::nullopt;
    }
  }
  if (auto same = SameObject(env, metadata, *head)) return same;
  TL_ASSIGN_OR_RAISE(auto object, WholeIndex(env, handle.folder(), snapshot_id, *rows, schema));
  return object;
}

}  // namespace timelake::index
