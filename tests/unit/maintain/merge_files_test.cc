// Merged files against a plain reckoning: NULL keys, duplicates within and between files, ingest
// times, delete files of both kinds, sorted and unsorted inputs, memory for a part of them.

#include "maintain/merge_files.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "unit/scan/test_table.h"

namespace timelake::maintain {
namespace {

using Random = std::mt19937_64;

constexpr int64_t kDay = 86'400'000'000;

struct Row {
  std::string host;  // empty: null
  int64_t time = 0;
  int64_t ingest = 0;
  int64_t value = 0;  // no two rows have the same
};

struct Source {
  scan::ScanFile file;
  std::vector<Row> rows;  // as they stand in the file
  std::set<size_t> deleted;
};

std::string Json(const std::vector<Row>& rows, const std::function<std::string(const Row&)>& of) {
  std::string json;
  for (const Row& row : rows) json += (json.empty() ? "[" : ", ") + of(row);
  return json.empty() ? "[]" : json + "]";
}

iceberg::PartitionSpec ByDay() {
  iceberg::PartitionField field;
  field.source_id = 2;
  field.field_id = 1000;
  field.name = "time_day";
  field.transform = iceberg::ParseTransform("day");
  iceberg::PartitionSpec spec;
  spec.fields = {field};
  return spec;
}

class Merges : public ::testing::TestWithParam<uint64_t> {
 protected:
  Merges()
      : random_(GetParam()),
        table_(*iceberg::ParseSchemaText("host:string, time:timestamptz!, v:long, at:timestamptz!"),
               {ByDay()}) {
    target_.table_name = "ns.t";
    target_.location_uri = store::UriOf(*table_.env().store, "t");
    target_.schema = table_.schema();
    target_.spec = ByDay();
    target_.order.order_id = 1;
    for (int id : {1, 2}) target_.order.fields.emplace_back().source_id = id;
    target_.contract.time_id = 2;
    target_.contract.key_ids = {1};
    target_.contract.dedup = random_() % 4 != 0;
    if (random_() % 2 == 0) target_.contract.ingest_time_id = 4;
    target_.settings = table::ResolveSettings({}).ValueOrDie();
  }

  bool dedup() const { return target_.contract.dedup; }
  int64_t IngestOf(const Row& row) const {
    return target_.contract.ingest_time_id ? row.ingest : 0;
  }

  Row RandomRow() {
    static const char* const kHosts[] = {"", "a", "b", "host_17"};
    Row row;
    row.host = kHosts[random_() % 4];
    row.time = kDay + static_cast<int64_t>(random_() % 30);
    row.ingest = static_cast<int64_t>(random_() % 4);
    row.value = next_value_++;
    return row;
  }

  void AddFile(bool sorted) {
    Source& source = sources_.emplace_back();
    for (size_t n = 1 + random_() % 120; n > 0; --n) source.rows.push_back(RandomRow());
    if (sorted) {
      std::stable_sort(source.rows.begin(), source.rows.end(), [&](const Row& a, const Row& b) {
        return std::tuple(a.host, a.time, IngestOf(a)) < std::tuple(b.host, b.time, IngestOf(b));
      });
    }
    table::FileOptions options;
    options.rows_per_group = 1 + static_cast<int64_t>(random_() % 60);
    parquet::WriterProperties::Builder builder;
    builder.data_pagesize(64)->write_batch_size(4);
    if (random_() % 2 == 0) builder.enable_write_page_index();
    options.parquet = builder.build();
    const auto number = [](int64_t value) { return std::to_string(value); };
    iceberg::DataFile data = table_.Write(
        std::to_string(sources_.size()) + ".parquet",
        {Json(source.rows,
              [](const Row& r) { return r.host.empty() ? "null" : "\"" + r.host + "\""; }),
         Json(source.rows, [&](const Row& r) { return number(r.time); }),
         Json(source.rows, [&](const Row& r) { return number(r.value); }),
         Json(source.rows, [&](const Row& r) { return number(r.ingest); })},
        {iceberg::Value(int32_t{1})}, options);
    source.file.sequence_number = static_cast<int64_t>(1 + random_() % 4);
    data.sort_order_id = 1;
    source.file.data = std::make_shared<const iceberg::DataFile>(std::move(data));
  }

  void DeleteByPosition() {
    std::vector<std::pair<std::string, int64_t>> gone;
    for (Source& source : sources_) {
      if (random_() % 2 == 0) continue;
      for (size_t i = 0; i < source.rows.size(); i += 1 + random_() % 9) {
        source.deleted.insert(i);
        gone.emplace_back(source.file.data->file_path, static_cast<int64_t>(i));
      }
    }
    if (gone.empty()) return;
    const auto file = std::make_shared<const iceberg::DataFile>(
        table_.WritePositionDeletes("positions.parquet", gone));
    for (Source& source : sources_) source.file.position_deletes = {file};
  }

  void DeleteByValue() {
    const std::string host = RandomRow().host;
    const auto file = std::make_shared<const iceberg::DataFile>(table_.WriteEqualityDeletes(
        "values.parquet", {1}, {host.empty() ? "[null]" : "[\"" + host + "\"]"}));
    for (Source& source : sources_) {
      if (random_() % 2 == 0) continue;
      source.file.equality_deletes = {file};
      for (size_t i = 0; i < source.rows.size(); ++i) {
        if (source.rows[i].host == host) source.deleted.insert(i);
      }
    }
  }

  // The rows that must be left, by host and time; with dedup one of each.
  std::vector<Row> Expected() {
    std::vector<Row> rows;
    std::map<std::pair<std::string, int64_t>, Row> winners;
    for (const Source& source : sources_) {  // in the order of writes
      for (size_t i = 0; i < source.rows.size(); ++i) {
        if (source.deleted.contains(i)) continue;
        const Row& row = source.rows[i];
        rows.push_back(row);
        const auto [winner, fresh] = winners.try_emplace({row.host, row.time}, row);
        if (!fresh && IngestOf(row) >= IngestOf(winner->second)) winner->second = row;
      }
    }
    if (dedup()) {
      rows.clear();
      for (const auto& [key, row] : winners) rows.push_back(row);
    }
    const auto key = [](const Row& r) { return std::tuple(r.host, r.time, r.ingest, r.value); };
    std::sort(rows.begin(), rows.end(),
              [&](const Row& a, const Row& b) { return key(a) < key(b); });
    return rows;
  }

  Result<std::vector<Row>> ReadBack(const MergedFiles& merged) const {
    std::vector<Row> rows;
    for (const auto& stored : merged.files) {
      table::DataFileRequest request;
      request.uri = stored.file.file_path;
      request.fields = table_.schema().fields;
      TL_ASSIGN_OR_RAISE(const auto batch, table::ReadAll(table_.env(), request));
      EXPECT_EQ(batch->num_rows(), stored.file.record_count);
      const auto& hosts = static_cast<const arrow::StringArray&>(*batch->column(0));
      const auto longs = [&](int column) {
        return batch->column(column)->data()->GetValues<int64_t>(1);
      };
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        rows.push_back({hosts.GetString(i), longs(1)[i], longs(3)[i], longs(2)[i]});
      }
    }
    return rows;
  }

  void Run(const MergeRequest& base) {
    std::sort(sources_.begin(), sources_.end(), [](const Source& a, const Source& b) {
      return std::tie(a.file.sequence_number, a.file.data->file_path) <
             std::tie(b.file.sequence_number, b.file.data->file_path);
    });
    MergeRequest request = base;
    request.partition = sources_.front().file.data->partition;
    int64_t read = 0, deleted = 0;
    for (const Source& source : sources_) {
      request.files.push_back(&source.file);
      read += static_cast<int64_t>(source.rows.size());
      deleted += static_cast<int64_t>(source.deleted.size());
    }
    auto done = MergeFiles(table_.env(), table_.metadata(), target_, request);
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    const MergedFiles& merged = *done;
    auto found = ReadBack(merged);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    const auto by_key = [](const Row& a, const Row& b) {
      return std::tie(a.host, a.time) < std::tie(b.host, b.time);
    };
    EXPECT_TRUE(std::is_sorted(found->begin(), found->end(), by_key));
    std::vector<Row> expected = Expected();
    const auto text = [](const Row& r) {
      return r.host + " " + std::to_string(r.time - kDay) + " " + std::to_string(r.ingest) + " " +
             std::to_string(r.value);
    };
    std::vector<std::string> left, right;
    for (const Row& row : *found) left.push_back(text(row));
    for (const Row& row : expected) right.push_back(text(row));
    if (!dedup()) {  // equal keys may stand in any order
      std::sort(left.begin(), left.end());
      std::sort(right.begin(), right.end());
    }
    EXPECT_EQ(left, right);
    EXPECT_EQ(merged.rows, static_cast<int64_t>(expected.size()));
    EXPECT_EQ(merged.deleted, deleted);
    EXPECT_EQ(merged.duplicates, read - deleted - merged.rows);
    for (const auto& stored : merged.files) {
      EXPECT_EQ(stored.file.sort_order_id, 1);
      EXPECT_EQ(stored.file.partition, std::vector{iceberg::Value(int32_t{1})});
    }
    ExpectNewest(merged, expected);
  }

  static void ExpectNewest(const MergedFiles& merged, const std::vector<Row>& rows) {
    std::map<std::string, int64_t> newest;
    for (const Row& row : rows) {
      auto& time = newest.try_emplace(row.host, row.time).first->second;
      time = std::max(time, row.time);
    }
    ASSERT_EQ(merged.newest->num_rows(), static_cast<int64_t>(newest.size()));
    const auto& hosts = static_cast<const arrow::StringArray&>(*merged.newest->column(0));
    for (int64_t i = 0; i < merged.newest->num_rows(); ++i) {
      EXPECT_EQ(merged.newest->column(1)->data()->GetValues<int64_t>(1)[i],
                newest.at(hosts.GetString(i)));
    }
  }

  size_t DataFiles() const {
    return table_.env().store->List("t/data/").ValueOrDie().objects.size();
  }

  Random random_;
  scan::TestTable table_;
  write::Target target_;
  std::vector<Source> sources_;
  int64_t next_value_ = 0;
};

TEST_P(Merges, AgreeWithAPlainReckoning) {
  const bool sorted = random_() % 2 == 0;
  for (size_t files = 1 + random_() % 6; files > 0; --files) AddFile(sorted);
  if (random_() % 2 == 0) DeleteByPosition();
  if (random_() % 2 == 0) DeleteByValue();
  if (random_() % 2 == 0) target_.settings.write_memory_bytes = 64 << 10;  // a few hundred rows
  MergeRequest request;
  request.sorted = sorted;
  constexpr MergeWay kWays[] = {MergeWay::kAsItSuits, MergeWay::kStream, MergeWay::kRanges};
  request.way = sorted ? kWays[random_() % 3] : MergeWay::kAsItSuits;
  Run(request);
}

// Another engine may say that its file is sorted when it is not.
TEST_P(Merges, SortFilesThatAreNotInOrder) {
  for (size_t files = 2 + random_() % 3; files > 0; --files) AddFile(files % 2 == 0);
  const size_t before = DataFiles();
  MergeRequest request;
  request.sorted = true;
  request.way = random_() % 2 == 0 ? MergeWay::kStream : MergeWay::kRanges;
  Run(request);
  EXPECT_LE(DataFiles(), before + 1);  // what was begun is gone
}

INSTANTIATE_TEST_SUITE_P(Seeds, Merges, ::testing::Range<uint64_t>(1, 151));

class Failing : public Merges {};

TEST_P(Failing, MergesLeaveNothing) {
  for (int i = 0; i < 3; ++i) AddFile(true);
  const auto truth = sources_[2].file.data;
  iceberg::DataFile lie = *truth;
  lie.record_count += 1;
  sources_[2].file.data = std::make_shared<const iceberg::DataFile>(lie);
  const size_t before = DataFiles();
  MergeRequest request;
  request.sorted = true;
  request.partition = truth->partition;
  for (const Source& source : sources_) request.files.push_back(&source.file);
  for (const MergeWay way : {MergeWay::kStream, MergeWay::kSort, MergeWay::kRanges}) {
    request.way = way;
    const auto merged = MergeFiles(table_.env(), table_.metadata(), target_, request);
    EXPECT_EQ(KindOf(merged.status()), ErrorKind::kCorrupt) << merged.status().ToString();
    EXPECT_NE(merged.status().message().find("3.parquet"), std::string::npos);
    EXPECT_EQ(DataFiles(), before);
  }
  request.cancelled = [] { return true; };
  sources_[2].file.data = truth;
  const auto merged = MergeFiles(table_.env(), table_.metadata(), target_, request);
  EXPECT_EQ(KindOf(merged.status()), ErrorKind::kCancelled);
  EXPECT_EQ(DataFiles(), before);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Failing, ::testing::Range<uint64_t>(1, 4));

}  // namespace
}  // namespace timelake::maintain
