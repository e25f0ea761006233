#include <cmath>

#include <gtest/gtest.h>

#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

using iceberg::Value;
using Stats = DataFileReader::Stats;

Stats StatsOf(const std::shared_ptr<arrow::DataType>& file_type, const std::string& json,
              std::string_view wanted, const FileOptions& options = {}) {
  const Env env = MemoryEnv();
  DataFileRequest request;
  request.uri = PutFile(env, "b/x.parquet", {ArrowColumn("x", file_type, 1)},
                        {FromJson(file_type, json)}, options);
  request.fields = {TableColumn(1, "x", wanted)};
  auto reader = OpenDataFile(env, request);
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  return (*reader)->row_group_stats(0, 1);
}

void ExpectBounds(const Stats& stats, std::string_view type, const Value& min, const Value& max) {
  const iceberg::Type t = iceberg::ParseType(type).ValueOrDie();
  ASSERT_TRUE(stats.min && stats.max) << type;
  EXPECT_EQ(*stats.min, iceberg::ToBytes(t, min).ValueOrDie()) << type;
  EXPECT_EQ(*stats.max, iceberg::ToBytes(t, max).ValueOrDie()) << type;
}

TEST(DataFileStats, BoundsAreInTheTablesType) {
  using arrow::TimeUnit;
  const Stats ints = StatsOf(arrow::int32(), "[3, null, -5]", "int");
  ExpectBounds(ints, "int", -5, 3);
  EXPECT_EQ(ints.null_count, 1);
  ExpectBounds(StatsOf(arrow::int32(), "[3, -5]", "long"), "long", int64_t{-5}, int64_t{3});
  ExpectBounds(StatsOf(arrow::boolean(), "[true, false]", "boolean"), "boolean", false, true);
  ExpectBounds(StatsOf(arrow::date32(), "[-1, 4]", "date"), "date", -1, 4);
  ExpectBounds(StatsOf(arrow::timestamp(TimeUnit::MILLI, "UTC"), "[-2, 7]", "timestamptz"),
               "timestamptz", int64_t{-2000}, int64_t{7000});
  ExpectBounds(StatsOf(arrow::timestamp(TimeUnit::NANO), "[-1, 1]", "timestamp"), "timestamp",
               int64_t{-1}, int64_t{1});
  ExpectBounds(StatsOf(arrow::time32(TimeUnit::MILLI), "[1, 2]", "time"), "time", int64_t{1000},
               int64_t{2000});
  ExpectBounds(StatsOf(arrow::utf8(), R"(["b", "a"])", "string"), "string", std::string("a"),
               std::string("b"));
  ExpectBounds(StatsOf(arrow::binary(), R"(["b", "a"])", "binary"), "binary", std::string("a"),
               std::string("b"));
  ExpectBounds(StatsOf(arrow::fixed_size_binary(2), R"(["bb", "aa"])", "fixed[2]"), "fixed[2]",
               std::string("aa"), std::string("bb"));
}

// Public case O11: bounds are big-endian, Parquet's INT32 and INT64 decimals little-endian.
TEST(DataFileStats, Decimals) {
  FileOptions integers;
  integers.parquet =
      parquet::WriterProperties::Builder().enable_store_decimal_as_integer()->build();
  for (const FileOptions& options : {FileOptions(), integers}) {
    ExpectBounds(
        StatsOf(arrow::decimal128(9, 2), R"(["-327.68", "1.28"])", "decimal(9,2)", options),
        "decimal(9,2)", arrow::Decimal128(-32768), arrow::Decimal128(128));
    ExpectBounds(
        StatsOf(arrow::decimal128(18, 2), R"(["-327.68", "1.28"])", "decimal(20,2)", options),
        "decimal(20,2)", arrow::Decimal128(-32768), arrow::Decimal128(128));
  }
  EXPECT_FALSE(StatsOf(arrow::decimal128(9, 3), R"(["1.280"])", "decimal(9,2)").min);
}

// The footer does not count NaN, which is above every maximum.
TEST(DataFileStats, FloatsHaveNoMaximum) {
  const Stats doubles = StatsOf(arrow::float64(), "[2.5, NaN, 1.5]", "double");
  EXPECT_EQ(doubles.min,
            iceberg::ToBytes(iceberg::ParseType("double").ValueOrDie(), Value(1.5)).ValueOrDie());
  EXPECT_FALSE(doubles.max);
  const Stats zero = StatsOf(arrow::float32(), "[0.0]", "double");
  EXPECT_EQ(zero.min,
            iceberg::ToBytes(iceberg::ParseType("double").ValueOrDie(), Value(-0.0)).ValueOrDie());
  EXPECT_FALSE(StatsOf(arrow::float64(), "[NaN]", "double").min);
}

// Answers of min and max are only taken from bounds that are values.
TEST(DataFileStats, ExactBoundsAreValues) {
  using arrow::TimeUnit;
  const auto bytes = [](std::string_view type, const Value& value) {
    return iceberg::ToBytes(iceberg::ParseType(type).ValueOrDie(), value).ValueOrDie();
  };
  const Stats ints = StatsOf(arrow::int32(), "[3, null, -5]", "long");
  EXPECT_EQ(ints.exact_min, bytes("long", int64_t{-5}));
  EXPECT_EQ(ints.exact_max, bytes("long", int64_t{3}));
  const Stats floats = StatsOf(arrow::float64(), "[2.5, NaN, 1.5]", "double");
  EXPECT_EQ(floats.exact_min, bytes("double", 1.5));
  EXPECT_EQ(floats.exact_max, bytes("double", 2.5));  // of those that are not NaN
  const Stats zero = StatsOf(arrow::float64(), "[0.0, 1.0]", "double");
  EXPECT_FALSE(zero.exact_min) << "it may be -0.0";
  EXPECT_EQ(zero.exact_max, bytes("double", 1.0));
  const Stats nanos = StatsOf(arrow::timestamp(TimeUnit::NANO), "[-1, 2000]", "timestamp");
  EXPECT_FALSE(nanos.exact_min) << "rounded";
  EXPECT_EQ(nanos.exact_max, bytes("timestamp", int64_t{2}));
  const std::string longest(40, 'x');
  const Stats text = StatsOf(arrow::utf8(), "[\"a\", \"" + longest + "\"]", "string");
  EXPECT_EQ(text.exact_max, longest);
  EXPECT_EQ(StatsOf(arrow::decimal128(20, 2), R"(["-327.68", "1.28"])", "decimal(20,2)").exact_max,
            bytes("decimal(20,2)", arrow::Decimal128(128)));
  EXPECT_FALSE(StatsOf(arrow::uint32(), "[1, 2]", "long").exact_max);
  const Stats none = StatsOf(arrow::int32(), "[null]", "int");
  EXPECT_FALSE(none.exact_min || none.exact_max);
}

TEST(DataFileStats, WhatMustNotBeTrustedIsLeftOut) {
  const Stats unsigned_ints = StatsOf(arrow::uint32(), "[1, 4294967295]", "long");
  EXPECT_FALSE(unsigned_ints.min || unsigned_ints.max);
  EXPECT_EQ(unsigned_ints.null_count, 0);
  FileOptions int96;
  int96.arrow =
      parquet::ArrowWriterProperties::Builder().enable_deprecated_int96_timestamps()->build();
  EXPECT_FALSE(StatsOf(arrow::timestamp(arrow::TimeUnit::MICRO), "[1]", "timestamp", int96).min);
  EXPECT_FALSE(StatsOf(arrow::float16(), "[1.5]", "float").min);
  FileOptions none;
  none.parquet = parquet::WriterProperties::Builder().disable_statistics()->build();
  const Stats without = StatsOf(arrow::int32(), "[1]", "int", none);
  EXPECT_FALSE(without.min || without.max || without.null_count);
  // The column of another type than the table's.
  EXPECT_FALSE(StatsOf(arrow::utf8(), R"(["abcd"])", "int").min);
  EXPECT_FALSE(StatsOf(arrow::int64(), "[1]", "int").min);
}

TEST(DataFileStats, ColumnsThatAreNotInTheFile) {
  const Env env = MemoryEnv();
  DataFileRequest request;
  request.uri = PutFile(env, "b/x.parquet", {ArrowColumn("x", arrow::int32(), 1)},
                        {FromJson(arrow::int32(), "[1, 2]")});
  request.fields = {TableColumn(2, "added", "int"), TableColumn(3, "tenant", "int")};
  request.constants = {{3, Value(7)}};
  auto reader = OpenDataFile(env, request).ValueOrDie();
  const Stats added = reader->row_group_stats(0, 2);
  EXPECT_EQ(added.null_count, 2);
  EXPECT_FALSE(added.min);
  const Stats tenant = reader->row_group_stats(0, 3);
  EXPECT_EQ(tenant.null_count, 0);
  ExpectBounds(tenant, "int", 7, 7);
  EXPECT_FALSE(reader->row_group_stats(0, 4).null_count);
}

}  // namespace
}  // namespace timelake::table
