#include "table/versions.h"

#include <algorithm>
#include <charconv>

#include "table/contract.h"
#include "table/manifests.h"
#include "table/settings.h"

namespace timelake::table {
namespace {

constexpr std::string_view kSuffix = ".metadata.json";

std::string VersionPrefix(std::string_view folder) { return std::string(folder) + "/metadata/v"; }

}  // namespace

std::string VersionKeyIn(std::string_view folder, int64_t number) {
  return VersionPrefix(folder) + std::to_string(number) + std::string(kSuffix);
}

std::optional<int64_t> VersionNumber(std::string_view folder, std::string_view key) {
  const std::string prefix = VersionPrefix(folder);
  if (!key.starts_with(prefix) || !key.ends_with(kSuffix)) return std::nullopt;
  if (key.size() <= prefix.size() + kSuffix.size()) return std::nullopt;
  std::string_view digits = key.substr(prefix.size(), key.size() - prefix.size() - kSuffix.size());
  int64_t number = 0;
  auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  if (number < 1 || digits[0] == '0') return std::nullopt;
  return number;
}

int64_t AgeOf(const iceberg::TableMetadata& metadata) {
  auto settings = ResolveSettings(metadata.properties);
  constexpr int64_t kHour = int64_t{3600} * 1'000'000;
  return settings.ok() ? settings->metadata_min_age_us : kHour;
}

bool SaysShared(const iceberg::TableMetadata& metadata) {
  const auto& properties = metadata.properties;
  const auto found = properties.find(kShared);
  return (found != properties.end() && found->second == "true") || !properties.contains(kWriter);
}

bool IsShared(const iceberg::TableMetadata& metadata) {
  if (SaysShared(metadata)) return true;
  return std::any_of(metadata.snapshots.begin(), metadata.snapshots.end(),
                     [](const auto& snapshot) { return !snapshot.summary.contains(kWriter); });
}

bool IsShared(const Version& version) {
  return version.shared ? *version.shared : IsShared(*version.metadata);
}

bool IsDropped(const iceberg::TableMetadata& metadata) {
  return metadata.properties.contains(kDropped);
}

const VersionListing::Item* VersionListing::Find(int64_t number) const {
  auto it = std::lower_bound(items.begin(), items.end(), number,
                             [](const Item& item, int64_t n) { return item.number < n; });
  return it != items.end() && it->number == number ? &*it : nullptr;
}

Result<VersionListing> ListVersions(const Env& env, const std::string& folder) {
  VersionListing listing;
  listing.began_boot_us = env.clock->BootMicros();
  const std::string prefix = VersionPrefix(folder);
  TL_ASSIGN_OR_RAISE(auto reply, Retried(env, [&] {
                       listing.began_boot_us = env.clock->BootMicros();
                       return env.store->List(prefix);
                     }));
  listing.date_us = reply.date_us;
  for (auto& info : reply.objects) {
    if (auto number = VersionNumber(folder, info.key)) {
      listing.items.push_back({*number, std::move(info)});
    }
  }
  std::sort(listing.items.begin(), listing.items.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return listing;
}

Result<std::optional<Version>> ReadVersion(const Env& env, const std::string& folder,
                                           int64_t number, int64_t* date_us) {
  const std::string key = VersionKeyIn(folder, number);
  TL_ASSIGN_OR_RAISE(auto reply, Retried(env, [&] { return env.store->Get(key); }));
  if (date_us) *date_us = reply.date_us;
  if (!reply.found) return std::nullopt;
  const std::string_view bytes(reinterpret_cast<const char*>(reply.bytes->data()),
                               static_cast<size_t>(reply.bytes->size()));
  TL_ASSIGN_OR_RAISE(auto metadata, iceberg::ReadMetadata(bytes, key));
  Version version;
  version.number = number;
  version.metadata = std::make_shared<const iceberg::TableMetadata>(std::move(metadata));
  version.info = std::move(reply.info);
  return version;
}

}  // namespace timelake::table
