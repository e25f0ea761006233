#include "table/rewrite_manifests.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/uuid.h"
#include "iceberg/partition_less.h"
#include "table/next_metadata.h"
#include "table/settings.h"

namespace timelake::table {
namespace {

using iceberg::EntryStatus;
using iceberg::ManifestEntry;

// The live entries of some manifests, each with its share of their bytes.
struct Entries {
  iceberg::ManifestHeader header;
  std::vector<std::pair<ManifestEntry, int64_t>> items;
};

Result<Entries> ReadAll(const Env& env, const ManifestRows& rows,
                        const std::vector<size_t>& group) {
  Entries entries;
  for (const size_t i : group) {
    TL_ASSIGN_OR_RAISE(const auto manifest, ReadEntries(env, rows[i]));
    entries.header = manifest->header;  // of the youngest
    entries.header.spec.spec_id = rows[i].partition_spec_id;
    if (manifest->entries.empty()) continue;
    const int64_t share =
        rows[i].manifest_length / static_cast<int64_t>(manifest->entries.size()) + 1;
    for (const ManifestEntry& entry : manifest->entries) {
      if (entry.status == EntryStatus::kDeleted) continue;
      entries.items.emplace_back(entry, share);
      entries.items.back().first.status = EntryStatus::kExisting;
    }
  }
  entries.header.format_version = iceberg::kFormatVersion;
  entries.header.content = iceberg::ManifestContent::kData;
  return entries;
}

class Builder {
 public:
  Builder(const Handle& handle, SnapshotAttempt begun, int64_t target_bytes)
      : handle_(handle), env_(handle.env()), begun_(std::move(begun)) {
    // Beyond the target by a margin for what is only estimated.
    limit_ = target_bytes > std::numeric_limits<int64_t>::max() / 2 ? target_bytes
                                                                    : target_bytes / 5 * 6;
  }

  // Writes the entries in order, cut where a manifest is large enough.
  Status Add(Entries entries, size_t field) {
    std::stable_sort(entries.items.begin(), entries.items.end(), [&](const auto& a, const auto& b) {
      const auto& left = a.first.file.partition;
      const auto& right = b.first.file.partition;
      const int order = iceberg::Compare(left.at(field), right.at(field));
      return order != 0 ? order < 0 : iceberg::PartitionLess()(left, right);
    });
    std::vector<ManifestEntry> some;
    int64_t bytes = 0;
    for (auto& [entry, share] : entries.items) {
      some.push_back(std::move(entry));
      bytes += share;
      if (bytes < limit_) continue;
      TL_RETURN_NOT_OK(Write(entries.header, std::exchange(some, {})));
      bytes = 0;
    }
    return some.empty() ? Status::OK() : Write(entries.header, some);
  }

  // `others`: rows that stay, which follow as the younger ones.
  Result<Attempt> Finish(const Version& base, const ManifestRows& others, const IndexFn& index) {
    rows_.insert(rows_.end(), others.begin(), others.end());
    Change change;
    change.operation = "replace";
    begun_.snapshot.summary = Summarize(iceberg::CurrentSnapshot(*base.metadata), change);
    return FinishSnapshot(handle_, base, std::move(begun_), std::move(rows_), index);
  }

  int64_t written() const { return static_cast<int64_t>(rows_.size()); }

 private:
  Status Write(const iceberg::ManifestHeader& header, const std::vector<ManifestEntry>& entries) {
    TL_ASSIGN_OR_RAISE(auto bytes, iceberg::WriteManifest(header, entries));
    const std::string key = fmt::format("{}/metadata/{}-merged-m.avro", handle_.folder(),
                                        FormatUuid(NewUuidV4(*env_.random)));
    TL_ASSIGN_OR_RAISE(
        rows_.emplace_back(),
        iceberg::DescribeManifest(header, entries, store::UriOf(*env_.store, key), bytes->size(),
                                  begun_.snapshot.snapshot_id, begun_.snapshot.sequence_number));
    begun_.attempt.objects.push_back({key, std::move(bytes)});
    return Status::OK();
  }

  const Handle& handle_;
  const Env& env_;
  SnapshotAttempt begun_;
  int64_t limit_ = 0;
  ManifestRows rows_;
};

}  // namespace

Result<CommitResult> CommitManifests(Handle& handle, const ManifestPlanFn& plan,
                                     const CommitOptions& options, ManifestReport* report) {
  std::map<int64_t, ManifestReport> attempts;  // by snapshot id
  const auto build = [&](const Version& base, const std::set<int64_t>&) -> Result<BuildResult> {
    const iceberg::Snapshot* head = iceberg::CurrentSnapshot(*base.metadata);
    if (head == nullptr) return Settled{};
    TL_ASSIGN_OR_RAISE(const auto rows, ReadRows(handle.env(), *head));
    TL_ASSIGN_OR_RAISE(const ManifestRewrite rewrite, plan(base, *rows));
    if (rewrite.groups.empty()) return Settled{};
    TL_ASSIGN_OR_RAISE(const Settings settings, ResolveSettings(base.metadata->properties));
    SnapshotAttempt begun = BeginSnapshot(handle, base);
    ManifestReport& done = attempts[begun.snapshot.snapshot_id];
    Builder builder(handle, std::move(begun), settings.manifest_target_bytes);
    std::set<size_t> gone;
    for (const auto& group : rewrite.groups) {
      TL_ASSIGN_OR_RAISE(auto entries, ReadAll(handle.env(), *rows, group.rows));
      TL_RETURN_NOT_OK(builder.Add(std::move(entries), group.field));
      gone.insert(group.rows.begin(), group.rows.end());
      for (const size_t i : group.rows) done.bytes += (*rows)[i].manifest_length;
    }
    done.rewritten = static_cast<int64_t>(gone.size());
    done.written = builder.written();
    ManifestRows others;
    for (size_t i = 0; i < rows->size(); ++i) {
      if (!gone.contains(i)) others.push_back((*rows)[i]);
    }
    TL_ASSIGN_OR_RAISE(Attempt attempt, builder.Finish(base, others, rewrite.index));
    return attempt;
  };
  TL_ASSIGN_OR_RAISE(auto committed, Commit(handle, build, options));
  if (committed.committed) *report = attempts[committed.snapshot_id.value_or(0)];
  return committed;
}

}  // namespace timelake::table
