#include "sim/rollup.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "maintain/live_files.h"
#include "maintain/rollup_changes.h"
#include "scan/write_order.h"
#include "sim/data_files.h"
#include "sim/processes.h"
#include "sim/world.h"

namespace timelake::sim {
namespace {

using table::RollupPosition;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

int64_t StartOf(int64_t row_time) { return kFirstTimeUs + row_time * kTimeStepUs; }

maintain::BucketEdges Edges() {
  maintain::BucketEdges edges;
  edges.floor = [](int64_t time, int64_t* start) {
    if (time < kFirstTimeUs - kMicrosPerDay || time > kFirstTimeUs + 1000 * kMicrosPerDay) {
      return false;  // an edge of what a file may have
    }
    *start = StartOf(FloorDiv(time - kFirstTimeUs, kTimeStepUs));
    return true;
  };
  edges.next = [](int64_t start, int64_t* next) {
    *next = start + kTimeStepUs;
    return true;
  };
  return edges;
}

struct Source {
  table::Version version;
  table::Contract contract;
  std::map<int64_t, std::vector<Row>> rows;  // that a query sees, by time
};

Result<Source> Read(Process& process) {
  Source source;
  TL_ASSIGN_OR_RAISE(source.version, Load(process));
  TL_ASSIGN_OR_RAISE(const auto target, TargetOf(*source.version.metadata));
  source.contract = target.contract;
  if (!iceberg::CurrentSnapshot(*source.version.metadata)) return source;
  TL_ASSIGN_OR_RAISE(const auto live,
                     maintain::LiveFiles::Read(process.env(), source.version.metadata, target));
  std::vector<const scan::ScanFile*> files;
  for (const auto& file : live->files()) files.push_back(file.file);
  std::sort(files.begin(), files.end(),
            [](const auto* a, const auto* b) { return scan::IsOlder(*a, *b); });
  for (const auto* file : files) {
    TL_ASSIGN_OR_RAISE(const auto key, store::KeyOf(*process.env().store, file->data->file_path));
    for (const Row& row : process.world().RowsOf(key)) {
      auto& bucket = source.rows[row.time];
      if (source.contract.dedup) {
        std::erase_if(bucket, [&](const Row& known) { return known.series == row.series; });
      }
      bucket.push_back(row);
    }
  }
  for (auto& [time, rows] : source.rows) std::sort(rows.begin(), rows.end());
  return source;
}

bool Lies(int64_t time, const std::vector<table::TimeRange>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const table::TimeRange& range) {
    return range.first <= time && time < range.end;
  });
}

}  // namespace

void Rollup::Turn(Process& process) {
  const int64_t began = process.scene().scheduler.now_us();
  // A call that slept may find that others have freed what it was about to read.
  const auto holds = [&](const Status& status) {
    const bool slept = process.scene().scheduler.now_us() - began >= kAgeUs / 2;
    const bool gone = KindOf(status) == ErrorKind::kNotFound && slept;
    if (!gone) Judge(process, "refresh", status);
    return status.ok();
  };
  const auto before = position_;
  const Buckets old = buckets_;
  const auto source = Read(process);
  if (!holds(source.status())) return;
  const auto& metadata = *source->version.metadata;
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(metadata);
  if (!head) return;
  maintain::SourceChanges changes;
  if (before) {
    auto read = maintain::ReadSourceChanges(process.env(), metadata, source->contract, *before);
    if (!holds(read.status())) return;
    changes = *std::move(read);
  }
  RollupPosition next;
  next.snapshot = head->snapshot_id;
  next.sequence = head->sequence_number;
  next.table = metadata.table_uuid;
  Buckets made = source->rows;
  if (changes.known) {
    next.floor_us = std::max(before->floor_us, changes.floor_us);
    const auto touched =
        maintain::From(maintain::TouchedBuckets(changes.touched, Edges()), next.floor_us);
    std::erase_if(made, [&](const auto& it) { return !Lies(StartOf(it.first), touched); });
    for (const auto& [time, rows] : old) {
      if (!Lies(StartOf(time), touched)) made[time] = rows;
    }
  }
  process.world().Count(changes.known ? "refresh: what changed" : "refresh: all");
  // What retention took stays.
  const auto kept = [&](Buckets buckets) {
    std::erase_if(buckets, [&](const auto& it) { return StartOf(it.first) < next.floor_us; });
    return buckets;
  };
  if (kept(made) != kept(source->rows)) {
    process.world().Fail(fmt::format("a refresh from {} to {} is not what v{} has",
                                     before ? before->sequence : 0, next.sequence,
                                     source->version.number));
  }
  if (position_ != before) return;  // another refresh was faster
  process.Note(fmt::format("refresh to {}", next.sequence));
  position_ = next;
  buckets_ = std::move(made);
}

}  // namespace timelake::sim
