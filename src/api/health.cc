#include "maintain/health.h"

#include <utility>

#include "api/append.h"
#include "maintain/live_files.h"
#include "table/hint.h"
#include "table/load.h"
#include "table/table_impl.h"
#include "timelake/maintain.h"

namespace timelake {

arrow::Result<TableHealth> Health(Table& table) {
  table::Handle& handle = *table.impl()->handle;
  TL_ASSIGN_OR_RAISE(const table::Version newest, table::LoadNewest(handle));
  TL_ASSIGN_OR_RAISE(
      const auto target,
      api::MakeTarget(handle, *newest.metadata, table.impl()->catalog->session_settings(), {}));
  TL_ASSIGN_OR_RAISE(const auto live,
                     maintain::LiveFiles::Read(handle.env(), newest.metadata, target));
  const maintain::FileHealth files = maintain::HealthOf(live->files(), live->meet());
  TableHealth health;
  health.small_files = files.small;
  health.unsorted_files = files.unsorted;
  if (target.contract.is_time_series()) health.overlapping_files = files.overlapping;
  TL_ASSIGN_OR_RAISE(const table::Hint hint, table::ReadHint(handle));
  health.hint_lag = hint.version ? newest.number - *hint.version : -1;
  MaintainOptions plan;
  plan.dry_run = true;
  plan.orphans = false;
  TL_ASSIGN_OR_RAISE(MaintainReport report, Maintain(table, plan));
  health.due = std::move(report.planned);
  return health;
}

}  // namespace timelake
