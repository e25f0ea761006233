#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "iceberg/metadata.h"
#include "maintain/live_file.h"

namespace timelake::maintain {

// Which data files retention drops: pure, from what the manifests say.

struct RetentionRules {
  int64_t cutoff_us = 0;  // rows before it may go
  int time_id = 0;
  bool dedup = false;
  bool by_ingest = false;  // an ingest time decides between rows before the order of writes does
};

struct RetentionPlan {
  std::vector<size_t> drop;
  int64_t partitions = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
  // Files of past partitions that stay: an older file that stays, too, may hold rows of the same
  // series and times, which would come back.
  int64_t held_back = 0;
};

// First instant after a partition; nullopt: no field of the spec divides time.
std::optional<int64_t> PartitionEnd(const iceberg::PartitionSpec& spec,
                                    const std::vector<iceberg::Value>& partition, int time_id);

// Whether all of a file's rows are earlier than a cutoff: its partition, of an hour, day, month or
// year, ended at or before it. Of specs without time the file's bounds tell.
bool IsPast(const LiveFile& file, const iceberg::TableMetadata& metadata, int time_id,
            int64_t cutoff_us);

// Drops what is past: whole partitions only, where partitions divide time.
RetentionPlan PlanRetention(const std::vector<LiveFile>& files,
                            const iceberg::TableMetadata& metadata, const RetentionRules& rules,
                            const MeetFn& meet);

// Up to where single rows are deleted by a run that may read `max_bytes`.
struct RowCutoff {
  int64_t cutoff_us = 0;   // at most the one that is asked for
  int64_t bytes = 0;       // of files with rows before and after it, which are read
  int64_t left_bytes = 0;  // that the next run reads
};

// The latest cutoff up to `cutoff_us` that is affordable; `max_bytes` 0: no limit.
RowCutoff PlanRowCutoff(const std::vector<LiveFile>& files, int64_t cutoff_us, int64_t max_bytes);

}  // namespace timelake::maintain
