#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "maintain/live_file.h"

namespace timelake::maintain {

// Which data files compaction merges: pure, from what the manifests say.

// Why files are merged, the first that applies.
enum class CompactionReason {
  kUnsorted,  // some are not in the table's order
  kOutdated,  // some are in partitions of a shorter span than their age calls for (chunk-tiers)
  kSmall,     // two or more small ones
  kOverlap,   // several writes may hold the same series and times (dedup)
  kDeletes,   // delete files apply to some, and can go when these are merged
  kAsked,     // the whole partition was asked for
  kTier,      // many small ones of about one size (after appends)
};
std::string_view ReasonText(CompactionReason reason);

struct CompactionRules {
  bool dedup = false;
  bool has_order = false;  // the writer can follow the table's order; else no file counts as sorted
  int64_t target_bytes = 0;
  bool full = false;  // every partition, as a whole
  // After an append: 0, or how many files of one tier (below 64 KiB, 256 KiB, 1 MiB, ...) are
  // merged in partitions that are not `cold`; what the other rules find waits until they are. In
  // cold ones, too, less than an eighth that came late is only merged with its like.
  int64_t tier_files = 0;
  std::function<bool(const LiveFile&)> cold = {};  // set with tier_files
  // Where a file's rows belong when they are rewritten; none: in its own partition. Not set:
  // always.
  std::function<std::optional<Home>(const LiveFile&)> home = {};
  // The partition without buckets that has the rows of a partition with buckets, too: with dedup on
  // the files of a chunk that has some of both are merged there, if they may hold the same series
  // and times and are less than two files of the target size; a reader that does not know the
  // series key would see what was replaced for ever. Not set: none.
  std::function<std::optional<Home>(const Home&)> without_buckets = {};
  int64_t max_bytes = 0;  // of all inputs; 0: no limit
  // Whether a group is for this run to do, by its first file; not set: always. The plans of runs
  // that share the partitions have all the groups of one for all, each once.
  std::function<bool(const LiveFile&)> mine = {};
};

// Files that are merged into new ones, all for one partition. With dedup on they may be:
// see MayMerge.
struct CompactionGroup {
  std::vector<size_t> files;  // in the order of writes
  Home home;                  // of the new files
  CompactionReason reason = CompactionReason::kSmall;
  int64_t bytes = 0;
  int64_t rows = 0;  // before duplicates and deletes go
  int64_t max_sequence = 0;
};

struct CompactionPlan {
  std::vector<CompactionGroup> groups;  // by partition spec and partition
  int64_t bytes = 0;
  // What `max_bytes` left for the next run.
  int64_t left_groups = 0;
  int64_t left_bytes = 0;
};

// By docs/maintenance.md, "Compaction". Idempotent: of a table whose last run carried out all of a
// plan the next plan is empty, unless `full`.
CompactionPlan PlanCompaction(const std::vector<LiveFile>& files, const CompactionRules& rules,
                              const MeetFn& meet);

// The merge condition (docs/commit-protocol.md, "Order of writes"): with dedup on no other live
// file, of any spec, that may hold rows of the same series and times has a sequence number within
// those of `chosen`, ends included.
bool MayMerge(const std::vector<LiveFile>& files, const std::vector<size_t>& chosen, bool dedup,
              const MeetFn& meet);

}  // namespace timelake::maintain
