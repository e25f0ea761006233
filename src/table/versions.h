#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "iceberg/metadata.h"
#include "table/env.h"
#include "table/handle.h"

namespace timelake::table {

// "<folder>/metadata/v<number>.metadata.json".
std::string VersionKeyIn(std::string_view folder, int64_t number);

// Number of a key that VersionKeyIn could have made; nullopt for anything else (leading zeros,
// too).
std::optional<int64_t> VersionNumber(std::string_view folder, std::string_view key);

// `metadata-min-age` of the table, microseconds: the age of docs/commit-protocol.md.
int64_t AgeOf(const iceberg::TableMetadata& metadata);

// Whether an engine other than this library has left its mark: then versions may be freed by rules
// that are not ours, and only a listing proves anything.
bool IsShared(const iceberg::TableMetadata& metadata);
// By the properties alone: of what this library makes of a version that is not shared, whose
// snapshots are all its own.
bool SaysShared(const iceberg::TableMetadata& metadata);
// Without looking at every snapshot, where the version knows.
bool IsShared(const Version& version);

bool IsDropped(const iceberg::TableMetadata& metadata);

// The version files of a table as one listing showed them, ascending.
struct VersionListing {
  struct Item {
    int64_t number;
    store::ObjectInfo info;
  };
  std::vector<Item> items;
  int64_t date_us = 0;  // the store's clock at the first page
  int64_t began_boot_us = 0;

  const Item* Find(int64_t number) const;
};
Result<VersionListing> ListVersions(const Env& env, const std::string& folder);

// Reads one version; nullopt when it is missing. The proof is left at kNever.
Result<std::optional<Version>> ReadVersion(const Env& env, const std::string& folder,
                                           int64_t number, int64_t* date_us = nullptr);

}  // namespace timelake::table
