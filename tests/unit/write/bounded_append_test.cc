#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "unit/write/random_rows.h"
#include "write/held_rows.h"

namespace timelake::write {
namespace {

using testing::HasSubstr;

// An append of more rows than `write-memory-bytes` holds gives what an append in memory gives.

std::shared_ptr<arrow::RecordBatchReader> InSlices(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                   int64_t most, Generator* generator) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> slices;
  for (int64_t begin = 0; begin < rows->num_rows();) {
    const int64_t length = 1 + generator->Below(most);
    slices.push_back(rows->Slice(begin, length));
    begin += slices.back()->num_rows();
  }
  return Unwrapped(arrow::RecordBatchReader::Make(slices, rows->schema()));
}

// Rows of each partition. Where there are several files, in the order that `expected` has them:
// each must be a run of it.
using ByPartition = std::map<std::string, std::vector<std::string>>;

ByPartition RowsOf(const table::Env& env, const Target& target, const Written& written,
                   const ByPartition* expected = nullptr) {
  std::map<std::string, std::vector<std::vector<std::string>>> files;
  for (size_t i = 0; i < written.files.size(); ++i) {
    std::string name;
    for (const auto& value : written.files[i].partition) {
      name += iceberg::ToText(target.schema.fields[0].type, value) + "/";
    }
    files[name].push_back(TextRows(*ReadParquet(env, written.keys[i])));
    EXPECT_FALSE(files[name].back().empty());
    EXPECT_EQ(written.files[i].record_count, static_cast<int64_t>(files[name].back().size()));
    EXPECT_EQ(written.files[i].sort_order_id, target.order.order_id);
  }
  ByPartition rows;
  for (auto& [name, parts] : files) {
    if (expected != nullptr && expected->contains(name)) {
      const auto& order = expected->at(name);
      const auto place = [&](const auto& part) {
        return std::find(order.begin(), order.end(), part.front());
      };
      std::sort(parts.begin(), parts.end(),
                [&](const auto& a, const auto& b) { return place(a) < place(b); });
    }
    for (auto& part : parts) rows[name].insert(rows[name].end(), part.begin(), part.end());
  }
  return rows;
}

struct Outcome {
  ByPartition rows;
  std::vector<std::string> newest;
  int64_t duplicates = 0;
  size_t files = 0;
  int64_t spilled = 0;
};

Outcome Append(const Target& target, arrow::RecordBatchReader* reader, int threads,
               const ByPartition* expected = nullptr) {
  Outcome outcome;
  table::Env env = TestEnv();
  env.observer = std::make_shared<Observer>();
  env.observer->metric = [&](const char* name, int64_t value) {
    if (std::string_view(name) == "append.spilled_bytes") outcome.spilled += value;
  };
  WriteOptions options;
  options.now_us = kNow;
  options.threads = threads;
  const Written written = Unwrapped(WriteData(env, target, reader, options));
  EXPECT_EQ(Unwrapped(env.store->List("")).objects.size(), written.files.size());
  outcome.rows = RowsOf(env, target, written, expected);
  outcome.duplicates = written.duplicates;
  outcome.files = written.files.size();
  if (written.newest) {
    EXPECT_TRUE(written.newest->schema()->Equals(*iceberg::ToArrow(target.schema), true));
    outcome.newest = TextRows(*Unwrapped(arrow::Table::FromRecordBatches({written.newest})));
  }
  return outcome;
}

void CheckAgainstMemory(uint64_t seed, int64_t most_rows, int64_t budget) {
  SCOPED_TRACE(fmt::format("seed {}, budget {}", seed, budget));
  Case made = RandomCase(seed, most_rows);
  const auto batch = made.batches[0];
  Generator generator(seed + 1);
  if (generator.Chance(20)) made.target.settings.target_file_size_bytes = 3000;
  const int threads = static_cast<int>(1 + seed % 2);
  const Outcome expected = Append(
      made.target, Unwrapped(arrow::RecordBatchReader::Make({batch}, batch->schema())).get(), 1);
  made.target.settings.write_memory_bytes = budget;
  const Outcome found = Append(made.target, InSlices(batch, 1 + most_rows / 4, &generator).get(),
                               threads, &expected.rows);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.newest, expected.newest);
  EXPECT_EQ(found.duplicates, expected.duplicates);
}

TEST(BoundedAppend, GivesWhatAnAppendInMemoryGives) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    CheckAgainstMemory(seed, 400, int64_t{1} << (11 + seed % 6));
  }
}

// More runs than are merged at once.
TEST(BoundedAppend, HundredsOfRuns) {
  for (uint64_t seed = 500; seed < 508; ++seed) CheckAgainstMemory(seed, 3000, 1 << 11);
}

TEST(BoundedAppend, PlainTablesKeepTheOrderOfArrivalOrFollowTheirOwn) {
  for (const bool declared : {false, true}) {
    TargetSpec spec;
    spec.schema = "v:double, s:string, n:long";
    spec.time.clear();
    Target target = TargetOf(spec);
    if (declared) {
      target.order.order_id = 1;
      auto& field = target.order.fields.emplace_back();
      field.source_id = iceberg::FindField(target.schema, "v")->id;
      field.direction = iceberg::SortDirection::kDescending;
      field.null_order = iceberg::NullOrder::kLast;
    }
    Generator generator(3);
    const auto type = [&](const char* name) {
      return iceberg::FindField(target.schema, name)->type;
    };
    const int64_t rows = 900;
    std::string numbers = "[0";
    for (int i = 1; i < rows; ++i) numbers += fmt::format(",{}", i);
    const auto batch = BatchOf({{"v", generator.Column(type("v"), rows, true)},
                                {"s", generator.Column(type("s"), rows, true)},
                                {"n", FromJson(arrow::int64(), numbers + "]")}});
    const auto whole = [&] {
      return Unwrapped(arrow::RecordBatchReader::Make({batch}, batch->schema()));
    };
    const Outcome expected = Append(target, whole().get(), 1);
    target.settings.write_memory_bytes = 8192;
    const Outcome found = Append(target, InSlices(batch, 70, &generator).get(), 2, &expected.rows);
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.spilled > 0, declared);
  }
}

// --- what goes straight into files ---

std::shared_ptr<arrow::RecordBatch> Readings(const std::vector<int64_t>& minutes,
                                             const std::vector<std::string>& devices) {
  arrow::TimestampBuilder time(Micros(), arrow::default_memory_pool());
  arrow::StringBuilder device;
  arrow::DoubleBuilder value;
  for (size_t i = 0; i < minutes.size(); ++i) {
    EXPECT_TRUE(time.Append(minutes[i] * kMicrosPerMinute).ok());
    EXPECT_TRUE(device.Append(devices[i % devices.size()]).ok());
    EXPECT_TRUE(value.Append(static_cast<double>(i)).ok());
  }
  return BatchOf({{"time", Unwrapped(time.Finish())},
                  {"device", Unwrapped(device.Finish())},
                  {"v", Unwrapped(value.Finish())}});
}

struct Straight {
  const char* name;
  std::vector<std::string> devices;
  std::vector<int64_t> late;  // minutes of rows that come last
  bool spills;
};

void PrintTo(const Straight& c, std::ostream* out) { *out << c.name; }

class StraightTest : public testing::TestWithParam<Straight> {};

TEST_P(StraightTest, EqualsAnAppendInMemory) {
  std::vector<int64_t> minutes;
  for (int64_t i = 0; i < 6000; ++i) minutes.push_back(i);  // over four days
  minutes.insert(minutes.end(), GetParam().late.begin(), GetParam().late.end());
  const auto batch = Readings(minutes, GetParam().devices);
  Target target = TargetOf({});
  const auto whole = Unwrapped(arrow::RecordBatchReader::Make({batch}, batch->schema()));
  const Outcome expected = Append(target, whole.get(), 1);
  target.settings.write_memory_bytes = 1 << 16;
  Generator generator(1);
  const Outcome found = Append(target, InSlices(batch, 100, &generator).get(), 2, &expected.rows);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.newest, expected.newest);
  EXPECT_EQ(found.duplicates, expected.duplicates);
  EXPECT_EQ(found.spilled > 0, GetParam().spills);
}

const Straight kStraight[] = {
    {"OneSeriesInOrder", {"a"}, {}, false},
    {"OneSeriesAndALateRow", {"a"}, {100}, true},
    {"OneSeriesAndAnEqualTime", {"a"}, {700}, true},
    {"OneSeriesAndADayBeforeAll", {"a"}, {-3, -2, -1}, false},
    {"SeriesInTurn", {"c", "a", "b"}, {}, true},
    {"SeriesInTurnAndLateRows", {"c", "a", "b"}, {1500, 10, 11, 4300, 5999}, true},
};

INSTANTIATE_TEST_SUITE_P(BoundedAppend, StraightTest, testing::ValuesIn(kStraight),
                         [](const auto& c) { return c.param.name; });

TEST(BoundedAppend, DaysThatFitWaitNowhere) {
  std::vector<int64_t> minutes;
  for (int64_t i = 0; i < 6000; ++i) minutes.push_back(i * 30);  // 48 rows a day
  const auto batch = Readings(minutes, {"c", "a", "b"});
  Target target = TargetOf({});
  target.settings.write_memory_bytes = 1 << 16;
  table::Env env = TestEnv();
  int64_t spilled = 0;
  env.observer = std::make_shared<Observer>();
  env.observer->metric = [&](const char* name, int64_t value) {
    if (std::string_view(name) == "append.spilled_bytes") spilled += value;
  };
  Generator generator(1);
  const auto reader = InSlices(batch, 50, &generator);
  WriteOptions options;
  options.now_us = kNow;
  const Written written = Unwrapped(WriteData(env, target, reader.get(), options));
  EXPECT_EQ(written.rows, 6000);
  std::set<std::vector<iceberg::Value>> days;
  for (const auto& file : written.files) days.insert(file.partition);
  EXPECT_EQ(days.size(), 125u);
  EXPECT_EQ(written.files.size(), 125u);
  EXPECT_EQ(spilled, 0);
}

TEST(BoundedAppend, ThousandsOfPartitionsAreWarnedOfOnce) {
  std::vector<int64_t> minutes;
  for (int64_t i = 0; i < 6000; ++i) minutes.push_back(i % 1500 * 60 * 24);
  const auto batch = Readings(minutes, {"a", "b"});
  for (const int64_t budget : {int64_t{1} << 30, int64_t{1} << 16}) {
    Target target = TargetOf({});
    target.settings.write_memory_bytes = budget;
    table::Env env = TestEnv();
    std::vector<std::string> warnings;
    env.observer = std::make_shared<Observer>();
    env.observer->log = [&](LogLevel level, const std::string& message) {
      if (level == LogLevel::kWarning) warnings.push_back(message);
    };
    Generator generator(1);
    WriteOptions options;
    options.now_us = kNow;
    const Written written =
        Unwrapped(WriteData(env, target, InSlices(batch, 100, &generator).get(), options));
    EXPECT_EQ(written.files.size(), 1500u);
    EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("rows of 1500 partitions")));
  }
}

// A file whose footer says min and max of a column with NaN is pruned wrongly by other engines.
TEST(BoundedAppend, NanInLaterRows) {
  auto batch = Readings(
      [] {
        std::vector<int64_t> minutes(3000);
        for (size_t i = 0; i < minutes.size(); ++i) minutes[i] = static_cast<int64_t>(i % 1400);
        std::sort(minutes.begin(), minutes.end());
        return minutes;
      }(),
      {"a"});
  arrow::DoubleBuilder values;
  for (int i = 0; i < 3000; ++i) EXPECT_TRUE(values.Append(i == 2500 ? std::nan("") : i).ok());
  batch = BatchOf({{"time", batch->column(0)},
                   {"device", batch->column(1)},
                   {"v", Unwrapped(values.Finish())}});
  TargetSpec spec;
  spec.dedup = false;
  Target target = TargetOf(spec);
  target.settings.write_memory_bytes = 1 << 15;
  const table::Env env = TestEnv();
  Generator generator(2);
  WriteOptions options;
  options.now_us = kNow;
  const Written written =
      Unwrapped(WriteData(env, target, InSlices(batch, 100, &generator).get(), options));
  EXPECT_EQ(written.rows, 3000);
  int64_t nans = 0;
  for (size_t i = 0; i < written.files.size(); ++i) {
    const int64_t here = written.files[i].nan_value_counts.at(3);
    nans += here;
    const auto footer = OpenParquet(env, written.keys[i])->parquet_reader()->metadata();
    for (int group = 0; group < footer->num_row_groups(); ++group) {
      EXPECT_EQ(footer->RowGroup(group)->ColumnChunk(2)->is_stats_set(), here == 0);
    }
  }
  EXPECT_EQ(nans, 1);
}

// --- failures ---

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

std::shared_ptr<arrow::RecordBatch> ManyReadings() {
  std::vector<int64_t> minutes;
  for (int64_t i = 0; i < 3000; ++i) minutes.push_back(i * 7919 % 4000);
  return Readings(minutes, {"a", "b", "c"});
}

TEST(BoundedAppend, AFailureLeavesNoFiles) {
  const auto batch = ManyReadings();
  Target target = TargetOf({});
  target.settings.write_memory_bytes = 1 << 15;
  for (int good = 0; good < 3; ++good) {
    table::Env env = TestEnv();
    env.store = std::make_shared<FailingStore>(good);
    Generator generator(1);
    WriteOptions options;
    options.now_us = kNow;
    const Status status =
        WriteData(env, target, InSlices(batch, 100, &generator).get(), options).status();
    EXPECT_THAT(MessageOf(status), HasSubstr("table ns.t: writing data files: disk full"));
    EXPECT_TRUE(Unwrapped(env.store->List("")).objects.empty());
  }
}

TEST(BoundedAppend, CancelledAtAnyPoint) {
  const auto batch = ManyReadings();
  Target target = TargetOf({});
  target.settings.write_memory_bytes = 1 << 15;
  int completed = 0;
  for (int polls = 0; polls < 400 && completed == 0; polls += polls < 40 ? 1 : 13) {
    const table::Env env = TestEnv();
    WriteOptions options;
    options.now_us = kNow;
    options.threads = 1;
    int left = polls;
    options.cancelled = [&left] { return left-- <= 0; };
    Generator generator(1);
    const auto written = WriteData(env, target, InSlices(batch, 100, &generator).get(), options);
    completed += written.ok();
    if (written.ok()) continue;
    EXPECT_EQ(KindOf(written.status()), ErrorKind::kCancelled);
    EXPECT_TRUE(Unwrapped(env.store->List("")).objects.empty());
  }
  EXPECT_EQ(completed, 1);
}

TEST(BoundedAppend, NothingIsSeenInTheFolderThatIsNamedInErrors) {
  const auto batch = ManyReadings();
  Target target = TargetOf({});
  target.settings.write_memory_bytes = 1 << 15;
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      fmt::format("timelake-bounded-append-{}", getpid());
  std::filesystem::create_directories(folder);
  target.settings.temp_directory = folder;
  Generator generator(1);
  const table::Env env = TestEnv();
  size_t seen = 0;
  WriteOptions options;
  options.now_us = kNow;
  options.cancelled = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) seen += entry.exists();
    return false;
  };
  EXPECT_TRUE(WriteData(env, target, InSlices(batch, 100, &generator).get(), options).ok());
  EXPECT_EQ(seen, 0u);
  std::filesystem::remove_all(folder);
  options.cancelled = nullptr;
  const Status status =
      WriteData(env, target, InSlices(batch, 100, &generator).get(), options).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kIo);
  EXPECT_THAT(MessageOf(status), HasSubstr(folder.string()));
  EXPECT_THAT(MessageOf(status), HasSubstr("setting temp-directory"));
}

// --- what is held ---

TEST(HeldRows, SharedDictionariesCountOnce) {
  const auto strings =
      FromJson(arrow::utf8(), R"(["a long name of a device", "another long one"])");
  const auto batch_of = [&](const std::shared_ptr<arrow::Array>& dictionary) {
    const auto codes = FromJson(arrow::int32(), "[0, 1, 0]");
    return BatchOf(
        {{"device", std::make_shared<arrow::DictionaryArray>(
                        arrow::dictionary(arrow::int32(), arrow::utf8()), codes, dictionary)}});
  };
  HeldRows shared(230);
  for (int i = 0; i < 2; ++i) shared.Add(batch_of(strings));
  EXPECT_FALSE(shared.full());
  HeldRows apart(230);
  for (int i = 0; i < 2; ++i) {
    apart.Add(
        batch_of(FromJson(arrow::utf8(), R"(["a long name of a device", "another long one"])")));
  }
  EXPECT_TRUE(apart.full());
  EXPECT_EQ(apart.Take().size(), 2u);
  EXPECT_TRUE(apart.empty());
  EXPECT_FALSE(apart.full());
}

TEST(HeldRows, OnlyWhatDoesNotFitIsCut) {
  const auto batch = Readings(std::vector<int64_t>(1000, 5), {"a"});
  EXPECT_EQ(HeldRows(1 << 20).FittingRows(*batch), 1000);
  const int64_t fitting = HeldRows(1 << 12).FittingRows(*batch);
  EXPECT_GT(fitting, 5);
  EXPECT_LT(fitting, 100);
  EXPECT_EQ(HeldRows(1).FittingRows(*batch), 1);
}

}  // namespace
}  // namespace timelake::write
