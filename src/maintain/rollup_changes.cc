#include "maintain/rollup_changes.h"

#include <algorithm>

#include "base/civil_time.h"
#include "base/text.h"
#include "scan/key_range.h"
#include "scan/scan.h"
#include "table/manifests.h"
#include "table/rollup_history.h"

namespace timelake::maintain {
namespace {

using iceberg::Snapshot;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

class Reader {
 public:
  Reader(const table::Env& env, const iceberg::TableMetadata& metadata,
         const table::Contract& contract, const table::RollupPosition& position)
      : env_(env), metadata_(metadata), contract_(contract), position_(position) {
    columns_.time = iceberg::FindFieldById(*iceberg::CurrentSchema(metadata), *contract.time_id);
  }

  Result<SourceChanges> Read() {
    const Snapshot* head = iceberg::CurrentSnapshot(metadata_);
    std::vector<const Snapshot*> since;
    const Snapshot* snapshot = head;
    while (snapshot && snapshot->sequence_number > position_.sequence) {
      since.push_back(snapshot);
      snapshot = snapshot->parent_snapshot_id
                     ? iceberg::SnapshotById(metadata_, *snapshot->parent_snapshot_id)
                     : nullptr;
    }
    if (snapshot ? snapshot->snapshot_id != position_.snapshot ||
                       snapshot->sequence_number != position_.sequence
                 : !OnlyGrewBefore(since)) {
      return changes_;
    }
    changes_.known = true;
    if (head == snapshot) return changes_;
    TL_RETURN_NOT_OK(ReadAdded(*head));
    for (const Snapshot* step : since) {
      const auto operation = step->summary.find("operation");
      const bool only_adds = operation != step->summary.end() &&
                             (operation->second == "append" || operation->second == "replace");
      if (!only_adds) TL_RETURN_NOT_OK(ReadRemoved(*step));
    }
    return changes_;
  }

 private:
  Span SpanOf(const iceberg::DataFile& file) const {
    const scan::KeyRange range = scan::KeyRangeOf(file, nullptr, columns_);
    return {range.first, range.last, file.file_size_in_bytes, file.record_count};
  }

  // Whether nothing was deleted between the position and the oldest of the snapshots since that are
  // left, but by retention.
  bool OnlyGrewBefore(const std::vector<const Snapshot*>& since) {
    if (since.empty() || position_.table != metadata_.table_uuid) return false;
    const auto history = table::HistoryOf(*since.back());
    if (!history || history->kept_since > position_.sequence) return false;
    changes_.floor_us = std::max(changes_.floor_us, history->dropped_before);
    return true;
  }

  Status ReadAdded(const Snapshot& head) {
    TL_ASSIGN_OR_RAISE(const auto rows, table::ReadRows(env_, head));
    for (const auto& row : *rows) {
      if (row.sequence_number <= position_.sequence) continue;
      TL_ASSIGN_OR_RAISE(const auto manifest, table::ReadEntries(env_, row));
      for (const auto& entry : manifest->entries) {
        if (entry.status == iceberg::EntryStatus::kDeleted ||
            entry.sequence_number.value_or(0) <= position_.sequence) {
          continue;
        }
        if (entry.file.content == iceberg::FileContent::kData) {
          changes_.touched.push_back(SpanOf(entry.file));
        } else {  // it may be about any row
          changes_.touched.push_back({kLowest, kHighest, 0, 0});
          changes_.removed = true;
        }
      }
    }
    return Status::OK();
  }

  Status ReadRemoved(const Snapshot& step) {
    const int64_t cutoff = CutoffOf(step);
    TL_ASSIGN_OR_RAISE(const auto rows, table::ReadRows(env_, step));
    for (const auto& row : *rows) {
      if (row.added_snapshot_id != step.snapshot_id || row.deleted_files_count == 0 ||
          row.content != iceberg::ManifestContent::kData) {
        continue;
      }
      TL_ASSIGN_OR_RAISE(const auto manifest, table::ReadEntries(env_, row));
      for (const auto& entry : manifest->entries) {
        if (entry.status != iceberg::EntryStatus::kDeleted ||
            entry.snapshot_id != step.snapshot_id) {
          continue;
        }
        Span span = SpanOf(entry.file);
        if (span.first < cutoff) {
          changes_.floor_us = std::max(changes_.floor_us, cutoff);
          span.first = cutoff;
        }
        if (span.last < cutoff) continue;
        changes_.touched.push_back(span);
        changes_.removed = true;
      }
    }
    return Status::OK();
  }

  // Rows before it that a snapshot removed were past the table's retention.
  int64_t CutoffOf(const Snapshot& step) const {
    const auto mark = step.summary.find(table::kRetentionCutoff);
    if (mark != step.summary.end()) {
      const auto cutoff = ParseInt64(mark->second);
      if (cutoff.ok()) return *cutoff;
    }
    int64_t time = 0;
    if (!contract_.retention_us ||
        __builtin_mul_overflow(step.timestamp_ms, kMicrosPerMilli, &time) ||
        __builtin_sub_overflow(time, *contract_.retention_us, &time)) {
      return kLowest;
    }
    return time;
  }

  const table::Env& env_;
  const iceberg::TableMetadata& metadata_;
  const table::Contract& contract_;
  const table::RollupPosition& position_;
  scan::KeyColumns columns_;
  SourceChanges changes_;
};

}  // namespace

Result<SourceChanges> ReadSourceChanges(const table::Env& env,
                                        const iceberg::TableMetadata& metadata,
                                        const table::Contract& contract,
                                        const table::RollupPosition& position) {
  return Reader(env, metadata, contract, position).Read();
}

Result<bool> IsBehind(const table::Env& env, const iceberg::TableMetadata& source,
                      const iceberg::TableMetadata& rollup) {
  const Snapshot* head = iceberg::CurrentSnapshot(source);
  if (!head) return false;
  const auto position = table::ReadPosition(rollup);
  if (!position || !position->todo.empty()) return true;
  if (position->snapshot == head->snapshot_id) return false;
  TL_ASSIGN_OR_RAISE(const auto contract, table::ReadContract(source));
  if (!contract.is_time_series()) return true;
  TL_ASSIGN_OR_RAISE(const auto changes, ReadSourceChanges(env, source, contract, *position));
  return !changes.known || !changes.touched.empty();
}

scan::Predicate Within(int32_t time_id, table::TimeRange range) {
  scan::Predicate within;
  const auto add = [&](scan::Op op, int64_t at) {
    within.all_of.push_back({time_id, op, {iceberg::Value(at)}});
  };
  if (range.first != kLowest) add(scan::Op::kGe, range.first);
  if (range.end != kHighest) add(scan::Op::kLt, range.end);
  return within;
}

Result<std::vector<Span>> LiveSpans(const table::Env& env, const iceberg::TableMetadata& metadata,
                                    const table::Contract& contract, table::TimeRange range) {
  scan::KeyColumns columns;
  columns.time = iceberg::FindFieldById(*iceberg::CurrentSchema(metadata), *contract.time_id);
  TL_ASSIGN_OR_RAISE(const auto files,
                     scan::ListFiles(env, metadata, iceberg::CurrentSnapshot(metadata),
                                     Within(*contract.time_id, range)));
  std::vector<Span> spans;
  for (const auto& file : files) {
    const scan::KeyRange range = scan::KeyRangeOf(*file, nullptr, columns);
    spans.push_back({range.first, range.last, file->file_size_in_bytes, file->record_count});
  }
  return spans;
}

}  // namespace timelake::maintain
