#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "unit/write/random_rows.h"
#include "write/align.h"
#include "write/arrow_value.h"
#include "write/sort.h"

namespace timelake::write {
namespace {

using iceberg::Value;
using testing::HasSubstr;

std::shared_ptr<arrow::RecordBatch> ThreeDays() {
  return BatchOf({{"device", FromJson(arrow::utf8(), R"(["b", "a", null, "a", "a", "c"])")},
                  {"time", FromJson(Micros(), R"(["2026-01-01T00:00:01", "2026-01-02", "2026-01-01",
           "2026-01-01T05:00:00", "2026-01-02", "1969-12-31T23:59:59.999999"])")},
                  {"v", FromJson(arrow::float64(), "[1, 2, 3, 4, 5, 6]")}});
}

TEST(WriteData, SortsSplitsAndKeepsTheLastOfEqualRows) {
  const table::Env env = TestEnv();
  const Target target = TargetOf({});
  const Written written = Unwrapped(WriteBatches(env, target, {ThreeDays()}));
  EXPECT_EQ(written.rows_in, 6);
  EXPECT_EQ(written.rows, 5);
  EXPECT_EQ(written.duplicates, 1);
  ASSERT_EQ(written.files.size(), 3u);
  EXPECT_EQ(written.files[0].partition, std::vector<Value>{int32_t{-1}});
  EXPECT_THAT(written.files[0].file_path,
              testing::MatchesRegex("memory://wh/ns/t/data/time_day=1969-12-31/"
                                    "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-.*.parquet"));
  EXPECT_EQ("memory://" + written.keys[0], written.files[0].file_path);
  EXPECT_EQ(written.files[0].sort_order_id, 1);
  EXPECT_EQ(TextRows(*ReadAll(env, written)),
            (std::vector<std::string>{
                "1969-12-31 23:59:59.999999Z|c|6|", "2026-01-01 00:00:00.000000Z|null|3|",
                "2026-01-01 05:00:00.000000Z|a|4|", "2026-01-01 00:00:01.000000Z|b|1|",
                "2026-01-02 00:00:00.000000Z|a|5|"}));
  ASSERT_NE(written.newest, nullptr);
  EXPECT_TRUE(written.newest->ValidateFull().ok());
  EXPECT_TRUE(written.newest->schema()->Equals(*iceberg::ToArrow(target.schema), true));
  EXPECT_EQ(TextRows(*Unwrapped(arrow::Table::FromRecordBatches({written.newest}))),
            (std::vector<std::string>{
                "2026-01-01 00:00:00.000000Z|null|3|", "2026-01-02 00:00:00.000000Z|a|5|",
                "2026-01-01 00:00:01.000000Z|b|1|", "1969-12-31 23:59:59.999999Z|c|6|"}));
}

TEST(WriteData, NothingToWrite) {
  const table::Env env = TestEnv();
  const Written written = Unwrapped(WriteBatches(env, TargetOf({}), {ThreeDays()->Slice(0, 0)}));
  EXPECT_EQ(written.rows, 0);
  EXPECT_TRUE(written.files.empty());
  ASSERT_NE(written.newest, nullptr);
  EXPECT_EQ(written.newest->num_rows(), 0);
  TargetSpec plain;
  plain.time.clear();
  EXPECT_EQ(Unwrapped(WriteBatches(env, TargetOf(plain), {ThreeDays()->Slice(0, 0)})).newest,
            nullptr);
}

TEST(WriteData, PlainTablesHaveOneFolder) {
  const table::Env env = TestEnv();
  TargetSpec spec;
  spec.time.clear();
  const Written written = Unwrapped(WriteBatches(env, TargetOf(spec), {ThreeDays()}));
  ASSERT_EQ(written.files.size(), 1u);
  EXPECT_THAT(written.files[0].file_path,
              testing::MatchesRegex("memory://wh/ns/t/data/[0-9a-f-]{36}.parquet"));
  EXPECT_EQ(written.files[0].sort_order_id, 0);
  EXPECT_EQ(written.rows, 6);
  EXPECT_EQ(written.newest, nullptr);
}

// CASES O10.
TEST(WriteData, PartitionPathsAreEncodedValuesAreNot) {
  const table::Env env = TestEnv();
  TargetSpec spec;
  spec.schema = "tenant:string, v:double";
  spec.time.clear();
  Target target = TargetOf(spec);
  target.spec.fields.push_back(FieldOf(target.schema, "tenant", "identity", 1000));
  target.spec.fields[0].name = "tenant";
  const Written written = Unwrapped(WriteBatches(
      env, target, {BatchOf({{"tenant", FromJson(arrow::utf8(), R"(["dev/app 1#x", null])")}})}));
  ASSERT_EQ(written.files.size(), 2u);
  EXPECT_THAT(written.keys[0], HasSubstr("wh/ns/t/data/tenant=dev%2Fapp+1%23x/"));
  EXPECT_EQ(written.files[0].partition, std::vector<Value>{std::string("dev/app 1#x")});
  EXPECT_THAT(written.keys[1], HasSubstr("/tenant=null/"));
  EXPECT_EQ(written.files[1].partition, std::vector<Value>{Value{}});
}

TEST(WriteData, NamesBelowFoldersOfAHash) {
  const table::Env env = TestEnv();
  Target target = TargetOf({});
  target.hashed_paths = true;
  const Written written = Unwrapped(WriteBatches(env, target, {ThreeDays()}));
  ASSERT_EQ(written.files.size(), 3u);
  std::set<std::string> folders;
  for (size_t i = 0; i < 3; ++i) {
    const std::string& path = written.files[i].file_path;
    EXPECT_THAT(path, testing::MatchesRegex("memory://wh/ns/t/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/"
                                            "time_day=[0-9-]{10}/[0-9a-f-]{36}[.]parquet"));
    EXPECT_THAT(path, testing::EndsWith(written.keys[i]));
    const size_t data = std::string("memory://wh/ns/t/data/").size(),
                 hash = 4 + 1 + 4 + 1 + 4 + 1 + 9;
    folders.insert(path.substr(data, hash));
    // The last twenty bits, the highest first.
    std::string bits;
    for (const char c : path.substr(data, hash)) bits += c == '/' ? "" : std::string(1, c);
    EXPECT_EQ(std::stoul(bits, nullptr, 2),
              static_cast<uint32_t>(HashString(path.substr(data + hash))) & 0xFFFFF);
  }
  EXPECT_GT(folders.size(), 1u);
  EXPECT_EQ(ReadAll(env, written)->num_rows(), written.rows);
}

TEST(WriteData, NamesDependOnNothingButTheSeed) {
  struct StoppedClock : Clock {
    int64_t NowMicros() override { return kNow; }
    int64_t BootMicros() override { return 0; }
    void SleepMicros(int64_t) override {}
  };
  std::set<std::vector<std::string>> names;
  for (int threads : {1, 2, 5}) {
    table::Env env = TestEnv();
    env.clock = std::make_shared<StoppedClock>();
    WriteOptions options;
    options.threads = threads;
    names.insert(Unwrapped(WriteBatches(env, TargetOf({}), {ThreeDays()}, options)).keys);
  }
  EXPECT_EQ(names.size(), 1u);
}

// --- failures ---

// Fails from the n-th new file on, or while one is written.
class FailingStore : public store::MemoryStore {
 public:
  explicit FailingStore(int good) : MemoryStore(SystemClock()), good_(good) {}

  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    if (good_-- <= 0) return IoError("disk full");
    return MemoryStore::OpenWrite(key);
  }

 private:
  std::atomic<int> good_;
};

TEST(WriteData, AFailureLeavesNoFiles) {
  for (int good : {0, 1, 2}) {
    for (int threads : {1, 4}) {
      table::Env env = TestEnv();
      env.store = std::make_shared<FailingStore>(good);
      WriteOptions options;
      options.threads = threads;
      const Status status = WriteBatches(env, TargetOf({}), {ThreeDays()}, options).status();
      EXPECT_EQ(KindOf(status), ErrorKind::kIo);
      EXPECT_THAT(MessageOf(status), HasSubstr("table ns.t: writing data files: disk full"));
      EXPECT_TRUE(Unwrapped(env.store->List("")).objects.empty());
    }
  }
}

TEST(WriteData, CancelledBetweenSteps) {
  for (int polls = 0; polls < 6; ++polls) {
    const table::Env env = TestEnv();
    WriteOptions options;
    options.threads = 1;
    int left = polls;
    options.cancelled = [&left] { return left-- <= 0; };
    const auto written = WriteBatches(env, TargetOf({}), {ThreeDays()}, options);
    if (written.ok()) continue;
    EXPECT_EQ(KindOf(written.status()), ErrorKind::kCancelled);
    EXPECT_TRUE(Unwrapped(env.store->List("")).objects.empty());
  }
}

TEST(WriteData, ABadRowWritesNothing) {
  const table::Env env = TestEnv();
  const auto bad = BatchOf({{"device", FromJson(arrow::utf8(), R"(["a"])")},
                            {"time", FromJson(Micros(), R"(["2026-01-01"])")},
                            {"v", FromJson(arrow::utf8(), R"(["x"])")}});
  const auto good = BatchOf({{"device", FromJson(arrow::utf8(), R"(["a"])")},
                             {"time", FromJson(Micros(), R"(["2026-01-01"])")},
                             {"v", FromJson(arrow::utf8(), R"(["1"])")}});
  const Status status = WriteBatches(env, TargetOf({}), {good, good, bad}).status();
  EXPECT_THAT(MessageOf(status), HasSubstr("row 3"));
  EXPECT_TRUE(Unwrapped(env.store->List("")).objects.empty());
}

// --- against a reference ---

std::vector<std::string> RowTexts(const Target& target,
                                  const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                  const std::vector<uint32_t>& order) {
  std::vector<std::string> texts;
  for (uint32_t row : order) {
    std::string& text = texts.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      text += iceberg::ToText(target.schema.fields[i].type, ValueAt(*columns[i], row)) + "|";
    }
  }
  return texts;
}

// Counts and bounds of one file by a look at every value.
void CheckMetrics(const Target& target, const iceberg::DataFile& file, const arrow::Table& table) {
  for (size_t i = 0; i < target.schema.fields.size(); ++i) {
    const iceberg::Field& field = target.schema.fields[i];
    const auto column = table.column(static_cast<int>(i))->chunk(0);
    int64_t nulls = 0;
    Value min, max;
    for (int64_t row = 0; row < column->length(); ++row) {
      const Value value = ValueAt(*column, row);
      nulls += iceberg::IsNull(value);
      if (iceberg::IsNull(value)) continue;
      if (iceberg::IsNull(min) || iceberg::Compare(value, min) < 0) min = value;
      if (iceberg::IsNull(max) || iceberg::Compare(value, max) > 0) max = value;
    }
    EXPECT_EQ(file.value_counts.at(field.id), column->length());
    EXPECT_EQ(file.null_value_counts.at(field.id), nulls);
    ASSERT_EQ(file.lower_bounds.count(field.id), iceberg::IsNull(min) ? 0u : 1u);
    if (iceberg::IsNull(min)) continue;
    const Value lower = Unwrapped(iceberg::FromBytes(field.type, file.lower_bounds.at(field.id)));
    const Value upper = Unwrapped(iceberg::FromBytes(field.type, file.upper_bounds.at(field.id)));
    EXPECT_LE(iceberg::Compare(lower, min), 0);
    EXPECT_GE(iceberg::Compare(upper, max), 0);
    const bool cut = field.type.id == iceberg::TypeId::kString;
    const bool zero = field.type.id == iceberg::TypeId::kDouble;
    if (!cut && !zero) {
      EXPECT_EQ(lower, min);
      EXPECT_EQ(upper, max);
    }
  }
}

TEST(WriteData, FilesHoldTheRowsInOrder) {
  for (uint64_t seed = 1000; seed < 1080; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = RandomCase(seed);
    const Target& target = made.target;
    const table::Env env = TestEnv();
    WriteOptions options;
    options.now_us = kNow;
    options.threads = static_cast<int>(1 + seed % 3);
    // One append takes batches of one schema; the first is enough for the files.
    const auto batch = made.batches[0];
    const Written written = Unwrapped(WriteBatches(env, target, {batch}, options));
    Aligner aligner = Unwrapped(Aligner::Make(target, *batch->schema(), options));
    const Rows rows = Unwrapped(Combine(target, {Unwrapped(aligner.Align(*batch))}, 1));
    EXPECT_EQ(written.rows + written.duplicates, rows.count);
    if (rows.count == 0) continue;
    const Arrangement arrangement = Unwrapped(ArrangeRows(target, rows));
    const auto expected = RowTexts(target, rows.columns, arrangement.order);
    // Files are sorted by path, which is not the order of partitions before 1970.
    std::vector<std::string> found;
    std::vector<size_t> by_partition(written.files.size());
    for (size_t i = 0; i < by_partition.size(); ++i) by_partition[i] = i;
    std::sort(by_partition.begin(), by_partition.end(), [&](size_t a, size_t b) {
      return written.files[a].partition < written.files[b].partition;
    });
    for (size_t i : by_partition) {
      const auto table = ReadParquet(env, written.keys[i]);
      CheckMetrics(target, written.files[i], *table);
      std::vector<std::shared_ptr<arrow::Array>> columns;
      std::vector<uint32_t> order;
      for (const auto& column : table->columns()) columns.push_back(column->chunk(0));
      for (uint32_t row = 0; row < table->num_rows(); ++row) order.push_back(row);
      for (auto& text : RowTexts(target, columns, order)) found.push_back(std::move(text));
    }
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace timelake::write
