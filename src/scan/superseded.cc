#include "scan/superseded.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <parquet/metadata.h>

#include "scan/key_range.h"
#include "base/parallel.h"
#include "scan/series_rows.h"
#include "scan/winners.h"
#include "scan/write_order.h"
#include "table/contract.h"
#include "table/data_file_reader.h"
#include "table/meta_cache.h"

namespace timelake::scan {
namespace {

using Positions = std::vector<int64_t>;  // ascending
using PositionsPtr = std::shared_ptr<const Positions>;

// Queries of few series that look at their part of two files before the whole files are looked at.
constexpr int kNarrowTimes = 16;
constexpr size_t kFewSeries = 16;
// A mask that is worth remembering when it comes of several files.
constexpr size_t kLargeMask = 4096;
// Rows of other files that are held at a time, 32 bytes each, by each thread.
constexpr int64_t kRowsHeld = 1 << 21;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// A file with the bounds of its key and times.
struct Bounded {
  const ScanFile* file = nullptr;
  size_t index = 0;  // in the plan; only of files that are read
  bool is_read = false;
  KeyRange range;
};

class Marker {
 public:
  // Only rows that pass all of `narrow`, tests of the key, are asked about.
  Marker(const table::Env& env, const iceberg::TableMetadata& metadata, const DedupKey& key,
         Predicate narrow)
      : env_(env), metadata_(metadata), key_(key), narrow_(std::move(narrow)) {
    const iceberg::Schema& schema = *iceberg::CurrentSchema(metadata);
    columns_.time = iceberg::FindFieldById(schema, key.time_id);
    for (int id : key.key_ids) columns_.keys.push_back(iceberg::FindFieldById(schema, id));
    for (const iceberg::Snapshot& snapshot : metadata.snapshots) {
      if (snapshot.summary.contains(table::kWriter)) ours_.insert(snapshot.snapshot_id);
    }
  }

  Status Run(const std::vector<ScanFile>& all, Plan* plan) {
    std::vector<Bounded> files;
    for (const ScanFile& file : all) files.push_back(Bound(file));
    for (Bounded& file : files) {
      const auto found = std::lower_bound(
          plan->files.begin(), plan->files.end(), file.file->data->file_path,
          [](const ScanFile& a, const std::string& path) { return a.data->file_path < path; });
      if (found == plan->files.end() || found->data->file_path != file.file->data->file_path) {
        continue;
      }
      file.is_read = true;
      file.index = static_cast<size_t>(found - plan->files.begin());
    }
    const auto rivals = Rivals(files);
    std::vector<PositionsPtr> marked(plan->files.size());
    static const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8);
    const bool compares = std::any_of(rivals.begin(), rivals.end(),
                                      [](const Others& others) { return !others.empty(); });
    const bool waits = compares && store::IsRemote(*env_.store);
    TL_RETURN_NOT_OK(RunConcurrently(files.size(), threads, waits, [&](size_t i) -> Status {
      if (!files[i].is_read) return Status::OK();
      TL_ASSIGN_OR_RAISE(marked[files[i].index], Of(files[i], rivals[i]));
      return Status::OK();
    }));
    for (size_t i = 0; i < marked.size(); ++i) {
      if (!marked[i] || marked[i]->empty()) continue;
      plan->counters->rows_superseded += static_cast<int64_t>(marked[i]->size());
      plan->files[i].superseded = std::move(marked[i]);
    }
    return Status::OK();
  }

 private:
  using Others = std::vector<const Bounded*>;

  Bounded Bound(const ScanFile& file) const {
    Bounded bounded;
    bounded.file = &file;
    bounded.range = KeyRangeOf(*file.data, iceberg::SpecById(metadata_, file.spec_id), columns_);
    return bounded;
  }

  // For each file those that may have rows of the same key and time.
  std::vector<Others> Rivals(const std::vector<Bounded>& files) const {
    std::vector<size_t> by_first(files.size());
    for (size_t i = 0; i < files.size(); ++i) by_first[i] = i;
    std::sort(by_first.begin(), by_first.end(),
              [&](size_t a, size_t b) { return files[a].range.first < files[b].range.first; });
    std::vector<Others> rivals(files.size());
    for (size_t i = 0; i < by_first.size(); ++i) {
      const Bounded& a = files[by_first[i]];
      for (size_t j = i + 1; j < by_first.size() && files[by_first[j]].range.first <= a.range.last;
           ++j) {
        const Bounded& b = files[by_first[j]];
        if (!SeriesMeet(a.range, b.range, columns_)) continue;
        rivals[by_first[i]].push_back(&b);
        rivals[by_first[j]].push_back(&a);
      }
    }
    return rivals;
  }

  Result<PositionsPtr> Of(const Bounded& file, const Others& rivals) const {
    Others asked;
    TL_ASSIGN_OR_RAISE(const bool unique, IsUnique(*file.file));
    if (!unique) asked.push_back(&file);
    for (const Bounded* rival : rivals) {
      if (key_.ingest_time_id || IsOlder(*file.file, *rival->file)) asked.push_back(rival);
    }
    if (asked.empty()) return nullptr;
    TL_ASSIGN_OR_RAISE(const auto parts, Parts(file, asked));
    return parts.size() == 1 ? parts[0] : Together(*file.file, parts);
  }

  // Positions of a file by rival, and all of them.
  struct Merged {
    std::vector<PositionsPtr> parts;
    PositionsPtr all;
  };

  // Large parts are merged once, as long as they are the same ones.
  PositionsPtr Together(const ScanFile& file, const std::vector<PositionsPtr>& parts) const {
    size_t count = 0;
    for (const PositionsPtr& part : parts) count += part->size();
    const bool large = count >= kLargeMask && env_.cache;
    const std::string key = "superseded-all:" + file.data->file_path;
    if (large) {
      const auto known = env_.cache->Get<Merged>(key);
      if (known && known->parts == parts) return known->all;
    }
    Positions positions;
    positions.reserve(count);
    for (const PositionsPtr& part : parts) {
      positions.insert(positions.end(), part->begin(), part->end());
    }
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    auto all = std::make_shared<const Positions>(std::move(positions));
    if (large) {
      const auto bytes = static_cast<int64_t>((count + all->size()) * sizeof(int64_t));
      env_.cache->Put<Merged>(key, std::make_shared<const Merged>(Merged{parts, all}), bytes);
    }
    return all;
  }

  // Writers of this format leave one row of each series and time in a file of a table with dedup
  // on; of others' files nothing is known.
  Result<bool> IsUnique(const ScanFile& file) const {
    if (!key_.appends_are_unique) return false;
    // The footer need not be asked where the snapshot is still known.
    if (file.snapshot_id && ours_.contains(*file.snapshot_id)) return true;
    const std::string key = "unique:" + file.data->file_path;
    if (env_.cache) {
      if (const auto known = env_.cache->Get<bool>(key)) return *known;
    }
    table::DataFileRequest request;
    request.uri = file.data->file_path;
    if (file.data->file_size_in_bytes > 0) request.size = file.data->file_size_in_bytes;
    TL_ASSIGN_OR_RAISE(const auto reader, table::OpenDataFile(env_, request));
    const std::string& writer = reader->metadata().created_by();
    const bool sorted = file.data->sort_order_id.value_or(0) != 0;
    const bool unique =
        writer.starts_with("timelake ") || (sorted && writer.starts_with("parquet-rs"));
    if (env_.cache) env_.cache->Put<bool>(key, std::make_shared<const bool>(unique), 128);
    return unique;
  }

  static std::string CacheKey(const ScanFile& file, const ScanFile& rival) {
    std::string key = "superseded:" + file.data->file_path + "|" + rival.data->file_path;
    for (const auto& deletes : {rival.position_deletes, rival.equality_deletes}) {
      for (const auto& one : deletes) key += "|" + one->file_path;
    }
    return key;
  }

  // The tests as text: they are of one schema, and of this version of it.
  std::string NarrowKey() const {
    std::string text;
    for (const ColumnTest& test : narrow_.all_of) {
      const auto field =
          std::find_if(columns_.keys.begin(), columns_.keys.end(),
                       [&](const iceberg::Field* key) { return key->id == test.field_id; });
      text += "|" + std::to_string(test.field_id) + " " + std::to_string(static_cast<int>(test.op));
      for (const iceberg::Value& value : test.values) {
        const std::string one = iceberg::ToText((*field)->type, value);
        text += " " + std::to_string(one.size()) + ":" + one;
      }
    }
    return text;
  }

  // A rival whose part is not known, and the key to remember it by.
  struct Unknown {
    size_t part = 0;
    std::string key;
  };

  // For each rival the rows of `file` that it supersedes; the file may be its own.
  Result<std::vector<PositionsPtr>> Parts(const Bounded& file, const Others& rivals) const {
    std::vector<PositionsPtr> parts(rivals.size());
    std::vector<Unknown> whole, narrow;
    for (size_t i = 0; i < rivals.size(); ++i) {
      std::string key = CacheKey(*file.file, *rivals[i]->file);
      if (env_.cache) parts[i] = env_.cache->Get<Positions>(key);
      if (parts[i]) continue;
      if (narrow_.all_of.empty()) {
        whole.push_back({i, std::move(key)});
        continue;
      }
      std::string narrow_key = key + NarrowKey();
      if (env_.cache) parts[i] = env_.cache->Get<Positions>(narrow_key);
      if (parts[i]) continue;
      if (IsAskedOften(key)) {
        whole.push_back({i, std::move(key)});
      } else {
        narrow.push_back({i, std::move(narrow_key)});
      }
    }
    TL_RETURN_NOT_OK(LookByGroups(file, rivals, whole, {}, &parts));
    TL_RETURN_NOT_OK(LookByGroups(file, rivals, narrow, narrow_, &parts));
    return parts;
  }

  // `file` is read once for as many rivals as memory holds.
  Status LookByGroups(const Bounded& file, const Others& rivals,
                      const std::vector<Unknown>& unknown, const Predicate& narrow,
                      std::vector<PositionsPtr>* parts) const {
    for (size_t begin = 0; begin < unknown.size();) {
      int64_t rows = 0;
      std::vector<Unknown> group;
      while (begin < unknown.size() && (group.empty() || rows < kRowsHeld)) {
        rows += std::max<int64_t>(0, rivals[unknown[begin].part]->file->data->record_count);
        group.push_back(unknown[begin++]);
      }
      TL_RETURN_NOT_OK(Look(file, rivals, group, narrow, parts));
    }
    return Status::OK();
  }

  // Few of the files' rows are looked at first; but when that happens again and again (a page of
  // charts, one for each series) the whole costs less in the end.
  bool IsAskedOften(const std::string& key) const {
    if (!env_.cache) return false;
    const std::string count_key = key + "|narrowed";
    const auto count = env_.cache->Get<int>(count_key);
    if (count && *count >= kNarrowTimes) return true;
    env_.cache->Put<int>(count_key, std::make_shared<const int>(count ? *count + 1 : 1),
                         static_cast<int64_t>(count_key.size()) + 128);
    return false;
  }

  // Reads the rows of the rivals, then `file` once for all of them.
  Status Look(const Bounded& file, const Others& rivals, const std::vector<Unknown>& unknown,
              const Predicate& narrow, std::vector<PositionsPtr>* parts) const {
    if (unknown.empty()) return Status::OK();
    SeriesIds ids;
    std::vector<Winners> winners;
    SeriesRowsRequest wanted{
        .first = file.range.first, .last = file.range.last, .narrow = &narrow, .add = true};
    int64_t first = kMax, last = kMin;
    for (const Unknown& one : unknown) {
      TL_ASSIGN_OR_RAISE(
          auto rows, ReadSeriesRows(env_, metadata_, *rivals[one.part]->file, key_, wanted, &ids));
      winners.emplace_back(std::move(rows), ids.size());
      if (winners.back().empty()) continue;
      first = std::min(first, winners.back().first_time());
      last = std::max(last, winners.back().last_time());
    }
    std::vector<Positions> found(unknown.size());
    const auto mark = [&](const SeriesBatch& batch) {
      for (size_t i = 0; i < unknown.size(); ++i) {
        const ScanFile* rival = rivals[unknown[i].part]->file;
        const bool same = rival == file.file;
        winners[i].Mark(batch, {same, !same && IsOlder(*file.file, *rival)}, &found[i]);
      }
    };
    if (first <= last) {
      wanted = {.first = first, .last = last, .narrow = &narrow, .add = false};
      TL_RETURN_NOT_OK(VisitSeriesRows(env_, metadata_, *file.file, key_, wanted, &ids, mark));
    }
    for (size_t i = 0; i < unknown.size(); ++i) {
      std::sort(found[i].begin(), found[i].end());
      auto& part = (*parts)[unknown[i].part];
      part = std::make_shared<const Positions>(std::move(found[i]));
      if (!env_.cache) continue;
      const std::string& key = unknown[i].key;
      const auto bytes = static_cast<int64_t>(key.size() + part->size() * sizeof(int64_t)) + 128;
      env_.cache->Put<Positions>(key, part, bytes);
    }
    return Status::OK();
  }

  const table::Env& env_;
  const iceberg::TableMetadata& metadata_;
  const DedupKey& key_;
  const Predicate narrow_;
  KeyColumns columns_;
  std::unordered_set<int64_t> ours_;  // snapshots that this library wrote
};

}  // namespace

Status MarkSuperseded(const table::Env& env, const iceberg::TableMetadata& metadata,
                      const iceberg::Snapshot* snapshot, const DedupKey& key,
                      const Predicate& predicate, Plan* plan) {
  if (plan->files.empty()) return Status::OK();
  // A file that other tests rule out may still hold the row that supersedes one of another file.
  Predicate of_key, narrow;
  for (const ColumnTest& test : predicate.all_of) {
    const bool is_key =
        std::find(key.key_ids.begin(), key.key_ids.end(), test.field_id) != key.key_ids.end();
    if (is_key || test.field_id == key.time_id) of_key.all_of.push_back(test);
    if (is_key &&
        (test.op == Op::kEq || (test.op == Op::kIn && test.values.size() <= kFewSeries))) {
      narrow.all_of.push_back(test);
    }
  }
  Marker marker(env, metadata, key, std::move(narrow));
  if (of_key.all_of.size() == predicate.all_of.size()) {
    const std::vector<ScanFile> all = plan->files;
    return marker.Run(all, plan);
  }
  TL_ASSIGN_OR_RAISE(const Plan all, PlanFiles(env, metadata, snapshot, of_key));
  return marker.Run(all.files, plan);
}

}  // namespace timelake::scan
