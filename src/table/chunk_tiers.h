#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/metadata.h"
#include "timelake/options.h"

namespace timelake::table {

// Setting `chunk-tiers`, e.g. "hour:2d, day:90d, month": new rows go to partitions of the first
// span, and maintenance rewrites what is older into longer ones.
struct ChunkTier {
  Chunk chunk = Chunk::kDay;
  std::optional<int64_t> until_us;  // age up to which the tier holds rows; none: all older ones
};

// Spans grow, ages grow, and exactly the last tier has none. kInvalidArgument names the part and
// what is accepted.
Result<std::vector<ChunkTier>> ParseChunkTiers(std::string_view text);
// What is accepted, for people.
std::string ChunkTiersForm();
// The same with each age in one unit: as it is stored.
std::string ChunkTiersText(const std::vector<ChunkTier>& tiers);

// Of a spec the field that divides time column `time_id` by year, month, day or hour; null: none.
const iceberg::PartitionField* TimeField(const iceberg::PartitionSpec& spec, int time_id);
std::optional<Chunk> ChunkOf(const iceberg::PartitionField& field);

// The spec that has `chunk` for the time and the fields of the default spec beside it; null where
// the metadata has none.
const iceberg::PartitionSpec* SpecOfChunk(const iceberg::TableMetadata& metadata, int time_id,
                                          Chunk chunk);

// Partition evolution (Iceberg specification, "Partition Evolution"): adds the specs of all tiers,
// and makes that of the first the default, and `timelake.chunk-interval`. Fields that an earlier
// spec had keep their ids. kInvalidArgument where the table has no time column or its default spec
// no field of the time, or a field would be called as a column is.
Status AddTierSpecs(const std::vector<ChunkTier>& tiers, iceberg::TableMetadata* metadata);

}  // namespace timelake::table
