#include "maintain/granularity.h"

#include <algorithm>
#include <utility>

#include "maintain/retention_plan.h"
#include "table/partition_options.h"

namespace timelake::maintain {
namespace {

using iceberg::PartitionField;
using iceberg::PartitionSpec;
using iceberg::Value;

// The value of a field that the file's own spec has too.
std::optional<Value> OwnValue(const PartitionSpec& own, const std::vector<Value>& partition,
                              const PartitionField& field) {
  for (size_t i = 0; i < own.fields.size() && i < partition.size(); ++i) {
    const PartitionField& there = own.fields[i];
    if (there.source_id == field.source_id && there.transform == field.transform) {
      return partition[i];
    }
  }
  return std::nullopt;
}

// The value that all times of a file have.
std::optional<Value> TimeValue(const scan::KeyRange& range, const iceberg::Field& time,
                               const PartitionField& field) {
  const auto first = iceberg::Apply(field.transform, time.type, Value(range.first));
  const auto last = iceberg::Apply(field.transform, time.type, Value(range.last));
  if (!first.ok() || !last.ok() || iceberg::Compare(*first, *last) != 0) return std::nullopt;
  return *first;
}

std::optional<std::vector<Value>> PartitionIn(const LiveFile& file,
                                              const iceberg::TableMetadata& metadata,
                                              const PartitionSpec& spec, int time_id) {
  const PartitionSpec* own = iceberg::SpecById(metadata, file.file->spec_id);
  const iceberg::Field* time = iceberg::FindFieldById(*iceberg::CurrentSchema(metadata), time_id);
  if (own == nullptr || time == nullptr) return std::nullopt;
  const PartitionField* by_time = table::TimeField(spec, time_id);
  std::vector<Value> partition;
  for (const PartitionField& field : spec.fields) {
    auto value = &field == by_time ? TimeValue(file.range, *time, field)
                                   : OwnValue(*own, file.file->data->partition, field);
    if (!value) return std::nullopt;
    partition.push_back(*std::move(value));
  }
  return partition;
}

// The spec that has `chunk` for the time and the fields of a file's own spec beside it: rows that
// were written without buckets stay so, as one file has some of each.
const PartitionSpec* LikeOwn(const iceberg::TableMetadata& metadata, const PartitionSpec* own,
                             int time_id, Chunk chunk) {
  if (own == nullptr || own->spec_id == metadata.default_spec_id) return nullptr;
  iceberg::TableMetadata specs;
  specs.partition_specs = metadata.partition_specs;
  specs.default_spec_id = own->spec_id;
  const PartitionSpec* found = table::SpecOfChunk(specs, time_id, chunk);
  return found == nullptr ? nullptr : iceberg::SpecById(metadata, found->spec_id);
}

// The partition of a spec that a file's rows lie in, and its end; nullopt: not in one.
std::optional<std::pair<Home, int64_t>> HomeIn(const PartitionSpec* spec, const LiveFile& file,
                                               const iceberg::TableMetadata& metadata,
                                               const GranularityRules& rules) {
  if (spec == nullptr) return std::nullopt;
  auto partition = PartitionIn(file, metadata, *spec, rules.time_id);
  if (!partition) return std::nullopt;
  const auto end = PartitionEnd(*spec, *partition, rules.time_id);
  if (!end) return std::nullopt;
  return std::pair{Home{spec->spec_id, *std::move(partition)}, *end};
}

}  // namespace

std::optional<Home> HomeOf(const LiveFile& file, const iceberg::TableMetadata& metadata,
                           const GranularityRules& rules) {
  const PartitionSpec* own = iceberg::SpecById(metadata, file.file->spec_id);
  const PartitionField* own_time = own ? table::TimeField(*own, rules.time_id) : nullptr;
  for (size_t tier = rules.tiers.size(); tier-- > 1;) {
    const Chunk chunk = rules.tiers[tier].chunk;
    // Rows are old enough for a tier when the one before does not hold them any more.
    int64_t cutoff = 0;
    if (__builtin_sub_overflow(rules.now_us, rules.tiers[tier - 1].until_us.value_or(0), &cutoff)) {
      continue;
    }
    if (own_time != nullptr && *table::ChunkOf(*own_time) >= chunk) return std::nullopt;
    auto home = HomeIn(table::SpecOfChunk(metadata, rules.time_id, chunk), file, metadata, rules);
    if (!home) home = HomeIn(LikeOwn(metadata, own, rules.time_id, chunk), file, metadata, rules);
    if (home && home->second <= cutoff) return std::move(home->first);
  }
  return std::nullopt;
}

std::optional<Home> WithoutBuckets(const Home& home, const iceberg::TableMetadata& metadata) {
  const PartitionSpec* fine = iceberg::SpecById(metadata, home.spec_id);
  if (fine == nullptr || fine->fields.size() != home.partition.size()) return std::nullopt;
  const auto coarse = table::CoarseSpec(metadata, *fine);
  if (!coarse) return std::nullopt;
  Home without{coarse->spec_id, {}};
  for (size_t i = 0; i < fine->fields.size(); ++i) {
    if (fine->fields[i].transform.kind == iceberg::TransformKind::kBucket) continue;
    without.partition.push_back(home.partition[i]);
  }
  return without;
}

}  // namespace timelake::maintain
