#include "maintain/retention_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/civil_time.h"
#include "iceberg/partition_less.h"

namespace timelake::maintain {
namespace {

using iceberg::TransformKind;

std::optional<int64_t> EndOf(TransformKind kind, const iceberg::Value& value) {
  const auto* ordinal = std::get_if<int32_t>(&value);
  if (ordinal == nullptr) return std::nullopt;  // null, or not what the transform gives
  const int64_t next = int64_t{*ordinal} + 1;
  Result<int64_t> end = 0;
  switch (kind) {
    case TransformKind::kHour: end = MicrosFromHours(next); break;
    case TransformKind::kDay: end = MicrosFromDays(next); break;
    case TransformKind::kMonth: end = MicrosFromMonths(next); break;
    case TransformKind::kYear: end = MicrosFromYears(next); break;
    default: return std::nullopt;
  }
  return end.ok() ? std::optional<int64_t>(*end) : std::nullopt;
}

bool DividesTime(const iceberg::PartitionField& field, int time_id) {
  switch (field.transform.kind) {
    case TransformKind::kHour:
    case TransformKind::kDay:
    case TransformKind::kMonth:
    case TransformKind::kYear: return field.source_id == time_id;
    default: return false;
  }
}

}  // namespace

std::optional<int64_t> PartitionEnd(const iceberg::PartitionSpec& spec,
                                    const std::vector<iceberg::Value>& partition, int time_id) {
  std::optional<int64_t> least;
  for (size_t i = 0; i < spec.fields.size() && i < partition.size(); ++i) {
    if (!DividesTime(spec.fields[i], time_id)) continue;
    const auto end = EndOf(spec.fields[i].transform.kind, partition[i]);
    if (end && (!least || *end < *least)) least = end;
  }
  return least;
}

bool IsPast(const LiveFile& file, const iceberg::TableMetadata& metadata, int time_id,
            int64_t cutoff_us) {
  const iceberg::PartitionSpec* spec = iceberg::SpecById(metadata, file.file->spec_id);
  if (spec == nullptr) return false;
  const bool divided = std::any_of(spec->fields.begin(), spec->fields.end(),
                                   [&](const auto& field) { return DividesTime(field, time_id); });
  if (!divided) return file.range.last < cutoff_us;
  const auto end = PartitionEnd(*spec, file.file->data->partition, time_id);
  return end && *end <= cutoff_us;
}

RetentionPlan PlanRetention(const std::vector<LiveFile>& files,
                            const iceberg::TableMetadata& metadata, const RetentionRules& rules,
                            const MeetFn& meet) {
  std::vector<size_t> past, staying;
  for (size_t i = 0; i < files.size(); ++i) {
    if (IsPast(files[i], metadata, rules.time_id, rules.cutoff_us)) {
      past.push_back(i);
    } else if (files[i].range.first < rules.cutoff_us) {
      staying.push_back(i);  // younger ones share no time with what is past
    }
  }
  RetentionPlan plan;
  // What is held back may in turn hold back others.
  for (size_t known = 0; rules.dedup && known < staying.size(); ++known) {
    const LiveFile& stays = files[staying[known]];
    const auto held = [&](size_t i) {
      const bool older = stays.file->sequence_number <= files[i].file->sequence_number;
      return (older || rules.by_ingest) && meet(stays.range, files[i].range);
    };
    const auto kept =
        std::stable_partition(past.begin(), past.end(), [&](size_t i) { return !held(i); });
    plan.held_back += past.end() - kept;
    staying.insert(staying.end(), kept, past.end());
    past.erase(kept, past.end());
  }
  std::map<int, std::set<std::vector<iceberg::Value>, iceberg::PartitionLess>> partitions;
  for (size_t i : past) {
    const iceberg::DataFile& file = *files[i].file->data;
    if (partitions[files[i].file->spec_id].insert(file.partition).second) ++plan.partitions;
    plan.rows += file.record_count;
    plan.bytes += file.file_size_in_bytes;
  }
  std::sort(past.begin(), past.end());
  plan.drop = std::move(past);
  return plan;
}

RowCutoff PlanRowCutoff(const std::vector<LiveFile>& files, int64_t cutoff_us, int64_t max_bytes) {
  // Files that lie on both sides of a cutoff are read; of each the part before its own first row is
  // empty, so that is where the next earlier cutoff is.
  std::vector<const LiveFile*> cut;
  for (const LiveFile& file : files) {
    if (file.range.first < cutoff_us && file.range.last >= cutoff_us) cut.push_back(&file);
  }
  std::sort(cut.begin(), cut.end(),
            [](const LiveFile* a, const LiveFile* b) { return a->range.first > b->range.first; });
  const auto bytes_at = [&](int64_t time) {
    int64_t bytes = 0;
    for (const LiveFile& file : files) {
      const bool read = file.range.first < time && file.range.last >= time;
      if (read) bytes += file.file->data->file_size_in_bytes;
    }
    return bytes;
  };
  RowCutoff plan{cutoff_us, bytes_at(cutoff_us), 0};
  const int64_t wanted = plan.bytes;
  for (auto file = cut.begin(); max_bytes > 0 && plan.bytes > max_bytes && file != cut.end();
       ++file) {
    plan.cutoff_us = (*file)->range.first;
    plan.bytes = bytes_at(plan.cutoff_us);
  }
  plan.left_bytes = plan.cutoff_us < cutoff_us ? wanted : 0;
  return plan;
}

}  // namespace timelake::maintain
