// Compaction's plans over many days of appends, without a file: what a table of a minute's rows an
// append comes to. simulate_maintenance DAYS APPEND_BYTES prints a JSON object for each day.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "maintain/compaction_plan.h"

namespace timelake::maintain {
namespace {

constexpr int64_t kMinutesPerDay = 24 * 60;
constexpr int64_t kMinFiles = 8;
constexpr int64_t kTarget = int64_t{256} << 20;
constexpr int64_t kColdAfter = kMicrosPerHour;

class Simulation {
 public:
  explicit Simulation(int64_t append_bytes) : append_bytes_(append_bytes) {}

  void Minute(int64_t number) {
    now_ = (number + 1) * kMicrosPerMinute;
    Add(number * kMicrosPerMinute, now_ - 1, append_bytes_, ++sequence_);
    // One append in a hundred has rows of an earlier day as well.
    const int64_t day = number / kMinutesPerDay;
    if (day > 0 && random_() % 100 == 0) {
      const int64_t late =
          (day - 1) * kMicrosPerDay + static_cast<int64_t>(random_() % kMicrosPerDay);
      Add(late, late, append_bytes_ / 100 + 1000, sequence_);
    }
    appended_ += append_bytes_;
    if (sequence_ % kMinFiles == 0) Run(kMinFiles);
    if ((number + 1) % kMinutesPerDay == 0) Run(0);
  }

  void Print(int64_t number) const {
    fmt::print(
        "{{\"day\": {}, \"appends\": {}, \"appended\": {}, \"written\": {}, \"files\": {}, "
        "\"plan_ms\": {:.3f}}}\n",
        (number + 1) / kMinutesPerDay, number + 1, appended_, appended_ + rewritten_, files_.size(),
        plan_ms_);
    std::fflush(stdout);
  }

 private:
  struct File {
    std::unique_ptr<scan::ScanFile> scan;
    LiveFile live;
  };

  void Add(int64_t first, int64_t last, int64_t bytes, int64_t sequence) {
    iceberg::DataFile data;
    data.partition = {iceberg::Value(static_cast<int32_t>(DaysFromMicros(first)))};
    data.file_size_in_bytes = bytes;
    data.record_count = bytes / 10;
    data.file_path = std::to_string(++names_);
    File file;
    file.scan = std::make_unique<scan::ScanFile>();
    file.scan->data = std::make_shared<const iceberg::DataFile>(std::move(data));
    file.scan->sequence_number = sequence;
    file.live.file = file.scan.get();
    file.live.range.first = first;
    file.live.range.last = last;
    file.live.sorted = true;
    file.live.small = bytes < kTarget / 4 * 3;
    files_.push_back(std::move(file));
  }

  void Run(int64_t tier_files) {
    CompactionRules rules;
    rules.dedup = rules.has_order = true;
    rules.target_bytes = kTarget;
    rules.tier_files = tier_files;
    rules.cold = [&](const LiveFile& file) {
      const int64_t day = DaysFromMicros(file.range.first);
      return (day + 1) * kMicrosPerDay <= now_ - kColdAfter;
    };
    const auto meet = [](const scan::KeyRange& a, const scan::KeyRange& b) {
      return a.first <= b.last && b.first <= a.last;
    };
    std::vector<LiveFile> live;
    for (const File& file : files_) live.push_back(file.live);
    const auto start = std::chrono::steady_clock::now();
    const CompactionPlan plan = PlanCompaction(live, rules, meet);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    plan_ms_ = took.count();
    std::vector<char> gone(files_.size(), 0);
    struct Merged {
      int64_t first, last, bytes, sequence;
    };
    std::vector<Merged> merged;
    for (const CompactionGroup& group : plan.groups) {
      Merged one{INT64_MAX, INT64_MIN, group.bytes, group.max_sequence};
      for (size_t i : group.files) {
        gone[i] = 1;
        one.first = std::min(one.first, files_[i].live.range.first);
        one.last = std::max(one.last, files_[i].live.range.last);
      }
      rewritten_ += group.bytes;
      merged.push_back(one);
    }
    std::deque<File> kept;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (!gone[i]) kept.push_back(std::move(files_[i]));
    }
    files_ = std::move(kept);
    for (const Merged& one : merged) Add(one.first, one.last, one.bytes, one.sequence);
    if (!merged.empty()) ++sequence_;
  }

  const int64_t append_bytes_;
  std::deque<File> files_;
  std::mt19937_64 random_{1};
  int64_t now_ = 0, sequence_ = 0, names_ = 0, appended_ = 0, rewritten_ = 0;
  double plan_ms_ = 0;
};

int Main(int64_t days, int64_t append_bytes) {
  Simulation simulation(append_bytes);
  for (int64_t minute = 0; minute < days * kMinutesPerDay; ++minute) {
    simulation.Minute(minute);
    if ((minute + 1) % kMinutesPerDay == 0) simulation.Print(minute);
  }
  return 0;
}

}  // namespace
}  // namespace timelake::maintain

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "simulate_maintenance DAYS APPEND_BYTES\n");
    return 2;
  }
  return timelake::maintain::Main(std::atoll(argv[1]), std::atoll(argv[2]));
}
