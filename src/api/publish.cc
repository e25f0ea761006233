#include "store/scheme.h"
#include "store/web_index.h"
#include "table/lake_impl.h"
#include "timelake/lake.h"

namespace timelake {

arrow::Result<PublishReport> Lake::Publish() {
  table::Catalog& catalog = *impl_->catalog;
  store::ObjectStore& store = *catalog.env().store;
  TL_ASSIGN_OR_RAISE(const std::string root, store::KeyOf(store, impl_->location));
  TL_RETURN_NOT_OK(store::CheckWritable(store, root));
  TL_ASSIGN_OR_RAISE(const auto names, ListTables());
  PublishReport report;
  store::WebIndex index;
  for (const std::string& name : names) {
    TL_ASSIGN_OR_RAISE(const table::TableName parsed, table::ParseTableName(name));
    TL_ASSIGN_OR_RAISE(const auto handle, catalog.Open(parsed));
    const table::Version version = handle->known();
    index.tables.push_back({name, version.number, version.metadata->table_uuid});
    report.tables.push_back({name, version.number, store::UriOf(store, version.info.key)});
  }
  const std::string key = root + "/" + store::kWebIndexName;
  const std::string names_key = root + "/" + store::kNamesIndexName;
  TL_RETURN_NOT_OK(
      store.PutAll({{names_key, arrow::Buffer::FromString(store::WriteNamesIndex(index))},
                    {key, arrow::Buffer::FromString(store::WriteWebIndex(index))}}));
  TL_RETURN_NOT_OK(store.Sync({names_key, key}));
  report.index = store::UriOf(store, key);
  return report;
}

}  // namespace timelake
