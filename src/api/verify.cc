#include "maintain/verify.h"

#include "api/append.h"
#include "table/load.h"
#include "table/table_impl.h"
#include "timelake/maintain.h"

namespace timelake {

arrow::Result<VerifyReport> Verify(Table& table, const VerifyOptions& options) {
  table::Handle& handle = *table.impl()->handle;
  const table::Env& env = handle.env();
  const int64_t started = env.clock->BootMicros();
  TL_ASSIGN_OR_RAISE(const table::Version version, table::LoadNewest(handle));
  TL_ASSIGN_OR_RAISE(
      const write::Target target,
      api::MakeTarget(handle, *version.metadata, table.impl()->catalog->session_settings(), {}));
  TL_ASSIGN_OR_RAISE(const auto found, maintain::RunVerify(handle, version, target,
                                                           {options.deep, options.cancelled}));
  VerifyReport report;
  for (const auto& finding : found.findings)
    report.findings.push_back({finding.file, finding.what});
  report.version = version.number;
  report.snapshots = found.snapshots;
  report.manifests = found.manifests;
  report.data_files = found.data_files;
  report.delete_files = found.delete_files;
  report.bytes = found.bytes;
  report.rows_read = found.rows_read;
  report.unreferenced_objects = found.unreferenced;
  report.unreferenced_bytes = found.unreferenced_bytes;
  report.seconds = static_cast<double>(env.clock->BootMicros() - started) / 1e6;
  return report;
}

}  // namespace timelake
