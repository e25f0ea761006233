#include "table/load.h"

#include <algorithm>

#include "base/civil_time.h"
#include "table/hint.h"
#include "table/manifests.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

constexpr int kMaxListings = 50;

// The highest listed version, if it is still the object of the listing and the listing is young.
Result<std::optional<Version>> FindByListing(const Handle& handle) {
  const Env& env = handle.env();
  for (int i = 0; i < kMaxListings; ++i) {
    TL_ASSIGN_OR_RAISE(VersionListing listing, ListVersions(env, handle.folder()));
    if (listing.items.empty()) return std::nullopt;
    const auto& newest = listing.items.back();
    TL_ASSIGN_OR_RAISE(auto version, ReadVersion(env, handle.folder(), newest.number));
    if (!version) continue;
    const int64_t now = env.clock->BootMicros();
    const bool same = version->info.mtime_us == newest.info.mtime_us;
    const bool young = now - listing.began_boot_us < AgeOf(*version->metadata) / 2;
    if (env.rules->list_same && !(same && young)) continue;
    version->proved_boot_us = env.rules->proof_before ? listing.began_boot_us : now;
    return version;
  }
  return IoError("{}: the newest version kept changing while {} listings were read", handle.name(),
                 kMaxListings);
}

// Whether `version` is still the object that was seen.
Result<bool> StillThere(const Handle& handle, const Version& version) {
  const Env& env = handle.env();
  TL_ASSIGN_OR_RAISE(
      auto reply, Retried(env, [&] { return env.store->Head(handle.VersionKey(version.number)); }));
  return reply.found && reply.info.identity == version.info.identity;
}

// Probes upwards from `version`. nullopt: a probe did not count, list instead.
Result<std::optional<Version>> FindByProbing(const Handle& handle, Version version) {
  const Env& env = handle.env();
  while (true) {
    const int64_t half = AgeOf(*version.metadata) / 2;
    const int64_t before = env.clock->BootMicros();
    int64_t date = 0;
    TL_ASSIGN_OR_RAISE(auto next, ReadVersion(env, handle.folder(), version.number + 1, &date));
    const int64_t after = env.clock->BootMicros();
    const int64_t reply_at = env.rules->proof_before ? after : before;
    const bool young =
        date - version.info.mtime_us < half ||
        (version.proved_boot_us != kNever && reply_at - version.proved_boot_us < half);
    if (env.rules->probe_base_check && !young) {
      TL_ASSIGN_OR_RAISE(bool there, StillThere(handle, version));
      if (!there) return std::nullopt;
    }
    if (!next) {
      version.proved_boot_us = env.rules->proof_before ? before : after;
      return version;
    }
    version = std::move(*next);
    if (env.rules->shared_list && IsShared(*version.metadata)) return std::nullopt;
  }
}

}  // namespace

Result<std::optional<Version>> FindNewest(const Handle& handle, const Version& start) {
  const Env& env = handle.env();
  const bool shared = start && env.rules->shared_list && IsShared(start);
  if (start && !shared) {
    TL_ASSIGN_OR_RAISE(auto found, FindByProbing(handle, start));
    if (found) return found;
  }
  if (!start && !env.rules->cold_list) {
    TL_ASSIGN_OR_RAISE(auto hinted, ReadHint(handle));
    if (hinted.version) {
      TL_ASSIGN_OR_RAISE(auto version, ReadVersion(env, handle.folder(), *hinted.version));
      if (version) {
        TL_ASSIGN_OR_RAISE(auto found, FindByProbing(handle, *version));
        if (found) return found;
      }
    }
  }
  return FindByListing(handle);
}

Result<Version> LoadForReader(Handle& handle, const SettingMap& session) {
  const Version known = handle.known();
  if (!known || known.proved_boot_us == kNever) return LoadNewest(handle);
  const auto settings = ResolveSettings(known.metadata->properties, session);
  if (!settings.ok()) return LoadNewest(handle);
  const int64_t usual = store::IsRemote(*handle.env().store) ? kMicrosPerSecond : 0;
  const int64_t interval = std::min(settings->version_check_interval_us.value_or(usual),
                                    settings->metadata_min_age_us / 2);
  const int64_t since = handle.env().clock->BootMicros() - known.proved_boot_us;
  return since >= 0 && since < interval ? known : LoadNewest(handle);
}

Result<Version> LoadNewest(Handle& handle) {
  TL_ASSIGN_OR_RAISE(auto found, FindNewest(handle, handle.known()));
  const bool seen = !handle.table_uuid().empty();
  if (!found) {
    return seen ? NotFound("table {} was dropped or replaced: no version of it is left",
                           handle.name())
                : NotFound("table {} does not exist", handle.name());
  }
  if (IsDropped(*found->metadata)) {
    return seen ? NotFound("table {} was dropped or replaced", handle.name())
                : NotFound("table {} does not exist (it was dropped)", handle.name());
  }
  // Another thread may have been the first to see the table, while this one looked for it.
  if (!handle.Learn(*found)) {
    return NotFound("table {} was dropped or replaced: its table-uuid was {} and is now {}",
                    handle.name(), handle.table_uuid(), found->metadata->table_uuid);
  }
  return *found;
}

}  // namespace timelake::table
