#include "maintain/compaction_commit.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "index/carry_over.h"
#include "maintain/compaction_plan.h"

namespace timelake::maintain {
namespace {

using Paths = std::unordered_map<std::string, size_t>;  // of live files, to their places

bool Contains(const std::vector<std::shared_ptr<const iceberg::DataFile>>& deletes,
              const std::string& path) {
  return std::any_of(deletes.begin(), deletes.end(),
                     [&](const auto& one) { return one->file_path == path; });
}

Paths PlacesOf(const LiveFiles& live) {
  Paths places;
  for (size_t i = 0; i < live.files().size(); ++i) {
    places.emplace(live.files()[i].file->data->file_path, i);
  }
  return places;
}

std::vector<size_t> AllOf(const std::vector<PendingGroup>& groups) {
  std::vector<size_t> all(groups.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

}  // namespace

bool MissesNoDelete(const scan::ScanFile& input, const scan::ScanFile& now,
                    const scan::ScanFile& output) {
  for (const auto& one : now.position_deletes) {
    if (!Contains(input.position_deletes, one->file_path)) return false;
  }
  for (const auto& one : now.equality_deletes) {
    if (Contains(input.equality_deletes, one->file_path)) continue;
    if (!Contains(output.equality_deletes, one->file_path)) return false;
  }
  return true;
}

bool GainsNoDelete(const scan::ScanFile& input, const scan::ScanFile& output) {
  return std::all_of(
      output.equality_deletes.begin(), output.equality_deletes.end(),
      [&](const auto& one) { return Contains(input.equality_deletes, one->file_path); });
}

namespace {

bool IsValid(const PendingGroup& group, const LiveFiles& live, const Paths& places, bool dedup) {
  scan::ScanFile output;
  iceberg::DataFile data;
  data.partition = group.home.partition;
  output.data = std::make_shared<const iceberg::DataFile>(std::move(data));
  output.spec_id = group.home.spec_id;
  output.sequence_number = group.max_sequence;
  live.deletes().Assign(&output);
  std::vector<size_t> chosen;
  for (const scan::ScanFile& input : group.inputs) {
    const auto place = places.find(input.data->file_path);
    if (place == places.end()) return false;
    const scan::ScanFile& now = *live.files()[place->second].file;
    if (now.sequence_number != input.sequence_number || !MissesNoDelete(input, now, output) ||
        !GainsNoDelete(now, output)) {
      return false;
    }
    chosen.push_back(place->second);
  }
  return MayMerge(live.files(), chosen, dedup, live.meet());
}

}  // namespace

std::vector<size_t> StillValid(const std::vector<PendingGroup>& groups, const LiveFiles& live,
                               bool dedup) {
  const Paths places = PlacesOf(live);
  std::vector<size_t> valid;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (IsValid(groups[i], live, places, dedup)) valid.push_back(i);
  }
  return valid;
}

std::set<std::string> SpentDeletes(const std::vector<PendingGroup>& groups,
                                   const std::vector<size_t>& valid, const LiveFiles& live) {
  std::unordered_map<std::string, const scan::ScanFile*> inputs;
  for (size_t i : valid) {
    for (const auto& input : groups[i].inputs) inputs.emplace(input.data->file_path, &input);
  }
  return live.UnneededDeletes([&](const scan::ScanFile& file, const iceberg::DataFile& one) {
    const auto input = inputs.find(file.data->file_path);
    if (input == inputs.end()) return false;
    return Contains(input->second->position_deletes, one.file_path) ||
           Contains(input->second->equality_deletes, one.file_path);
  });
}

Status CheckNotThere(const table::Handle& handle, const std::vector<PendingGroup>& groups,
                     const LiveFiles& live) {
  const Paths places = PlacesOf(live);
  for (const PendingGroup& group : groups) {
    for (const auto& stored : group.merged.files) {
      if (!places.contains(stored.file.file_path)) continue;
      return CommitUnknown(
          "table {}: {} is in the table already, by an attempt that seemed to fail", handle.name(),
          stored.file.file_path);
    }
  }
  return Status::OK();
}

void DeleteOutputs(const table::Handle& handle, const std::vector<PendingGroup>& groups) {
  std::vector<std::string> keys;
  for (const PendingGroup& group : groups) {
    for (const auto& stored : group.merged.files) keys.push_back(stored.key);
  }
  if (keys.empty()) return;
  const table::Env& env = handle.env();
  Status left = table::Retried(env, [&] { return env.store->DeleteAll(keys); });
  if (!left.ok()) {
    env.Log(LogLevel::kInfo,
            handle.name() + ": data files left for orphan clean-up: " + MessageOf(left));
  }
}

table::IndexFn CompactionCommit::CarryIndex(const std::vector<size_t>& valid) const {
  if (!target_.contract.is_time_series()) return {};
  std::vector<std::shared_ptr<arrow::RecordBatch>> moved;
  for (size_t i : valid) moved.push_back(pending_[i].merged.newest);
  return [this, moved](const table::Version& base,
                       int64_t snapshot_id) -> Result<std::optional<table::IndexObject>> {
    // Rows in another schema cannot be compared; a later append builds the index again.
    if (!iceberg::SameFields(target_.schema, *iceberg::CurrentSchema(*base.metadata))) {
      return std::nullopt;
    }
    return index::CarryOver(handle_, base, snapshot_id, moved,
                            /*order_kept=*/target_.contract.dedup);
  };
}

Result<std::optional<table::Rewrite>> CompactionCommit::Plan(const table::Version& base,
                                                             int64_t snapshot_id) {
  TL_ASSIGN_OR_RAISE(const auto live,
                     LiveFiles::Read(handle_.env(), base.metadata, target_, window_));
  const std::vector<size_t> valid =
      checks_.merged ? StillValid(pending_, *live, target_.contract.dedup) : AllOf(pending_);
  TL_RETURN_NOT_OK(CheckNotThere(handle_, pending_, *live));
  table::Rewrite rewrite;
  rewrite.operation = "replace";
  rewrite.checks = checks_;
  rewrite.removed = SpentDeletes(pending_, valid, *live);
  choices_[snapshot_id] = {valid, static_cast<int64_t>(rewrite.removed.size())};
  rewrite.started_boot_us = handle_.env().clock->BootMicros();
  for (size_t i : valid) {
    const PendingGroup& group = pending_[i];
    rewrite.started_boot_us = std::min(rewrite.started_boot_us, group.started_boot_us);
    for (const auto& input : group.inputs) rewrite.removed.insert(input.data->file_path);
    for (const auto& stored : group.merged.files) {
      rewrite.added.push_back({stored.file, group.home.spec_id, group.max_sequence});
      rewrite.added_keys.push_back(stored.key);
    }
  }
  if (rewrite.removed.empty()) return std::nullopt;
  rewrite.summary = summary_;
  rewrite.index = CarryIndex(valid);
  return rewrite;
}

Result<CompactionCommit::Outcome> CompactionCommit::Run() {
  choices_.clear();
  const auto committed = table::CommitRewrite(
      handle_,
      [this](const table::Version& base, int64_t snapshot_id) { return Plan(base, snapshot_id); },
      options_);
  if (!committed.ok()) {
    const bool unknown = KindOf(committed.status()) == ErrorKind::kCommitUnknown;
    const std::vector<PendingGroup> groups = std::exchange(pending_, {});
    if (!unknown) DeleteOutputs(handle_, groups);
    return committed.status();
  }
  Outcome outcome;
  outcome.committed = committed->committed;
  Choice choice;
  if (outcome.committed) {
    const auto made = choices_.find(committed->snapshot_id.value_or(0));
    if (made == choices_.end()) {
      pending_.clear();  // which of the files are in the table now? None may be deleted.
      return InternalError("table {}: a compaction was committed by an unknown snapshot",
                           handle_.name());
    }
    choice = made->second;
  }
  outcome.delete_files = choice.delete_files;
  std::vector<PendingGroup> abandoned;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const bool in = std::find(choice.groups.begin(), choice.groups.end(), i) != choice.groups.end();
    (in ? outcome.groups : abandoned).push_back(std::move(pending_[i]));
  }
  pending_.clear();
  outcome.abandoned = static_cast<int64_t>(abandoned.size());
  DeleteOutputs(handle_, abandoned);
  return outcome;
}

}  // namespace timelake::maintain
