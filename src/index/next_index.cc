#include "index/next_index.h"

#include <utility>

#include <fmt/format.h>

#include "base/uuid.h"
#include "index/index_parts.h"
#include "table/versions.h"

namespace timelake::index {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// With a part of p rows, r of them new in each append, and a base of b: until the next whole index
// p / r parts of p / 2 rows on average are written, then b rows. Least for p * p = 2 * b * r.
bool StaysPart(int64_t base_rows, int64_t part_rows, int64_t new_rows) {
  if (2 * part_rows >= base_rows) return false;
  return static_cast<double>(part_rows) * static_cast<double>(part_rows) <
         2.0 * static_cast<double>(base_rows) * static_cast<double>(new_rows);
}

Result<PreparedIndex> Prepared(bool is_part, Batch rows, const iceberg::Schema& schema) {
  PreparedIndex index;
  index.is_part = is_part;
  index.schema = schema;
  TL_ASSIGN_OR_RAISE(index.bytes, Encode(rows, schema));
  index.rows = std::move(rows);
  return index;
}

Result<PreparedIndex> Whole(const Batch& rows, const iceberg::Schema& schema) {
  TL_ASSIGN_OR_RAISE(auto index, Prepared(/*is_part=*/false, rows, schema));
  index.summary[table::kIndexRows] = std::to_string(rows->num_rows());
  return index;
}

// The base of the head with a larger part; nullopt if the whole is to be written.
Result<std::optional<PreparedIndex>> NextPart(const table::Env& env,
                                              const iceberg::TableMetadata& metadata,
                                              const iceberg::Snapshot& head, const Batch& newest,
                                              const iceberg::Schema& schema,
                                              const table::Contract& contract) {
  // An index and its parts have the same columns.
  if (head.schema_id != metadata.current_schema_id) return std::nullopt;
  const auto ancestor = FindAncestor(env, metadata, head);
  if (!ancestor.ok() || !ancestor->parts || !ancestor->since.empty()) return std::nullopt;
  const IndexParts& parts = *ancestor->parts;
  if (!parts.base_rows || *parts.base_rows <= env.rules->index_whole_rows) return std::nullopt;
  Batch part = newest;
  if (!parts.part.empty()) {
    const auto known = Read(env, parts.part, schema);
    if (!known.ok()) return std::nullopt;  // whoever builds the whole will say why
    TL_ASSIGN_OR_RAISE(part, Merge(*known, newest, schema, contract));
  }
  if (!StaysPart(*parts.base_rows, part->num_rows(), newest->num_rows())) return std::nullopt;
  TL_ASSIGN_OR_RAISE(auto index, Prepared(/*is_part=*/true, std::move(part), schema));
  index.summary[table::kIndexBase] = parts.base;
  index.summary[table::kIndexRows] = std::to_string(*parts.base_rows);
  return index;
}

}  // namespace

table::IndexObject NamedIndex(const table::Env& env, const std::string& folder, int64_t snapshot_id,
                              const PreparedIndex& prepared) {
  const std::string key =
      fmt::format("{}/metadata/{}-{}-{}.parquet", folder, prepared.is_part ? "lvp" : "lvi",
                  snapshot_id, FormatUuid(NewUuidV4(*env.random)));
  const std::string uri = store::UriOf(*env.store, key);
  table::IndexObject object;
  object.summary = prepared.summary;
  object.summary[prepared.is_part ? table::kIndexPart : table::kLastValueIndex] = uri;
  object.put = store::PutRequest{key, prepared.bytes};
  object.on_success = [env, uri, schema = prepared.schema, rows = prepared.rows] {
    Remember(env, uri, schema, rows);
  };
  return object;
}

Result<table::IndexObject> WholeIndex(const table::Env& env, const std::string& folder,
                                      int64_t snapshot_id, const Batch& rows,
                                      const iceberg::Schema& schema) {
  TL_ASSIGN_OR_RAISE(const auto index, Whole(rows, schema));
  return NamedIndex(env, folder, snapshot_id, index);
}

Result<std::optional<PreparedIndex>> PrepareIndex(const table::Env& env, const table::Version& on,
                                                  const Batch& newest,
                                                  const iceberg::Schema& schema) {
  const iceberg::TableMetadata& base = *on.metadata;
  // The rows were aligned to another schema than the one now current: no index for this snapshot; a
  // later append builds it again from the files.
  if (!iceberg::SameFields(schema, *iceberg::CurrentSchema(base))) return std::nullopt;
  Batch rows = newest;
  if (const auto* head = iceberg::CurrentSnapshot(base)) {
    TL_ASSIGN_OR_RAISE(const table::Contract contract, table::ReadContract(base));
    if (!table::IsShared(on)) {
      TL_ASSIGN_OR_RAISE(auto part, NextPart(env, base, *head, newest, schema, contract));
      if (part) return part;
    }
    TL_ASSIGN_OR_RAISE(auto older, ValidAt(env, base, *head, contract));
    if (!older) return std::nullopt;
    TL_ASSIGN_OR_RAISE(rows, Merge(*older, newest, schema, contract));
  }
  TL_ASSIGN_OR_RAISE(auto whole, Whole(rows, schema));
  return whole;
}

Result<std::optional<table::IndexObject>> NextIndex(const table::Env& env,
                                                    const std::string& folder,
                                                    const table::Version& base, int64_t snapshot_id,
                                                    const Batch& newest,
                                                    const iceberg::Schema& schema) {
  TL_ASSIGN_OR_RAISE(const auto prepared, PrepareIndex(env, base, newest, schema));
  if (!prepared) return std::nullopt;
  return NamedIndex(env, folder, snapshot_id, *prepared);
}

}  // namespace timelake::index
