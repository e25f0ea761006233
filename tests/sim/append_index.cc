#include "sim/append_index.h"

#include <fmt/format.h>

#include "base/uuid.h"
#include "index/last_value_index.h"
#include "table/contract.h"

namespace timelake::sim {
namespace {

Result<std::optional<table::IndexObject>> Extend(table::Handle& handle, const DataFiles& data,
                                                 const table::Version& base, int64_t snapshot_id) {
  const table::Env& env = handle.env();
  TL_ASSIGN_OR_RAISE(const auto contract, table::ReadContract(*base.metadata));
  auto rows = data.newest;
  if (const auto* head = iceberg::CurrentSnapshot(*base.metadata)) {
    TL_ASSIGN_OR_RAISE(auto older, index::ValidAt(env, *base.metadata, *head, contract));
    if (!older) return std::nullopt;
    TL_ASSIGN_OR_RAISE(rows, index::Merge(*older, rows, data.schema, contract));
  }
  TL_ASSIGN_OR_RAISE(auto bytes, index::Encode(rows, data.schema));
  const std::string key = fmt::format("{}/metadata/lvi-{}-{}.parquet", handle.folder(), snapshot_id,
                                      FormatUuid(NewUuidV4(*env.random)));
  table::IndexObject object;
  object.uri = store::UriOf(*env.store, key);
  object.put = store::PutRequest{key, std::move(bytes)};
  object.on_success = [env, uri = object.uri, rows] { index::Remember(env, uri, rows); };
  return object;
}

}  // namespace

table::IndexFn AppendIndex(table::Handle& handle, const DataFiles& data) {
  return [&handle, &data](const table::Version& base, int64_t snapshot_id) {
    return Extend(handle, data, base, snapshot_id);
  };
}

}  // namespace timelake::sim
