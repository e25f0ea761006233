#include "table/in_use.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "table/manifests.h"
#include "table/placing.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

// Versions, lists and manifests read at a time from a store that is far away.
constexpr size_t kAtOnce = 16;

// Has lists and manifests of the versions in the cache, side by side. Whatever fails is met again
// by who reads them one after another.
void WarmUp(const Handle& handle, const std::deque<std::optional<Version>>& versions) {
  const Env& env = handle.env();
  if (!env.cache) return;
  std::map<std::string, const iceberg::Snapshot*> snapshots;  // by list
  for (const auto& version : versions) {
    if (!version || version->metadata->location != handle.location()) continue;  // moved
    for (const auto& one : version->metadata->snapshots) snapshots.emplace(one.manifest_list, &one);
  }
  std::vector<const iceberg::Snapshot*> lists;
  for (const auto& [list, snapshot] : snapshots) lists.push_back(snapshot);
  std::vector<std::shared_ptr<const ManifestRows>> rows(lists.size());
  (void)RunConcurrently(lists.size(), kAtOnce, !lists.empty(), [&](size_t i) {
    if (auto read = ReadRows(env, *lists[i]); read.ok()) rows[i] = *read;
    return Status::OK();
  });
  std::map<std::string, const iceberg::ManifestFile*> unknown;
  for (const auto& list : rows) {
    if (!list) continue;
    for (const auto& row : *list) {
      if (MustFetchEntries(env, row)) unknown.emplace(row.manifest_path, &row);
    }
  }
  std::vector<const iceberg::ManifestFile*> manifests;
  for (const auto& [path, row] : unknown) manifests.push_back(row);
  (void)RunConcurrently(manifests.size(), kAtOnce, true, [&](size_t i) {
    (void)ReadEntries(env, *manifests[i]);
    return Status::OK();
  });
}

std::string NameOf(const std::string& key) { return key.substr(key.rfind('/') + 1); }

}  // namespace

void InUse::Add(const std::string& key) {
  names_.insert(NameOf(key));
  keys_.insert(key);
}

void InUse::Add(Reach reach) {
  for (const auto* keys : {&reach.files, &reach.manifests, &reach.others}) {
    for (const std::string& key : *keys) Add(key);
  }
}

bool InUse::Has(const std::string& key) const {
  if (keys_.contains(key)) return true;
  const std::string name = NameOf(key);
  return std::any_of(mentions_.begin(), mentions_.end(),
                     [&](const std::string& json) { return json.find(name) != std::string::npos; });
}

bool InUse::HasName(const std::string& key) const { return names_.contains(NameOf(key)); }

Result<InUse> InUse::Read(const Handle& handle, Reading reading) {
  const Env& env = handle.env();
  InUse in_use;
  in_use.Add(handle.HintKey());
  TL_ASSIGN_OR_RAISE(const auto versions, ListVersions(env, handle.folder()));
  if (versions.items.empty() && reading == Reading::kStrict) {
    return NotFound("table {}: there is no version in {}", handle.name(), handle.location());
  }
  std::set<std::pair<int64_t, std::string>> snapshots;  // a table that was moved has other lists
  const bool far = store::IsRemote(*env.store);
  std::deque<std::optional<Version>> ahead;  // of the next versions
  // The newest first: what it shares with older ones is read strictly.
  for (auto item = versions.items.rbegin(); item != versions.items.rend(); ++item) {
    const bool newest = item == versions.items.rbegin();
    if (ahead.empty()) {
      const auto left = static_cast<size_t>(versions.items.rend() - item);
      ahead.resize(std::min(left, far ? kAtOnce : 1));
      TL_RETURN_NOT_OK(RunConcurrently(ahead.size(), kAtOnce, far, [&](size_t i) -> Status {
        TL_ASSIGN_OR_RAISE(ahead[i], ReadVersion(env, handle.folder(),
                                                 item[static_cast<std::ptrdiff_t>(i)].number));
        return Status::OK();
      }));
      if (far) WarmUp(handle, ahead);
    }
    in_use.Add(item->info.key);
    const std::optional<Version> version = std::move(ahead.front());
    ahead.pop_front();
    if (!version) {
      if (newest && reading == Reading::kStrict) {
        return Conflict("table {}: version {} went while it was read", handle.name(), item->number);
      }
      continue;
    }
    iceberg::TableMetadata more = *version->metadata;
    std::erase_if(more.snapshots, [&](const auto& one) {
      return !snapshots.emplace(one.snapshot_id, one.manifest_list).second;
    });
    for (const auto& [name, json] : more.unknown) in_use.mentions_.push_back(json);
    for (const auto& snapshot : more.snapshots) {
      for (const auto& [name, json] : snapshot.unknown) in_use.mentions_.push_back(json);
    }
    const bool strictly = newest && reading == Reading::kStrict;
    // A version from before the table was moved names the old place.
    TL_ASSIGN_OR_RAISE(const Placing placing, Placing::Of(env, more, handle.folder()));
    auto reach = ReachOf(placing.env(), more, strictly ? Reading::kStrict : Reading::kSkipMissing);
    if (reach.ok()) {
      in_use.Add(placing.Placed(*std::move(reach)));
    } else if (reading == Reading::kStrict || KindOf(reach.status()) == ErrorKind::kIo) {
      return reach.status();
    }
  }
  std::sort(in_use.mentions_.begin(), in_use.mentions_.end());
  in_use.mentions_.erase(std::unique(in_use.mentions_.begin(), in_use.mentions_.end()),
                         in_use.mentions_.end());
  return in_use;
}

}  // namespace timelake::table
