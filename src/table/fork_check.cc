#include "table/fork_check.h"

#include <algorithm>

#include "table/manifests.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

constexpr int kMaxListings = 8;

Result<bool> BaseUnchanged(const ForkCheck& check) {
  const Env& env = check.handle.env();
  TL_ASSIGN_OR_RAISE(auto reply, Retried(env, [&] {
                       return env.store->Head(check.handle.VersionKey(check.base.number));
                     }));
  return reply.found && reply.info.identity == check.base.info.identity;
}

struct Newest {
  VersionListing listing;
  Version version;  // the highest
  std::shared_ptr<arrow::Buffer> bytes;
};

// A young listing whose highest version, read afterwards, is the object that it showed.
Result<std::optional<Newest>> ListNewest(const ForkCheck& check) {
  const Env& env = check.handle.env();
  const int64_t half = AgeOf(*check.base.metadata) / 2;
  for (int i = 0; i < kMaxListings; ++i) {
    Newest newest;
    TL_ASSIGN_OR_RAISE(newest.listing, ListVersions(env, check.handle.folder()));
    if (newest.listing.items.empty()) return std::nullopt;
    const auto& top = newest.listing.items.back();
    TL_ASSIGN_OR_RAISE(auto reply, Retried(env, [&] { return env.store->Get(top.info.key); }));
    if (!reply.found) continue;
    const bool same = reply.info.mtime_us == top.info.mtime_us;
    const bool young = env.clock->BootMicros() - newest.listing.began_boot_us < half;
    if (env.rules->list_same && !(same && young)) continue;
    const std::string_view text(reinterpret_cast<const char*>(reply.bytes->data()),
                                static_cast<size_t>(reply.bytes->size()));
    TL_ASSIGN_OR_RAISE(auto metadata, iceberg::ReadMetadata(text, top.info.key));
    newest.version.number = top.number;
    newest.version.metadata = std::make_shared<const iceberg::TableMetadata>(std::move(metadata));
    newest.version.info = std::move(reply.info);
    newest.version.proved_boot_us = newest.listing.began_boot_us;
    newest.bytes = reply.bytes;
    return newest;
  }
  return std::nullopt;
}

bool HoldsOurs(const ForkCheck& check, const Newest& newest) {
  if (newest.bytes->Equals(check.bytes)) return true;
  const auto& snapshots = newest.version.metadata->snapshots;
  return std::any_of(snapshots.begin(), snapshots.end(),
                     [&](const auto& s) { return check.created.contains(s.snapshot_id); });
}

ForkVerdict ByListing(const ForkCheck& check, const Newest& newest) {
  const auto& items = newest.listing.items;
  const int64_t top = items.back().number;
  if (!check.handle.env().rules->verdict_fixed) {
    return top > check.number && HoldsOurs(check, newest) ? ForkVerdict::kReal : ForkVerdict::kFork;
  }
  if (HoldsOurs(check, newest)) return ForkVerdict::kReal;
  // Ours may have been freed, and another process's dead fork stand under its name.
  const auto* ours = newest.listing.Find(check.number);
  if (ours == nullptr || ours->info.identity != check.info.identity) return ForkVerdict::kUnknown;
  const bool older_above = std::any_of(items.begin(), items.end(), [&](const auto& item) {
    return item.number > check.number && item.info.mtime_us < ours->info.mtime_us;
  });
  return older_above ? ForkVerdict::kFork : ForkVerdict::kUnknown;
}

}  // namespace

ForkAnswer CheckFork(const ForkCheck& check) {
  const Env& env = check.handle.env();
  if (!(env.rules->shared_list && IsShared(check.base))) {
    auto unchanged = BaseUnchanged(check);
    if (!unchanged.ok()) return {};
    if (*unchanged) return {ForkVerdict::kReal, std::nullopt};
  }
  auto newest = ListNewest(check);
  if (!newest.ok() || !*newest) return {};
  ForkAnswer answer{ByListing(check, **newest), std::nullopt};
  if (answer.verdict == ForkVerdict::kReal) answer.newest = std::move((*newest)->version);
  return answer;
}

}  // namespace timelake::table
