#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "iceberg/metadata.h"
#include "maintain/live_file.h"
#include "table/chunk_tiers.h"

namespace timelake::maintain {

// Which partitions rows are rewritten into, as they grow old (setting `chunk-tiers`) or because
// others of their chunk were written without buckets: pure.

struct GranularityRules {
  std::vector<table::ChunkTier> tiers;  // empty: every file stays in its own partition
  int time_id = 0;
  int64_t now_us = 0;  // ages count from it
};

// The partition of the longest span that all rows of a file are old enough for: all times that it
// may hold are. nullopt: the file is where it belongs, or what the manifests say of it does not
// tell a partition of such a spec (a file of a longer span is never split).
std::optional<Home> HomeOf(const LiveFile& file, const iceberg::TableMetadata& metadata,
                           const GranularityRules& rules);

// The partition of a spec without buckets that holds the rows of one with buckets, and others;
// nullopt: the table has no such spec, or there are no buckets.
std::optional<Home> WithoutBuckets(const Home& home, const iceberg::TableMetadata& metadata);

}  // namespace timelake::maintain
