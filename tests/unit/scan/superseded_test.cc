// Dedup on read against a plain reckoning: random tables, every file layout that can be met.

#include "scan/superseded.h"

#include <map>
#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "unit/scan/test_table.h"

namespace timelake::scan {
namespace {

using Random = std::mt19937_64;

struct Row {
  std::string host;  // empty: null
  int64_t time = 0;
  int64_t ingest = 0;  // below 0: null
  double value = 0;
};

std::string Column(const std::vector<Row>& rows, const std::function<std::string(const Row&)>& of) {
  std::string json;
  for (const Row& row : rows) json += (json.empty() ? "[" : ", ") + of(row);
  return json.empty() ? "[]" : json + "]";
}

class Superseded : public ::testing::TestWithParam<uint64_t> {
 protected:
  Superseded()
      : random_(GetParam()),
        table_(*iceberg::ParseSchemaText("host:string, time:timestamptz, v:double, at:timestamptz"),
               {iceberg::PartitionSpec{}}) {}

  // A file with its bounds, as a writer of sequence number `sequence` left it.
  ScanFile Write(std::vector<Row> rows, int64_t sequence, bool sorted) {
    if (sorted) {
      std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return std::tie(a.host, a.time) < std::tie(b.host, b.time);
      });
    }
    table::FileOptions options;
    options.rows_per_group = 1 + static_cast<int64_t>(random_() % 40);
    parquet::WriterProperties::Builder builder;
    builder.data_pagesize(64)->write_batch_size(4);
    if (random_() % 2 == 0) builder.enable_write_page_index();
    options.parquet = builder.build();
    ScanFile file;
    auto written = table_.Write(
        std::to_string(files_.size()) + ".parquet",
        {Column(rows, [](const Row& r) { return r.host.empty() ? "null" : "\"" + r.host + "\""; }),
         Column(rows, [](const Row& r) { return std::to_string(r.time); }),
         Column(rows, [](const Row& r) { return std::to_string(r.value); }),
         Column(rows,
                [](const Row& r) { return r.ingest < 0 ? "null" : std::to_string(r.ingest); })},
        {}, options);
    file.sequence_number = sequence;
    std::set<std::string> hosts;
    std::set<int64_t> times;
    for (const Row& row : rows) {
      times.insert(row.time);
      if (!row.host.empty()) hosts.insert(row.host);
    }
    const auto bytes = [](const iceberg::Value& value, const char* type) {
      return *iceberg::ToBytes(*iceberg::ParseType(type), value);
    };
    if (!times.empty() && random_() % 4 != 0) {
      written.lower_bounds[2] = bytes(*times.begin(), "timestamptz");
      written.upper_bounds[2] = bytes(*times.rbegin(), "timestamptz");
    }
    if (!hosts.empty() && random_() % 4 != 0) {
      written.lower_bounds[1] = bytes(*hosts.begin(), "string");
      written.upper_bounds[1] = bytes(*hosts.rbegin(), "string");
      written.value_counts[1] = static_cast<int64_t>(rows.size());
      written.null_value_counts[1] =
          std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.host.empty(); });
    }
    file.data = std::make_shared<const iceberg::DataFile>(std::move(written));
    rows_.push_back(rows);
    files_.push_back(file);
    return file;
  }

  Row RandomRow() {
    static const char* const kHosts[] = {"", "a", "b", "c", "host_17"};
    Row row;
    row.host = kHosts[random_() % 5];
    row.time = static_cast<int64_t>(random_() % 25) - 5;
    row.ingest = static_cast<int64_t>(random_() % 4) - 1;
    row.value = static_cast<double>(random_() % 1000);
    return row;
  }

  // Positions that lose, file by file.
  std::vector<std::vector<int64_t>> Expected(bool by_ingest,
                                             const std::set<std::pair<size_t, int64_t>>& deleted) {
    using Order = std::tuple<int64_t, int64_t, std::string, int64_t>;
    std::map<std::pair<std::string, int64_t>, Order> winners;
    const auto order = [&](size_t file, size_t i) {
      const Row& row = rows_[file][i];
      return Order(by_ingest ? row.ingest : 0, files_[file].sequence_number,
                   files_[file].data->file_path, static_cast<int64_t>(i));
    };
    const auto each = [&](const auto& visit) {
      for (size_t file = 0; file < files_.size(); ++file) {
        for (size_t i = 0; i < rows_[file].size(); ++i) {
          if (!deleted.contains({file, static_cast<int64_t>(i)})) visit(file, i);
        }
      }
    };
    each([&](size_t file, size_t i) {
      const Row& row = rows_[file][i];
      auto& winner = winners.try_emplace({row.host, row.time}, order(file, i)).first->second;
      winner = std::max(winner, order(file, i));
    });
    std::vector<std::vector<int64_t>> losers(files_.size());
    each([&](size_t file, size_t i) {
      const Row& row = rows_[file][i];
      if (winners.at({row.host, row.time}) != order(file, i)) {
        losers[file].push_back(static_cast<int64_t>(i));
      }
    });
    return losers;
  }

  Random random_;
  TestTable table_;
  std::vector<std::vector<Row>> rows_;
  std::vector<ScanFile> files_;
};

TEST_P(Superseded, AgreesWithAPlainReckoning) {
  const bool by_ingest = random_() % 2 == 0;
  const size_t files = 1 + random_() % 6;
  for (size_t i = 0; i < files; ++i) {
    std::vector<Row> rows;
    for (size_t r = random_() % 90 + 1; r > 0; --r) rows.push_back(RandomRow());
    Write(std::move(rows), static_cast<int64_t>(1 + random_() % 4), random_() % 2 == 0);
  }
  // A deleted row supersedes nothing.
  std::set<std::pair<size_t, int64_t>> deleted;
  std::vector<std::pair<std::string, int64_t>> gone;
  for (size_t file = 0; file < files && random_() % 2 == 0; ++file) {
    const auto row = static_cast<int64_t>(random_() % rows_[file].size());
    deleted.insert({file, row});
    gone.emplace_back(files_[file].data->file_path, row);
  }
  Plan plan;
  plan.counters = std::make_shared<Counters>();
  if (!gone.empty()) {
    const auto deletes = std::make_shared<const iceberg::DataFile>(
        table_.WritePositionDeletes("deletes.parquet", gone));
    for (ScanFile& file : files_) file.position_deletes = {deletes};
  }
  plan.files = files_;
  std::sort(plan.files.begin(), plan.files.end(), [](const ScanFile& a, const ScanFile& b) {
    return a.data->file_path < b.data->file_path;
  });
  DedupKey key{.key_ids = {1}, .time_id = 2, .ingest_time_id = std::nullopt};
  if (by_ingest) key.ingest_time_id = 4;
  const auto expected = Expected(by_ingest, deleted);
  // First of one series at a time, more often than it pays, then of all.
  constexpr int kRounds = 20;
  for (int i = 0; i <= kRounds; ++i) {
    const std::string host = RandomRow().host;
    const bool narrow = i < kRounds && !host.empty();
    Plan marked = plan;
    Predicate predicate;
    if (narrow) predicate.all_of.push_back({1, Op::kEq, {host}});
    const Status status =
        MarkSuperseded(table_.env(), table_.metadata(), nullptr, key, predicate, &marked);
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (const ScanFile& file : marked.files) {
      size_t index = 0;
      while (files_[index].data->file_path != file.data->file_path) ++index;
      auto found = file.superseded ? *file.superseded : std::vector<int64_t>();
      auto wanted = expected[index];
      // Of rows that are deleted anyway, and of other series, nothing is asked.
      const auto other = [&](int64_t row) {
        return deleted.contains({index, row}) ||
               (narrow && rows_[index][static_cast<size_t>(row)].host != host);
      };
      std::erase_if(found, other);
      std::erase_if(wanted, other);
      EXPECT_EQ(found, wanted) << "file " << index << ", by ingest time: " << by_ingest;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Superseded, ::testing::Range<uint64_t>(1, 201));

}  // namespace
}  // namespace timelake::scan
