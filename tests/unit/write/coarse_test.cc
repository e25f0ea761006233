#include "write/coarse.h"

#include <set>

#include <gmock/gmock.h>

#include "unit/write/write_testing.h"

// Appends into many chunks of a table with buckets.

namespace timelake::write {
namespace {

constexpr int kDevices = 40;

Target WithBuckets() {
  Target target = TargetOf({});
  target.spec.fields.push_back(FieldOf(target.schema, "device", "bucket[16]", 1001));
  return target;
}

iceberg::PartitionSpec Coarser(const Target& target) {
  iceberg::PartitionSpec spec = target.spec;
  spec.spec_id = 1;
  spec.fields.pop_back();
  return spec;
}

// A row of each device on each day.
std::vector<std::shared_ptr<arrow::RecordBatch>> Days(int days, int devices) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int device = 0; device < devices; ++device) {
    arrow::TimestampBuilder time(Micros(), arrow::default_memory_pool());
    arrow::StringBuilder name;
    arrow::DoubleBuilder value;
    for (int day = 0; day < days; ++day) {
      EXPECT_TRUE(time.Append(day * kMicrosPerDay + device).ok());
      EXPECT_TRUE(name.Append(fmt::format("device {}", device)).ok());
      EXPECT_TRUE(value.Append(day).ok());
    }
    batches.push_back(BatchOf({{"time", Unwrapped(time.Finish())},
                               {"device", Unwrapped(name.Finish())},
                               {"v", Unwrapped(value.Finish())}}));
  }
  return batches;
}

Written Write(const table::Env& env, const Target& target, int days, int devices,
              bool may_be_coarse) {
  WriteOptions options;
  if (may_be_coarse) options.coarse_spec = Coarser(target);
  return Unwrapped(WriteBatches(env, target, Days(days, devices), options));
}

TEST(WithoutBuckets, ManyDaysOfFewRows) {
  for (const int64_t budget : {int64_t{1} << 30, int64_t{1} << 16}) {
    SCOPED_TRACE(budget);
    table::Env env = TestEnv();
    std::vector<std::string> warnings;
    env.observer = std::make_shared<Observer>();
    env.observer->log = [&](LogLevel level, const std::string& message) {
      if (level == LogLevel::kWarning) warnings.push_back(message);
    };
    Target target = WithBuckets();
    target.settings.write_memory_bytes = budget;
    const Written written = Write(env, target, 300, kDevices, true);
    EXPECT_EQ(written.spec_id, 1);
    EXPECT_EQ(written.rows, 300 * kDevices);
    ASSERT_EQ(written.files.size(), 300u);
    EXPECT_TRUE(warnings.empty());
    std::set<std::string> rows;
    for (size_t i = 0; i < written.files.size(); ++i) {
      EXPECT_EQ(written.files[i].partition.size(), 1u);
      EXPECT_THAT(written.keys[i], testing::Not(testing::HasSubstr("bucket")));
      for (auto& row : TextRows(*ReadParquet(env, written.keys[i]))) rows.insert(row);
    }
    EXPECT_EQ(rows.size(), 300u * kDevices);
    EXPECT_EQ(written.newest->num_rows(), kDevices);
  }
}

TEST(WithoutBuckets, OnlyWhereAskedAndWhereItHelps) {
  const Target target = WithBuckets();
  // Nobody knows a coarser spec.
  Written written = Write(TestEnv(), target, 30, kDevices, false);
  EXPECT_EQ(written.spec_id, 0);
  EXPECT_GT(written.files.size(), 256u);
  // Few files.
  written = Write(TestEnv(), target, 10, kDevices, true);
  EXPECT_EQ(written.spec_id, 0);
  EXPECT_EQ(written.files.size() % 10, 0u);
  EXPECT_GT(written.files.size(), 100u);
  // One device is in one bucket a day.
  written = Write(TestEnv(), target, 300, 1, true);
  EXPECT_EQ(written.spec_id, 0);
  EXPECT_EQ(written.files.size(), 300u);
}

TEST(WithoutBuckets, NotOfLargeFiles) {
  const Target target = WithBuckets();
  const auto batches = Days(30, kDevices);
  Rows rows = Unwrapped(Combine(target, batches, 1));
  const Arrangement fine = Unwrapped(ArrangeRows(target, rows));
  WriteOptions options;
  options.coarse_spec = Coarser(target);
  EXPECT_TRUE(Unwrapped(WithoutBuckets(target, options, rows, fine)).has_value());
  rows.row_bytes = 1e7;  // a megabyte and more for each file
  EXPECT_FALSE(Unwrapped(WithoutBuckets(target, options, rows, fine)).has_value());
}

}  // namespace
}  // namespace timelake::write
