#include "maintain/row_delete.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "maintain/live_files.h"
#include "maintain/merge_files.h"
#include "maintain/row_delete_commit.h"
#include "maintain/row_delete_plan.h"
#include "scan/superseded.h"
#include "write/sort.h"

namespace timelake::maintain {
namespace {

using table::RowSet;

// The same files by path, with their places.
std::unordered_map<std::string, size_t> PlacesOf(const LiveFiles& live) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < live.files().size(); ++i) {
    places.emplace(live.files()[i].file->data->file_path, i);
  }
  return places;
}

class Run {
 public:
  Run(table::Handle& handle, const write::Target& target, const table::RowDelete& rows,
      const table::CommitOptions& options)
      : handle_(handle), env_(handle.env()), target_(target), rows_(rows), options_(options) {}
  ~Run() { DeleteOutputs(handle_, draft_.groups); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<std::optional<DeleteResult>> Do();

 private:
  Status Choose();
  Result<ReplacedRows> FindReplaced(const std::set<size_t>& files) const;
  Status TakeOut(size_t place);
  Result<MergedFiles> WriteOthers(const LiveFile& file, const RowSet& gone) const;

  table::Handle& handle_;
  const table::Env& env_;
  const write::Target& target_;
  const table::RowDelete& rows_;
  const table::CommitOptions& options_;
  std::set<size_t> chosen_;  // files that go
  ReplacedRows replaced_;
  RowDeleteDraft draft_;
  DeleteResult result_;
};

// With dedup: replaced rows of all files that share a time with some.
Result<ReplacedRows> Run::FindReplaced(const std::set<size_t>& files) const {
  TimeWindow window{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (size_t i : files) {
    window.first = std::min(window.first, draft_.live->files()[i].range.first);
    window.last = std::max(window.last, draft_.live->files()[i].range.last);
  }
  const table::Contract& contract = target_.contract;
  scan::Predicate within;
  // A file without bounds has all times.
  if (window.first > std::numeric_limits<int64_t>::min()) {
    within.all_of.push_back({*contract.time_id, scan::Op::kGe, {iceberg::Value(window.first)}});
  }
  if (window.last < std::numeric_limits<int64_t>::max()) {
    within.all_of.push_back({*contract.time_id, scan::Op::kLe, {iceberg::Value(window.last)}});
  }
  const iceberg::TableMetadata& metadata = draft_.live->metadata();
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(metadata);
  TL_ASSIGN_OR_RAISE(scan::Plan plan, scan::PlanFiles(env_, metadata, head, within));
  const scan::DedupKey key{.key_ids = contract.key_ids,
                           .time_id = *contract.time_id,
                           .ingest_time_id = contract.ingest_time_id,
                           .appends_are_unique = contract.dedup};
  TL_RETURN_NOT_OK(scan::MarkSuperseded(env_, metadata, head, key, within, &plan));
  const auto places = PlacesOf(*draft_.live);
  ReplacedRows replaced;
  for (const scan::ScanFile& file : plan.files) {
    if (file.superseded) replaced[places.at(file.data->file_path)] = *file.superseded;
  }
  return replaced;
}

Status Run::Choose() {
  TL_ASSIGN_OR_RAISE(draft_.live, LiveFiles::Read(env_, rows_.base.metadata, target_));
  const auto places = PlacesOf(*draft_.live);
  const auto add = [&](const std::string& path) -> Status {
    const auto place = places.find(path);
    if (place == places.end()) {
      return InternalError("table {}: {} is no file of version {}", handle_.name(), path,
                           rows_.base.number);
    }
    chosen_.insert(place->second);
    return Status::OK();
  };
  for (const std::string& path : rows_.files) TL_RETURN_NOT_OK(add(path));
  for (const auto& [path, rows] : rows_.rows) {
    if (rows.count() > 0) TL_RETURN_NOT_OK(add(path));
  }
  if (!rows_.dedup || chosen_.empty()) return Status::OK();
  const std::set<size_t> touched = chosen_;
  const RowDeleteRules rules{.by_ingest = target_.contract.ingest_time_id.has_value()};
  // Files that come along may reach further, where more of their rows are replaced ones.
  for (size_t before = 0; before != chosen_.size();) {
    before = chosen_.size();
    TL_ASSIGN_OR_RAISE(replaced_, FindReplaced(chosen_));
    chosen_.merge(
        FilesToRewrite(draft_.live->files(), touched, replaced_, rules, draft_.live->meet()));
  }
  draft_.watched = FilesToWatch(draft_.live->files(), chosen_, draft_.live->meet());
  return Status::OK();
}

Result<MergedFiles> Run::WriteOthers(const LiveFile& file, const RowSet& gone) const {
  if (!file.unfit.empty()) {
    return Unsupported(
        "table {}: {} holds rows that are to be deleted and others, but cannot be "
        "rewritten: {}",
        handle_.name(), file.file->data->file_path, file.unfit);
  }
  scan::ScanFile source = *file.file;
  source.superseded = std::make_shared<const std::vector<int64_t>>(gone.Positions());
  MergeRequest request;
  request.files = {&source};
  request.partition = source.data->partition;
  request.sorted = write::FollowsOrder(target_) && file.sorted;
  request.cancelled = rows_.cancelled;
  write::Target target = target_;
  target.spec = *iceberg::SpecById(draft_.live->metadata(), source.spec_id);
  TL_ASSIGN_OR_RAISE(MergedFiles merged,
                     MergeFiles(env_, draft_.live->metadata(), target, request));
  const bool no_others = source.position_deletes.empty() && source.equality_deletes.empty();
  if (no_others && merged.deleted != gone.count()) {
    PendingGroup group;
    group.merged = std::move(merged);
    DeleteOutputs(handle_, {group});
    return InternalError("table {}: {} rows of {} were to go, but {} went", handle_.name(),
                         gone.count(), source.data->file_path, group.merged.deleted);
  }
  return merged;
}

// One file, without the rows that were chosen and those that were replaced.
Status Run::TakeOut(size_t place) {
  const LiveFile& file = draft_.live->files()[place];
  const scan::ScanFile& scanned = *file.file;
  const auto replaced = replaced_.find(place);
  PendingGroup group;
  group.inputs = {scanned};
  group.home = {scanned.spec_id, scanned.data->partition};
  group.bytes = scanned.data->file_size_in_bytes;
  group.max_sequence = scanned.sequence_number;
  group.started_boot_us = env_.clock->BootMicros();
  const bool whole = rows_.files.contains(scanned.data->file_path);
  if (whole) {
    result_.rows += scanned.data->record_count;
    if (replaced != replaced_.end()) {
      result_.rows -= static_cast<int64_t>(replaced->second.size());
    }
  } else {
    const auto chosen = rows_.rows.find(scanned.data->file_path);
    RowSet gone = chosen != rows_.rows.end() ? chosen->second : RowSet(scanned.data->record_count);
    result_.rows += gone.count();
    if (replaced != replaced_.end()) {
      for (int64_t position : replaced->second) gone.Add(position);
    }
    if (gone.count() < gone.size()) {
      TL_ASSIGN_OR_RAISE(group.merged, WriteOthers(file, gone));
    }
  }
  if (group.merged.files.empty()) {
    ++result_.files_dropped;
  } else {
    ++result_.files_rewritten;
    result_.files_written += static_cast<int64_t>(group.merged.files.size());
  }
  draft_.groups.push_back(std::move(group));
  return Status::OK();
}

Result<std::optional<DeleteResult>> Run::Do() {
  draft_.started_boot_us = env_.clock->BootMicros();
  TL_RETURN_NOT_OK(Choose());
  result_.version = rows_.base.number;
  if (chosen_.empty()) return result_;
  for (size_t place : chosen_) {
    if (rows_.cancelled && rows_.cancelled()) {
      return MakeError(ErrorKind::kCancelled, handle_.name() + ": delete cancelled");
    }
    TL_RETURN_NOT_OK(TakeOut(place));
  }
  const auto committed = CommitRowDelete(handle_, target_, draft_, options_);
  if (!committed.ok()) {
    // Which of the files are in the table? None may be deleted.
    if (KindOf(committed.status()) == ErrorKind::kCommitUnknown) draft_.groups.clear();
    return committed.status();
  }
  if (!*committed) return std::nullopt;
  draft_.groups.clear();  // they are in the table
  result_.version = (*committed)->version.number;
  result_.snapshot_id = (*committed)->snapshot_id.value_or(0);
  return result_;
}

}  // namespace

Result<std::optional<DeleteResult>> RunRowDelete(table::Handle& handle, const write::Target& target,
                                                 const table::RowDelete& rows,
                                                 const table::CommitOptions& options) {
  return Run(handle, target, rows, options).Do();
}

}  // namespace timelake::maintain
