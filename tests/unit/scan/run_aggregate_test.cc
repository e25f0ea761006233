#include "scan/run_aggregate.h"

#include <cmath>
#include <optional>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace timelake::scan {
namespace {

// Rows in runs, as files sorted by series and time have them; NULL and NaN now and then.
std::shared_ptr<arrow::RecordBatch> RandomRows(std::mt19937* random, bool nulls) {
  arrow::StringDictionary32Builder host;
  arrow::StringBuilder site;
  arrow::TimestampBuilder time(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"),
                               arrow::default_memory_pool());
  arrow::DoubleBuilder v;
  arrow::Int64Builder n;
  arrow::Date32Builder day;
  const auto is_null = [&] { return nulls && (*random)() % 7 == 0; };
  int64_t now = 0;
  int series = 0;
  for (int i = 0; i < 4000; ++i) {
    if ((*random)() % 50 == 0) {
      ++series;
      now = -500;
    }
    now += static_cast<int64_t>((*random)() % 20);
    const auto number = static_cast<int64_t>((*random)() % 1000) - 500;
    const bool null_series = nulls && series % 3 == 0;
    EXPECT_TRUE((null_series ? host.AppendNull() : host.Append(std::to_string(series % 9))).ok());
    EXPECT_TRUE((null_series ? site.AppendNull() : site.Append(series % 2 ? "x" : "y")).ok());
    EXPECT_TRUE((is_null() ? time.AppendNull() : time.Append(now)).ok());
    const double value = (*random)() % 30 == 0 ? std::nan("") : static_cast<double>(number) / 4;
    EXPECT_TRUE((is_null() ? v.AppendNull() : v.Append(value)).ok());
    EXPECT_TRUE((is_null() ? n.AppendNull() : n.Append(number)).ok());
    EXPECT_TRUE((is_null() ? day.AppendNull() : day.Append(static_cast<int>(number))).ok());
  }
  std::shared_ptr<arrow::Array> columns[6];
  EXPECT_TRUE(host.Finish(&columns[0]).ok() && site.Finish(&columns[1]).ok() &&
              time.Finish(&columns[2]).ok() && v.Finish(&columns[3]).ok() &&
              n.Finish(&columns[4]).ok() && day.Finish(&columns[5]).ok());
  arrow::FieldVector fields;
  for (int i = 0; i < 6; ++i) {
    fields.push_back(arrow::field(std::string(1, static_cast<char>('a' + i)), columns[i]->type()));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), 4000,
                                  arrow::ArrayVector(std::begin(columns), std::end(columns)));
}

TimeBucket BucketOf100(int64_t time) {
  const int64_t start = (time - ((time % 100) + 100) % 100);
  return {start, start, start + 99};
}

std::string KeyText(const RunAggregates& runs, const arrow::RecordBatch& batch, int64_t row) {
  std::string text;
  for (const RunKey& key : runs.keys) {
    const auto& column = *batch.column(static_cast<int>(key.column));
    if (key.bucket && column.IsValid(row)) {
      const auto time = static_cast<const arrow::TimestampArray&>(column).Value(row);
      text += std::to_string(key.bucket(time).start) + "|";
    } else {
      text += (*column.GetScalar(row))->ToString() + "|";
    }
  }
  return text;
}

// The same value by value.
std::optional<double> Naive(const RunValue& value, const arrow::RecordBatch& batch, int64_t begin,
                            int64_t end) {
  if (value.op == RunOp::kRows) return static_cast<double>(end - begin);
  const auto& column = *batch.column(static_cast<int>(value.column));
  if (value.op == RunOp::kCount) {
    const auto rows = column.Slice(begin, end - begin);
    return static_cast<double>(rows->length() - rows->null_count());
  }
  double count = 0, sum = 0, high = 0, low = 0;
  std::optional<double> best;
  for (int64_t row = begin; row < end; ++row) {
    if (column.IsNull(row)) continue;
    const double v =
        column.type_id() == arrow::Type::DOUBLE
            ? static_cast<const arrow::DoubleArray&>(column).Value(row)
        : column.type_id() == arrow::Type::INT64
            ? static_cast<double>(static_cast<const arrow::Int64Array&>(column).Value(row))
        : column.type_id() == arrow::Type::DATE32
            ? static_cast<double>(static_cast<const arrow::Date32Array&>(column).Value(row))
            : static_cast<double>(static_cast<const arrow::TimestampArray&>(column).Value(row));
    ++count;
    sum += v;
    if (column.type_id() == arrow::Type::INT64) {
      const int64_t whole = static_cast<const arrow::Int64Array&>(column).Value(row);
      high += std::floor(static_cast<double>(whole) / 4294967296.0);
      low += static_cast<double>(static_cast<uint32_t>(whole));
    }
    const auto above = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; };
    if (!best || (value.op == RunOp::kMax ? above(v, *best) : above(*best, v))) best = v;
  }
  if (count == 0) return std::nullopt;
  if (value.op == RunOp::kSumHigh) return high;
  if (value.op == RunOp::kSumLow) return low;
  return value.op == RunOp::kSum ? std::optional<double>(sum) : best;
}

double Number(const arrow::Array& column, int64_t row) {
  const auto text =
      (*column.GetScalar(row))
          ->CastTo(column.type_id() == arrow::Type::DATE32 ? arrow::int32() : arrow::int64());
  if (column.type_id() == arrow::Type::DOUBLE) {
    return static_cast<const arrow::DoubleArray&>(column).Value(row);
  }
  return column.type_id() == arrow::Type::DATE32
             ? static_cast<double>(static_cast<const arrow::Int32Scalar&>(**text).value)
             : static_cast<double>(static_cast<const arrow::Int64Scalar&>(**text).value);
}

TEST(RunAggregate, EqualsWhatIsComputedRowByRow) {
  std::mt19937 random(5);
  const RunKey host{0, {}}, site{1, {}}, time{2, {}}, bucket{2, BucketOf100}, number{4, {}},
      day{5, {}};
  const std::vector<RunValue> values = {
      {RunOp::kRows, 0}, {RunOp::kCount, 3}, {RunOp::kSum, 3},     {RunOp::kMin, 3},
      {RunOp::kMax, 3},  {RunOp::kMin, 4},   {RunOp::kMax, 4},     {RunOp::kMax, 5},
      {RunOp::kMin, 2},  {RunOp::kCount, 0}, {RunOp::kSumHigh, 4}, {RunOp::kSumLow, 4}};
  const std::vector<std::vector<RunKey>> all_keys = {
      {},     {host},   {bucket},   {host, bucket}, {bucket, host}, {site, bucket, host},
      {time}, {number}, {day, site}};
  for (const bool nulls : {false, true}) {
    for (const auto& keys : all_keys) {
      const auto batch = RandomRows(&random, nulls)->Slice(random() % 100);
      const RunAggregates runs{keys, values};
      const auto result = AggregateRuns(runs, *batch);
      ASSERT_TRUE(result.ok()) << result.status().ToString();
      const auto& rows = **result;
      ASSERT_TRUE(rows.ValidateFull().ok());
      int64_t begin = 0;
      for (int64_t run = 0; run < rows.num_rows(); ++run) {
        const std::string key = KeyText(runs, *batch, begin);
        int64_t end = begin;
        while (end < batch->num_rows() && KeyText(runs, *batch, end) == key) ++end;
        std::string out;
        for (size_t i = 0; i < keys.size(); ++i) {
          const auto& column = *rows.column(static_cast<int>(i));
          const bool starts = keys[i].bucket && column.IsValid(run);
          out += starts ? std::to_string(static_cast<int64_t>(Number(column, run))) + "|"
                        : (*column.GetScalar(run))->ToString() + "|";
        }
        ASSERT_EQ(out, key);
        for (size_t i = 0; i < values.size(); ++i) {
          const auto& column = *rows.column(static_cast<int>(keys.size() + i));
          const auto expected = Naive(values[i], *batch, begin, end);
          ASSERT_EQ(column.IsValid(run), expected.has_value()) << i;
          if (!expected) continue;
          const double found = Number(column, run);
          ASSERT_TRUE(found == *expected || (std::isnan(found) && std::isnan(*expected)))
              << i << ": " << found << " " << *expected;
        }
        begin = end;
      }
      EXPECT_EQ(begin, batch->num_rows());
    }
  }
}

// As at the end of the range of times, where the bucket behind has no start.
TEST(RunAggregate, ABucketOfUnknownEndIsOneRun) {
  std::mt19937 random(8);
  const auto batch = RandomRows(&random, false);
  const auto narrow = [](int64_t time) {
    return TimeBucket{BucketOf100(time).start, BucketOf100(time).start, time};
  };
  const std::vector<RunValue> values = {{RunOp::kRows, 0}, {RunOp::kSum, 3}};
  const auto expected = AggregateRuns({{{0, {}}, {2, BucketOf100}}, values}, *batch);
  const auto found = AggregateRuns({{{0, {}}, {2, narrow}}, values}, *batch);
  ASSERT_TRUE(expected.ok() && found.ok());
  EXPECT_TRUE((*found)->Equals(**expected, false, arrow::EqualOptions().nans_equal(true)))
      << (*found)->num_rows() << " runs, not " << (*expected)->num_rows();
}

TEST(RunAggregate, NothingIsNoRun) {
  std::mt19937 random(6);
  const auto batch = RandomRows(&random, false)->Slice(0, 0);
  const auto result = AggregateRuns({{}, {{RunOp::kRows, 0}}}, *batch);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)->num_rows(), 0);
}

TEST(RunAggregate, OtherTypesAreRefused) {
  std::mt19937 random(7);
  const auto batch = RandomRows(&random, false);
  EXPECT_FALSE(AggregateRuns({{}, {{RunOp::kSum, 4}}}, *batch).ok());
  EXPECT_FALSE(AggregateRuns({{}, {{RunOp::kMax, 1}}}, *batch).ok());
}

}  // namespace
}  // namespace timelake::scan
