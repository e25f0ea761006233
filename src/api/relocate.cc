#include "maintain/relocate.h"

#include "table/lake_impl.h"
#include "timelake/maintain.h"

namespace timelake {

arrow::Result<RelocateReport> Relocate(Lake& lake, std::string_view name) {
  TL_ASSIGN_OR_RAISE(const table::TableName parsed, table::ParseTableName(name));
  table::Catalog& catalog = *lake.impl()->catalog;
  TL_RETURN_NOT_OK(catalog.Open(parsed).status());  // kNotFound with a near name
  const table::Env& env = catalog.env();
  const int64_t started = env.clock->BootMicros();
  table::Handle handle(env, parsed.full(), catalog.FolderOf(parsed));
  TL_ASSIGN_OR_RAISE(const auto done, maintain::RunRelocate(handle, {}));
  if (done.relocated) catalog.Evict(parsed);
  RelocateReport report;
  report.from = done.from;
  report.to = done.to;
  report.relocated = done.relocated;
  report.version = done.version;
  report.snapshots = done.snapshots;
  report.manifests = done.manifests;
  report.files = done.files;
  report.delete_files = done.delete_files;
  report.seconds = static_cast<double>(env.clock->BootMicros() - started) / 1e6;
  return report;
}

}  // namespace timelake
