#include <algorithm>
#include <utility>

#include "maintain/free_versions.h"
#include "maintain/orphans.h"
#include "table/catalog.h"
#include "table/contract.h"
#include "table/lake_impl.h"
#include "table/load.h"
#include "timelake/maintain.h"

namespace timelake {
namespace {

struct Limits {
  int64_t orphan_age_us = 0;
  int64_t deadline_us = 0;  // boot time; 0: none
};

bool IsCancelled(const MaintainOptions& options) {
  return options.cancelled && options.cancelled();
}

// What a dropped table has left: versions that the tombstone is above of, with what they name, and
// what no version refers to.
Status CleanUp(table::Handle& handle, const MaintainOptions& options, const Limits& limits,
               MaintainReport* report) {
  const auto enough = [&] {
    return limits.deadline_us != 0 && handle.env().clock->BootMicros() >= limits.deadline_us;
  };
  if (options.expire && !options.dry_run) {
    TL_ASSIGN_OR_RAISE(const auto freed, maintain::RunFree(handle, 0, enough));
    report->versions_freed = freed.versions;
    report->objects_deleted = freed.versions + freed.objects;
  }
  if (!options.orphans || enough()) return Status::OK();
  maintain::OrphanOptions orphans;
  orphans.min_age_us = limits.orphan_age_us;
  orphans.dry_run = options.dry_run;
  orphans.cancelled = options.cancelled;
  orphans.enough = enough;
  maintain::OrphanReport done;
  TL_RETURN_NOT_OK(maintain::RunOrphans(handle, orphans, &done));
  report->orphans_young = done.young;
  if (done.objects > 0) {
    report->planned.push_back(
        {"orphans", "", "left by a dropped table", done.objects, done.bytes, 0});
  }
  if (options.dry_run) return Status::OK();
  report->orphans_deleted = done.objects;
  report->orphan_bytes = done.bytes;
  return Status::OK();
}

// Folders of a namespace without a table that is there.
Result<std::vector<std::string>> OtherFolders(table::Catalog& catalog,
                                              const std::string& name_space) {
  TL_ASSIGN_OR_RAISE(auto folders,
                     catalog.env().store->ListFolders(catalog.FolderOf({name_space, ""})));
  TL_ASSIGN_OR_RAISE(const auto tables, catalog.Tables(name_space));
  std::erase_if(folders, [&](const std::string& folder) {
    return !table::ParseTableName(name_space + "." + folder).ok() ||
           std::find(tables.begin(), tables.end(), folder) != tables.end();
  });
  return folders;
}

}  // namespace

arrow::Result<std::vector<DroppedTable>> MaintainDropped(Lake& lake,
                                                         const MaintainOptions& options) {
  table::Catalog& catalog = *lake.impl()->catalog;
  const table::Env& env = catalog.env();
  Limits limits;
  if (options.orphans) {
    TL_ASSIGN_OR_RAISE(limits.orphan_age_us,
                       maintain::ParseOrphanAge(options.orphan_min_age, options.force));
  }
  const int64_t started = env.clock->BootMicros();
  if (options.max_seconds > 0) {
    limits.deadline_us = started + static_cast<int64_t>(std::min(options.max_seconds, 1e9) * 1e6);
  }
  std::vector<DroppedTable> dropped;
  if (options.shard != 0) return dropped;
  TL_ASSIGN_OR_RAISE(const auto name_spaces, catalog.Namespaces());
  for (const std::string& name_space : name_spaces) {
    TL_ASSIGN_OR_RAISE(const auto folders, OtherFolders(catalog, name_space));
    for (const std::string& folder : folders) {
      if (IsCancelled(options)) return MakeError(ErrorKind::kCancelled, "maintenance cancelled");
      const table::TableName name{name_space, folder};
      table::Handle handle(env, name.full(), catalog.FolderOf(name));
      const auto newest = table::FindNewest(handle, {});
      DroppedTable one{name.full(), newest.status(), {}};
      // A folder without versions is nobody's; a table that was created meanwhile is left alone.
      if (newest.ok() && (!*newest || !table::IsDropped(*(*newest)->metadata))) continue;
      const int64_t began = env.clock->BootMicros();
      if (one.status.ok()) one.status = CleanUp(handle, options, limits, &one.report);
      one.report.seconds = static_cast<double>(env.clock->BootMicros() - began) / 1e6;
      dropped.push_back(std::move(one));
    }
  }
  return dropped;
}

}  // namespace timelake
