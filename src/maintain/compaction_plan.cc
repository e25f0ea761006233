#include "maintain/compaction_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "iceberg/partition_less.h"
#include "scan/write_order.h"

namespace timelake::maintain {
namespace {

using Numbers = std::vector<size_t>;  // of files
// By spec and partition.
using Homes = std::map<int, std::map<std::vector<iceberg::Value>, Numbers, iceberg::PartitionLess>>;

bool HasDeletes(const scan::ScanFile& file) {
  return !file.position_deletes.empty() || !file.equality_deletes.empty();
}

// 0 below 64 KiB, 1 below 256 KiB, 2 below 1 MiB, ... Only the lowest tier keeps what it merged
// until that has grown out of it, rewritten each time: with a limit four times as high twice as
// many rows of a stream of small appends were written again. What repeats itself may take a few
// bits a row, but is decoded, merged and encoded row by row: a row counts for a number at least.
int TierOf(int64_t bytes, int64_t rows) {
  const int64_t weight = std::max(bytes, rows * static_cast<int64_t>(sizeof(int64_t)));
  int tier = 0;
  for (int64_t limit = 64 << 10; weight >= limit && tier < 20; limit *= 4) ++tier;
  return tier;
}

template <typename Fn>
void ForEachDelete(const scan::ScanFile& file, Fn&& visit) {
  for (const auto& one : file.position_deletes) visit(one.get());
  for (const auto& one : file.equality_deletes) visit(one.get());
}

// Finds which other files stand in the way of merging some: those with rows of the same series and
// times whose sequence number lies in between.
class Blockers {
 public:
  Blockers(const std::vector<LiveFile>& files, const MeetFn& meet) : files_(files), meet_(meet) {
    for (size_t i = 0; i < files.size(); ++i) by_first_.push_back(i);
    std::sort(by_first_.begin(), by_first_.end(),
              [&](size_t a, size_t b) { return files[a].range.first < files[b].range.first; });
    // The longest time span tells how far back a file may begin that reaches a given time.
    int64_t last = std::numeric_limits<int64_t>::min();
    for (size_t i : by_first_) reach_.push_back(last = std::max(last, files[i].range.last));
  }

  // Sequence numbers of files outside of `own` that meet file `of`.
  std::vector<int64_t> Of(size_t of, const std::set<size_t>& own) const {
    const scan::KeyRange& range = files_[of].range;
    const auto end =
        std::upper_bound(by_first_.begin(), by_first_.end(), range.last,
                         [&](int64_t last, size_t i) { return last < files_[i].range.first; });
    std::vector<int64_t> sequences;
    for (auto at = static_cast<size_t>(end - by_first_.begin()); at-- > 0;) {
      if (reach_[at] < range.first) break;  // nor any that begins earlier
      const size_t i = by_first_[at];
      if (own.contains(i) || !meet_(files_[i].range, range)) continue;
      sequences.push_back(files_[i].file->sequence_number);
    }
    return sequences;
  }

 private:
  const std::vector<LiveFile>& files_;
  const MeetFn& meet_;
  Numbers by_first_;
  std::vector<int64_t> reach_;  // latest time of the files up to that place
};

bool Between(const std::vector<int64_t>& sequences, int64_t low, int64_t high) {
  return std::any_of(sequences.begin(), sequences.end(),
                     [&](int64_t one) { return low <= one && one <= high; });
}

class Planner {
 public:
  Planner(const std::vector<LiveFile>& files, const CompactionRules& rules, const MeetFn& meet)
      : files_(files), rules_(rules), meet_(meet), blockers_(files, meet) {}

  CompactionPlan Run() {
    Homes specs;
    for (size_t i = 0; i < files_.size(); ++i) {
      const scan::ScanFile& file = *files_[i].file;
      std::optional<Home> moved = rules_.home ? rules_.home(files_[i]) : std::nullopt;
      if (moved) outdated_.insert(i);
      const Home home = moved ? *std::move(moved) : Home{file.spec_id, file.data->partition};
      specs[home.spec_id][home.partition].push_back(i);
    }
    if (rules_.dedup && rules_.without_buckets) JoinBuckets(&specs);
    for (auto& [spec_id, partitions] : specs) {
      for (auto& [values, all] : partitions) {
        home_ = {spec_id, values};
        Partition(std::move(all));
      }
    }
    while (!rules_.full && DropInVain()) {
    }
    std::erase_if(plan_.groups, [&](const auto& group) { return !IsMine(group.files.front()); });
    return std::move(plan_);
  }

 private:
  bool IsMine(size_t i) const { return !rules_.mine || rules_.mine(files_[i]); }

  int64_t SequenceOf(size_t i) const { return files_[i].file->sequence_number; }

  int64_t BytesOf(size_t i) const { return files_[i].file->data->file_size_in_bytes; }

  // By CompactionRules::without_buckets.
  void JoinBuckets(Homes* homes) const {
    struct Chunk {
      Numbers* whole;                 // the files without buckets
      std::vector<Numbers*> buckets;  // of the others, those that meet them
      int64_t bytes = 0;
    };
    std::map<const Numbers*, Chunk> chunks;
    for (auto& [spec_id, partitions] : *homes) {
      for (auto& [values, files] : partitions) {
        const auto without = rules_.without_buckets({spec_id, values});
        const auto spec = without ? homes->find(without->spec_id) : homes->end();
        if (spec == homes->end()) continue;
        const auto whole = spec->second.find(without->partition);
        if (whole == spec->second.end() || !AnyMeet(files, whole->second)) continue;
        Chunk& chunk = chunks[&whole->second];
        if (chunk.buckets.empty()) chunk = {&whole->second, {}, BytesOfAll(whole->second)};
        chunk.buckets.push_back(&files);
        chunk.bytes += BytesOfAll(files);
      }
    }
    for (auto& [_, chunk] : chunks) {
      if (chunk.bytes >= 2 * rules_.target_bytes) continue;
      for (Numbers* files : chunk.buckets) {
        chunk.whole->insert(chunk.whole->end(), files->begin(), files->end());
        files->clear();
      }
    }
  }

  bool AnyMeet(const Numbers& some, const Numbers& others) const {
    return std::any_of(some.begin(), some.end(), [&](size_t a) {
      return std::any_of(others.begin(), others.end(),
                         [&](size_t b) { return meet_(files_[a].range, files_[b].range); });
    });
  }

  int64_t BytesOfAll(const Numbers& files) const {
    int64_t bytes = 0;
    for (size_t i : files) bytes += BytesOf(i);
    return bytes;
  }

  // Two files or more that are small. Those of one write most often are what a merge left; only if
  // they are tiny another one would leave fewer.
  bool ManySmall(const Numbers& files) const {
    std::set<int64_t> writes;
    int64_t small = 0, bytes = 0;
    for (size_t i : files) {
      if (!files_[i].small) continue;
      ++small;
      bytes += BytesOf(i);
      writes.insert(SequenceOf(i));
    }
    return writes.size() >= 2 || (small >= 4 && bytes / small < rules_.target_bytes / 4);
  }

  bool SomeOverlap(const Numbers& fit) const {
    Numbers by_first = fit;
    std::sort(by_first.begin(), by_first.end(),
              [&](size_t a, size_t b) { return files_[a].range.first < files_[b].range.first; });
    for (size_t i = 0; i < by_first.size(); ++i) {
      const LiveFile& a = files_[by_first[i]];
      for (size_t j = i + 1; j < by_first.size(); ++j) {
        const LiveFile& b = files_[by_first[j]];
        if (b.range.first > a.range.last) break;
        // Files of one write were made disjoint, though their bounds may not show it.
        if (SequenceOf(by_first[i]) == SequenceOf(by_first[j])) continue;
        if (meet_(a.range, b.range)) return true;
      }
    }
    return false;
  }

  std::optional<CompactionReason> ReasonFor(const Numbers& fit) const {
    for (size_t i : fit) {
      if (IsUnsorted(i)) return CompactionReason::kUnsorted;
    }
    for (size_t i : fit) {
      if (outdated_.contains(i)) return CompactionReason::kOutdated;
    }
    if (ManySmall(fit)) return CompactionReason::kSmall;
    if (rules_.dedup && SomeOverlap(fit)) return CompactionReason::kOverlap;
    for (size_t i : fit) {
      if (HasDeletes(*files_[i].file)) return CompactionReason::kDeletes;
    }
    if (rules_.full) return CompactionReason::kAsked;
    return std::nullopt;
  }

  bool IsUnsorted(size_t i) const { return rules_.has_order && !files_[i].sorted; }

  // Files that were merged come into a higher tier, so that each row is written again a few times
  // only, however many appends follow.
  void Tiers(const Numbers& fit) {
    std::map<int, Numbers> tiers;
    for (size_t i : fit) {
      if (files_[i].small)
        tiers[TierOf(BytesOf(i), files_[i].file->data->record_count)].push_back(i);
    }
    // From the largest: one that is merged takes the files of all smaller ones along, which would
    // else be merged on their own only to be merged again.
    for (auto tier = tiers.rbegin(); tier != tiers.rend(); ++tier) {
      if (!AnyIsMany(Windows(InOrder(tier->second)))) continue;
      Numbers files;
      for (auto smaller = tier; smaller != tiers.rend(); ++smaller) {
        files.insert(files.end(), smaller->second.begin(), smaller->second.end());
      }
      for (Numbers& window : Windows(InOrder(std::move(files)))) {
        if (IsMany(window)) Take(std::move(window), CompactionReason::kTier);
      }
      return;
    }
  }

  Numbers InOrder(Numbers files) const {
    std::sort(files.begin(), files.end(),
              [&](size_t a, size_t b) { return scan::IsOlder(*files_[a].file, *files_[b].file); });
    return files;
  }

  bool IsMany(const Numbers& window) const {
    return static_cast<int64_t>(window.size()) >= rules_.tier_files;
  }
  bool AnyIsMany(const std::vector<Numbers>& windows) const {
    return std::any_of(windows.begin(), windows.end(),
                       [this](const Numbers& window) { return IsMany(window); });
  }

  // Whether a partition is one file, or full ones, but for a little that came late: less than an
  // eighth. Merged as a whole each time, a partition would be written again for a few rows.
  bool FewLate(const Numbers& fit) const {
    int64_t late = 0, bytes = 0, largest = 0;
    for (size_t i : fit) {
      bytes += BytesOf(i);
      if (!files_[i].small) continue;
      late += BytesOf(i);
      largest = std::max(largest, BytesOf(i));
    }
    if (late == bytes) late -= largest;
    return 8 * late < bytes;
  }

  void Partition(Numbers all) {
    std::erase_if(all, [&](size_t i) { return !files_[i].unfit.empty(); });
    if (rules_.tier_files > 0 && !all.empty() && !rules_.cold(files_[all.front()])) {
      return Tiers(all);
    }
    const std::optional<CompactionReason> reason = ReasonFor(all);
    if (!reason) return;
    const bool may_wait =
        *reason == CompactionReason::kSmall || *reason == CompactionReason::kOverlap;
    if (rules_.tier_files > 0 && may_wait && FewLate(all)) return Tiers(all);
    if (!rules_.full && BytesOfAll(all) >= 2 * rules_.target_bytes) {
      std::erase_if(all, [&](size_t i) {
        return !files_[i].small && !IsUnsorted(i) && !outdated_.contains(i) &&
               !HasDeletes(*files_[i].file);
      });
    }
    for (Numbers& window : Windows(InOrder(std::move(all)))) Take(std::move(window), *reason);
  }

  // Cuts files in the order of writes into pieces that may be merged, each as long as can be. Files
  // of one write stay together: one of them outside would stand in the way of the others.
  std::vector<Numbers> Windows(const Numbers& ordered) const {
    std::vector<Numbers> windows;
    if (!rules_.dedup) return ordered.empty() ? windows : std::vector<Numbers>{ordered};
    const std::set<size_t> own(ordered.begin(), ordered.end());
    Numbers window;
    std::vector<int64_t> blocking;  // sequence numbers that meet the window
    for (size_t begin = 0; begin < ordered.size();) {
      const size_t end = EndOfWrite(ordered, begin);
      std::vector<int64_t> more;
      for (size_t at = begin; at < end; ++at) {
        const auto met = blockers_.Of(ordered[at], own);
        more.insert(more.end(), met.begin(), met.end());
      }
      const int64_t high = SequenceOf(ordered[begin]);
      const int64_t low = window.empty() ? high : SequenceOf(window.front());
      if (Between(blocking, low, high) || Between(more, low, high)) {
        if (!window.empty()) windows.push_back(std::exchange(window, {}));
        blocking.clear();
      }
      // A write that meets another of the same number can be part of no merge.
      if (!Between(more, high, high)) {
        window.insert(window.end(), ordered.begin() + static_cast<ptrdiff_t>(begin),
                      ordered.begin() + static_cast<ptrdiff_t>(end));
        blocking.insert(blocking.end(), more.begin(), more.end());
      }
      begin = end;
    }
    if (!window.empty()) windows.push_back(std::move(window));
    return windows;
  }

  size_t EndOfWrite(const Numbers& ordered, size_t begin) const {
    size_t end = begin + 1;
    while (end < ordered.size() && SequenceOf(ordered[end]) == SequenceOf(ordered[begin])) ++end;
    return end;
  }

  // Why these of all files of a partition, which is rewritten for `reason`, are merged; nothing if
  // that would change nothing.
  std::optional<CompactionReason> Worth(const Numbers& window, CompactionReason reason) const {
    if (window.empty()) return std::nullopt;
    const bool several = SequenceOf(window.front()) != SequenceOf(window.back());
    if (rules_.full || several || ManySmall(window)) return reason;
    if (std::any_of(window.begin(), window.end(), [&](size_t i) { return IsUnsorted(i); })) {
      return CompactionReason::kUnsorted;
    }
    if (std::any_of(window.begin(), window.end(),
                    [&](size_t i) { return outdated_.contains(i); })) {
      return CompactionReason::kOutdated;
    }
    const auto deletes = [&](size_t i) { return HasDeletes(*files_[i].file); };
    if (std::any_of(window.begin(), window.end(), deletes)) return CompactionReason::kDeletes;
    return std::nullopt;
  }

  // The whole window if it fits below the cap, else the writes that do, from the oldest on.
  void Take(Numbers window, CompactionReason reason) {
    auto worth = Worth(window, reason);
    if (!worth) return;
    const bool mine = IsMine(window.front());
    const int64_t room = rules_.max_bytes > 0 && mine ? rules_.max_bytes - plan_.bytes
                                                      : std::numeric_limits<int64_t>::max();
    int64_t bytes = 0, all = 0;
    size_t fitting = 0;
    for (size_t begin = 0; begin < window.size();) {
      const size_t end = EndOfWrite(window, begin);
      for (; begin < end; ++begin) all += BytesOf(window[begin]);
      if (all > room) continue;
      bytes = all;
      fitting = end;
    }
    if (fitting < window.size()) {
      ++plan_.left_groups;
      plan_.left_bytes += all - bytes;
      capped_.insert(window.begin(), window.end());
      window.resize(fitting);
      worth = Worth(window, reason);
      if (!worth) {
        plan_.left_bytes += bytes;
        return;
      }
    }
    CompactionGroup group;
    group.reason = *worth;
    group.home = home_;
    group.bytes = bytes;
    for (size_t i : window) {
      group.rows += files_[i].file->data->record_count;
      group.max_sequence = std::max(group.max_sequence, SequenceOf(i));
    }
    group.files = std::move(window);
    if (mine) plan_.bytes += bytes;
    plan_.groups.push_back(std::move(group));
  }

  // Delete files that apply to a file outside of these.
  std::set<const iceberg::DataFile*> DeletesOutside(const std::set<size_t>& chosen) const {
    std::set<const iceberg::DataFile*> stay;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (chosen.contains(i)) continue;
      ForEachDelete(*files_[i].file, [&](const iceberg::DataFile* one) { stay.insert(one); });
    }
    return stay;
  }

  bool AllAmong(const CompactionGroup& group,
                const std::set<const iceberg::DataFile*>& deletes) const {
    bool all = true;
    for (size_t i : group.files) {
      ForEachDelete(*files_[i].file, [&](const auto* one) { all = all && deletes.contains(one); });
    }
    return all;
  }

  // Takes out groups that are there for their delete files only, none of which could go: they apply
  // to files that stay, too. If those stay because of the cap, a later run gets there. True if some
  // were taken out.
  bool DropInVain() {
    std::set<size_t> chosen;
    for (const CompactionGroup& group : plan_.groups) {
      chosen.insert(group.files.begin(), group.files.end());
    }
    const auto stay = DeletesOutside(chosen);
    chosen.insert(capped_.begin(), capped_.end());
    const auto stay_for_good = DeletesOutside(chosen);
    return std::erase_if(plan_.groups, [&](const CompactionGroup& group) {
             if (group.reason != CompactionReason::kDeletes || !AllAmong(group, stay)) return false;
             const bool mine = IsMine(group.files.front());
             if (mine) plan_.bytes -= group.bytes;
             if (!mine || AllAmong(group, stay_for_good)) return true;
             ++plan_.left_groups;
             plan_.left_bytes += group.bytes;
             capped_.insert(group.files.begin(), group.files.end());
             return true;
           }) > 0;
  }

  const std::vector<LiveFile>& files_;
  const CompactionRules& rules_;
  const MeetFn& meet_;
  const Blockers blockers_;
  Home home_;                  // of the partition at hand
  std::set<size_t> outdated_;  // files whose rows belong to another partition
  std::set<size_t> capped_;    // files that would be merged but for the cap
  CompactionPlan plan_;
};

}  // namespace

std::string_view ReasonText(CompactionReason reason) {
  switch (reason) {
    case CompactionReason::kDeletes: return "delete files";
    case CompactionReason::kUnsorted: return "files not in order";
    case CompactionReason::kOutdated: return "old enough for longer partitions";
    case CompactionReason::kSmall: return "small files";
    case CompactionReason::kOverlap: return "overlapping files";
    case CompactionReason::kAsked: return "asked for";
    case CompactionReason::kTier: return "many small files";
  }
  return "unknown";
}

CompactionPlan PlanCompaction(const std::vector<LiveFile>& files, const CompactionRules& rules,
                              const MeetFn& meet) {
  return Planner(files, rules, meet).Run();
}

bool MayMerge(const std::vector<LiveFile>& files, const std::vector<size_t>& chosen, bool dedup,
              const MeetFn& meet) {
  if (!dedup || chosen.empty()) return true;
  const std::set<size_t> own(chosen.begin(), chosen.end());
  const auto sequence = [&](size_t i) { return files[i].file->sequence_number; };
  const auto [low, high] = std::minmax_element(
      chosen.begin(), chosen.end(), [&](size_t a, size_t b) { return sequence(a) < sequence(b); });
  for (size_t i = 0; i < files.size(); ++i) {
    if (own.contains(i) || sequence(i) < sequence(*low) || sequence(i) > sequence(*high)) continue;
    for (size_t one : chosen) {
      if (meet(files[i].range, files[one].range)) return false;
    }
  }
  return true;
}

}  // namespace timelake::maintain
