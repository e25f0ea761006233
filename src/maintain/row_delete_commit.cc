#include "maintain/row_delete_commit.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "maintain/index_without.h"
#include "table/contract.h"
#include "table/rewrite.h"

namespace timelake::maintain {
namespace {

// The same files by path, with their places.
std::unordered_map<std::string, size_t> PlacesOf(const LiveFiles& live) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < live.files().size(); ++i) {
    places.emplace(live.files()[i].file->data->file_path, i);
  }
  return places;
}

bool SameDeletes(const scan::ScanFile& a, const scan::ScanFile& b) {
  const auto same = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& one, const auto& two) {
      return one->file_path == two->file_path;
    });
  };
  return same(a.position_deletes, b.position_deletes) &&
         same(a.equality_deletes, b.equality_deletes);
}

bool SameContract(const table::Contract& a, const table::Contract& b) {
  return a.time_id == b.time_id && a.key_ids == b.key_ids && a.dedup == b.dedup &&
         a.ingest_time_id == b.ingest_time_id;
}

class Run {
 public:
  Run(table::Handle& handle, const write::Target& target, const RowDeleteDraft& draft)
      : handle_(handle), target_(target), draft_(draft) {}

  Result<std::optional<table::Rewrite>> Plan(const table::Version& base);

 private:
  Result<bool> StillHolds(const table::Version& base, const LiveFiles& live) const;
  table::IndexFn Index(std::shared_ptr<const LiveFiles> live) const;

  table::Handle& handle_;
  const write::Target& target_;
  const RowDeleteDraft& draft_;
};

// Whether the outcome is right for a newer version as well.
Result<bool> Run::StillHolds(const table::Version& base, const LiveFiles& live) const {
  if (!iceberg::SameFields(target_.schema, *iceberg::CurrentSchema(*base.metadata))) return false;
  TL_ASSIGN_OR_RAISE(const table::Contract contract, table::ReadContract(*base.metadata));
  if (!SameContract(contract, target_.contract)) return false;
  const size_t valid = StillValid(draft_.groups, live, /*dedup=*/false).size();
  if (draft_.checks.deleted_from && valid != draft_.groups.size()) return false;
  if (!draft_.checks.watched) return true;
  const auto places = PlacesOf(live);
  return std::all_of(draft_.watched.begin(), draft_.watched.end(), [&](size_t i) {
    const scan::ScanFile& then = *draft_.live->files()[i].file;
    const auto place = places.find(then.data->file_path);
    if (place == places.end()) return false;
    const scan::ScanFile& now = *live.files()[place->second].file;
    return now.sequence_number == then.sequence_number && SameDeletes(now, then);
  });
}

table::IndexFn Run::Index(std::shared_ptr<const LiveFiles> live) const {
  if (!target_.contract.is_time_series()) return {};
  const auto places = PlacesOf(*live);
  std::vector<size_t> dropped;
  std::vector<KeptRows> kept;
  for (const PendingGroup& group : draft_.groups) {
    const auto place = places.find(group.inputs.front().data->file_path);
    if (place == places.end()) return {};
    dropped.push_back(place->second);
    if (group.merged.files.empty()) continue;
    scan::ScanFile file = group.inputs.front();
    file.data = std::make_shared<const iceberg::DataFile>(group.merged.files.front().file);
    kept.push_back({std::move(file), group.merged.newest});
  }
  return
      [this, live = std::move(live), dropped, kept](const table::Version& on, int64_t snapshot_id) {
        return IndexWithout(handle_, on, snapshot_id, *live, dropped, target_.contract, kept);
      };
}

Result<std::optional<table::Rewrite>> Run::Plan(const table::Version& base) {
  auto read = LiveFiles::Read(handle_.env(), base.metadata, target_);
  if (!read.ok() && KindOf(read.status()) == ErrorKind::kConflict) return std::nullopt;
  TL_RETURN_NOT_OK(read.status());
  const std::shared_ptr<const LiveFiles> live = *std::move(read);
  TL_RETURN_NOT_OK(CheckNotThere(handle_, draft_.groups, *live));
  TL_ASSIGN_OR_RAISE(const bool holds, StillHolds(base, *live));
  if (!holds) return std::nullopt;
  std::vector<size_t> all(draft_.groups.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  table::Rewrite rewrite;
  rewrite.removed = SpentDeletes(draft_.groups, all, *live);
  rewrite.started_boot_us = draft_.started_boot_us;
  for (const PendingGroup& group : draft_.groups) {
    rewrite.removed.insert(group.inputs.front().data->file_path);
    for (const auto& stored : group.merged.files) {
      rewrite.added.push_back({stored.file, group.inputs.front().spec_id, group.max_sequence});
      rewrite.added_keys.push_back(stored.key);
    }
  }
  rewrite.operation = rewrite.added.empty() ? "delete" : "overwrite";
  rewrite.summary = draft_.summary;
  rewrite.checks = draft_.checks;
  rewrite.index = Index(live);
  return rewrite;
}

}  // namespace

Result<std::optional<table::CommitResult>> CommitRowDelete(table::Handle& handle,
                                                           const write::Target& target,
                                                           const RowDeleteDraft& draft,
                                                           const table::CommitOptions& options) {
  Run run(handle, target, draft);
  TL_ASSIGN_OR_RAISE(
      auto committed,
      table::CommitRewrite(
          handle, [&](const table::Version& base, int64_t) { return run.Plan(base); }, options));
  if (!committed.committed) return std::nullopt;
  return committed;
}

}  // namespace timelake::maintain
