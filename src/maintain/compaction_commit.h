#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "maintain/live_files.h"
#include "maintain/merge_files.h"
#include "table/rewrite.h"

namespace timelake::maintain {

// A group that was merged and waits to be committed.
struct PendingGroup {
  Home home;                           // of the outputs
  std::vector<scan::ScanFile> inputs;  // with the delete files that were applied
  int64_t bytes = 0;                   // of them
  int64_t max_sequence = 0;            // of them; the outputs carry it
  int64_t started_boot_us = 0;
  MergedFiles merged;
};

// Which of the groups may replace their inputs in a version: pure. By their places.
std::vector<size_t> StillValid(const std::vector<PendingGroup>& groups, const LiveFiles& live,
                               bool dedup);

// Live delete files that apply to nothing but inputs of these groups, to which they were applied.
std::set<std::string> SpentDeletes(const std::vector<PendingGroup>& groups,
                                   const std::vector<size_t>& valid, const LiveFiles& live);

// kCommitUnknown if an output of these groups is in the table. The commit loop finds an attempt of
// its own by its snapshot; should that have expired already, the files still tell.
Status CheckNotThere(const table::Handle& handle, const std::vector<PendingGroup>& groups,
                     const LiveFiles& live);

// Deletes outputs that no version will ever name; what is left is logged.
void DeleteOutputs(const table::Handle& handle, const std::vector<PendingGroup>& groups);

// Whether no delete file but those that were known for `input` counts for it as it is `now`, except
// for those by value that apply to `output` as well.
bool MissesNoDelete(const scan::ScanFile& input, const scan::ScanFile& now,
                    const scan::ScanFile& output);

// Whether no delete by value counts for `output` that does not count for `input`: one of a
// partition that only the output is in would delete rows that it is not about.
bool GainsNoDelete(const scan::ScanFile& input, const scan::ScanFile& output);

// Commits groups. Those of which no version will ever be told are deleted by its destructor.
class CompactionCommit {
 public:
  // `window`: as LiveFiles takes it; all groups lie in it.
  CompactionCommit(table::Handle& handle, const write::Target& target,
                   const table::CommitOptions& options, std::optional<TimeWindow> window)
      : handle_(handle), target_(target), options_(options), window_(window) {}
  ~CompactionCommit() { DeleteOutputs(handle_, pending_); }
  CompactionCommit(const CompactionCommit&) = delete;
  CompactionCommit& operator=(const CompactionCommit&) = delete;

  bool empty() const { return pending_.empty(); }
  // Extra keys of its snapshots.
  void set_summary(std::map<std::string, std::string> summary) { summary_ = std::move(summary); }
  void set_checks(const table::RewriteChecks& checks) { checks_ = checks; }
  void Add(PendingGroup group) { pending_.push_back(std::move(group)); }

  struct Outcome {
    bool committed = false;
    std::vector<PendingGroup> groups;  // that are in the table now
    int64_t abandoned = 0;
    int64_t delete_files = 0;  // that went
  };
  // All that was added since the last call, and delete files that are spent. kCommitUnknown:
  // nothing was deleted.
  Result<Outcome> Run();

 private:
  // What one attempt commits.
  struct Choice {
    std::vector<size_t> groups;
    int64_t delete_files = 0;
  };
  Result<std::optional<table::Rewrite>> Plan(const table::Version& base, int64_t snapshot_id);
  table::IndexFn CarryIndex(const std::vector<size_t>& valid) const;

  table::Handle& handle_;
  const write::Target& target_;
  const table::CommitOptions options_;
  const std::optional<TimeWindow> window_;
  std::vector<PendingGroup> pending_;
  std::map<std::string, std::string> summary_;
  table::RewriteChecks checks_;
  std::map<int64_t, Choice> choices_;  // by snapshot id
};

}  // namespace timelake::maintain
