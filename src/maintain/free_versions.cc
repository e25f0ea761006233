#include "maintain/free_versions.h"

#include <algorithm>
#include <set>

#include "table/batch_ids.h"
#include "table/hint.h"
#include "table/load.h"
#include "table/manifests.h"
#include "table/placing.h"
#include "table/reach.h"

namespace timelake::maintain {
namespace {

using table::Reach;
using table::Version;
using table::VersionListing;

// Lowest version of the real chain.
int64_t ChainBottom(const VersionListing& listing, const table::Rules& rules) {
  const auto& items = listing.items;
  size_t i = items.size() - 1;
  while (i > 0) {
    const bool adjacent = items[i - 1].number + 1 == items[i].number;
    const bool ordered = items[i - 1].info.mtime_us <= items[i].info.mtime_us;
    if (rules.free_chain && (!adjacent || !ordered)) break;
    --i;
  }
  return items[i].number;
}

void Spare(const std::set<std::string>& kept, std::set<std::string>* doomed) {
  for (const auto& key : kept) doomed->erase(key);
}

// What a version names. One from before the table was moved or copied names the old place: what it
// means lies in this folder, and nothing outside of it is ours to delete.
Result<Reach> ReachIn(const table::Handle& handle, const Version& version, table::Reading reading) {
  TL_ASSIGN_OR_RAISE(const auto placing,
                     table::Placing::Of(handle.env(), *version.metadata, handle.folder()));
  TL_ASSIGN_OR_RAISE(Reach reach, table::ReachOf(placing.env(), *version.metadata, reading));
  return placing.Placed(std::move(reach));
}

// What only `gone` names, a version about to be freed.
Result<Reach> Doomed(const table::Handle& handle, const Version& gone, const Version& next,
                     const Version& newest) {
  const table::Env& env = handle.env();
  TL_ASSIGN_OR_RAISE(const auto placing, table::Placing::Of(env, *gone.metadata, handle.folder()));
  Reach doomed;
  const auto held = [](const Version& version, int64_t id) {
    return iceberg::SnapshotById(*version.metadata, id) != nullptr;
  };
  for (const auto& snapshot : gone.metadata->snapshots) {
    if (held(newest, snapshot.snapshot_id)) continue;
    if (env.rules->free_diff && held(next, snapshot.snapshot_id)) continue;
    TL_RETURN_NOT_OK(
        table::AddReach(placing.env(), snapshot, table::Reading::kSkipMissing, &doomed));
  }
  auto log = table::BatchIdLogFile(*gone.metadata);
  if (log) {
    TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*env.store, *log));
    doomed.others.insert(std::move(key));
  }
  doomed = placing.Placed(std::move(doomed));
  if (doomed.others.empty() && doomed.manifests.empty()) return doomed;
  const auto spare = [&](const Version& version, table::Reading reading) -> Status {
    TL_ASSIGN_OR_RAISE(const Reach kept, ReachIn(handle, version, reading));
    Spare(kept.files, &doomed.files);
    Spare(kept.manifests, &doomed.manifests);
    Spare(kept.others, &doomed.others);
    return Status::OK();
  };
  // A missing list or manifest of the newest version stops the run. The next one may lack some: a
  // power loss can bring back the names of freed versions without their files.
  TL_RETURN_NOT_OK(spare(newest, table::Reading::kStrict));
  if (env.rules->free_diff) TL_RETURN_NOT_OK(spare(next, table::Reading::kSkipMissing));
  return doomed;
}

class FreeRun {
 public:
  FreeRun(table::Handle& handle, const VersionListing& listing, const Version& newest)
      : handle_(handle), env_(handle.env()), listing_(listing), newest_(newest) {}

  // False: the run ends here (the listing no longer holds, or others freed meanwhile).
  Result<bool> Step(const FreePlan::Step& step) {
    const std::string key = handle_.VersionKey(step.number);
    if (step.dead_fork) {
      TL_RETURN_NOT_OK(Delete(key));
      ++report.versions;
      return true;
    }
    TL_ASSIGN_OR_RAISE(auto gone, table::ReadVersion(env_, handle_.folder(), step.number));
    if (!gone) return true;
    TL_ASSIGN_OR_RAISE(auto next, table::ReadVersion(env_, handle_.folder(), step.number + 1));
    if (!next || !AsListed(*gone) || !AsListed(*next)) return false;
    TL_ASSIGN_OR_RAISE(auto doomed, Doomed(handle_, *gone, *next, newest_));
    if (env_.rules->free_files_first) TL_RETURN_NOT_OK(DeleteFiles(doomed));
    TL_RETURN_NOT_OK(Delete(key));
    if (!env_.rules->free_files_first) TL_RETURN_NOT_OK(DeleteFiles(doomed));
    ++report.versions;
    return true;
  }

  FreeReport report;

 private:
  bool AsListed(const Version& version) const {
    if (!env_.rules->free_chain) return true;
    const auto* item = listing_.Find(version.number);
    return item != nullptr && item->info.mtime_us == version.info.mtime_us;
  }

  Status Delete(const std::string& key) {
    return table::Retried(env_, [&] { return env_.store->Delete(key); });
  }

  // What leads to other files goes after them, so that an interrupted run finds the rest.
  Status DeleteFiles(const Reach& doomed) {
    for (const auto* keys : {&doomed.files, &doomed.manifests, &doomed.others}) {
      const std::vector<std::string> all(keys->begin(), keys->end());
      TL_RETURN_NOT_OK(table::Retried(env_, [&] { return env_.store->DeleteAll(all); }));
      report.objects += static_cast<int64_t>(all.size());
    }
    return Status::OK();
  }

  table::Handle& handle_;
  const table::Env& env_;
  const VersionListing& listing_;
  const Version& newest_;
};

}  // namespace

FreePlan PlanFree(const VersionListing& listing, std::optional<int64_t> hint, int64_t age_us,
                  const table::Rules& rules) {
  FreePlan plan;
  if (listing.items.empty()) return plan;
  const int64_t bottom = ChainBottom(listing, rules);
  const int64_t old = listing.date_us - age_us;
  bool chain_open = true;
  for (size_t i = 0; i + 1 < listing.items.size(); ++i) {
    const auto& item = listing.items[i];
    if (item.number < bottom) {
      if (item.info.mtime_us <= old) plan.steps.push_back({item.number, true});
      continue;
    }
    const auto& next = listing.items[i + 1];
    if (rules.free_age && next.info.mtime_us > old) chain_open = false;
    if (rules.free_hint && hint && item.number >= *hint) chain_open = false;
    if (chain_open) plan.steps.push_back({item.number, false});
  }
  return plan;
}

Result<FreeReport> RunFree(table::Handle& handle, int64_t max_versions,
                           const std::function<bool()>& enough) {
  const table::Env& env = handle.env();
  TL_ASSIGN_OR_RAISE(auto newest, table::FindNewest(handle, {}));
  if (!newest) return NotFound("table {} does not exist", handle.name());
  if (env.rules->hint_repair) table::RepairHint(handle, newest->number);
  TL_ASSIGN_OR_RAISE(auto listing, table::ListVersions(env, handle.folder()));
  TL_ASSIGN_OR_RAISE(auto hint, table::ReadHint(handle));
  if (listing.items.empty()) return FreeReport{};
  // An absent hint, or one that names no listed version, sets no limit.
  if (hint.version && listing.Find(*hint.version) == nullptr) hint.version.reset();
  const int64_t age = table::AgeOf(*newest->metadata);
  FreePlan plan = PlanFree(listing, hint.version, age, *env.rules);
  std::erase_if(plan.steps, [&](const auto& step) { return step.number >= newest->number; });
  if (!env.rules->free_order) std::reverse(plan.steps.begin(), plan.steps.end());
  FreeRun run(handle, listing, *newest);
  for (const auto& step : plan.steps) {
    if (max_versions > 0 && run.report.versions >= max_versions) break;
    if (run.report.versions > 0 && enough && enough()) break;
    const bool young = env.clock->BootMicros() - listing.began_boot_us < age / 2;
    if (!young) break;  // a listing that old proves nothing; the next run goes on
    TL_ASSIGN_OR_RAISE(bool go_on, run.Step(step));
    if (!go_on) break;
  }
  return run.report;
}

}  // namespace timelake::maintain
