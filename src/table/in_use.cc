#include "table/in_use.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "table/placing.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

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
  // The newest first: what it shares with older ones is read strictly.
  for (auto item = versions.items.rbegin(); item != versions.items.rend(); ++item) {
    const bool newest = item == versions.items.rbegin();
    in_use.Add(item->info.key);
    TL_ASSIGN_OR_RAISE(const auto version, ReadVersion(env, handle.folder(), item->number));
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
