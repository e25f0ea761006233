#include <functional>

#include <gtest/gtest.h>
#include <parquet/file_reader.h>

#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

using iceberg::Value;

FileOptions WithBloomFilter(int64_t rows_per_group = 1 << 20) {
  FileOptions options;
  options.rows_per_group = rows_per_group;
  parquet::BloomFilterOptions bloom;
  bloom.ndv = 100;
  options.parquet = parquet::WriterProperties::Builder().enable_bloom_filter("x", bloom)->build();
  return options;
}

// How many of the values may be in a row group of a file of one column.
int Held(const std::shared_ptr<arrow::DataType>& file_type, const std::string& json,
         std::string_view wanted, const std::vector<Value>& values, int row_group = 0,
         const FileOptions& options = WithBloomFilter()) {
  const Env env = MemoryEnv();
  DataFileRequest request;
  request.uri = PutFile(env, "b/x.parquet", {ArrowColumn("x", file_type, 1)},
                        {FromJson(file_type, json)}, options);
  request.fields = {TableColumn(1, "x", wanted), TableColumn(2, "y", "int")};
  auto reader = OpenDataFile(env, request);
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  int held = 0;
  for (const Value& value : values) {
    for (int time = 0; time < 2; ++time) {  // read, then from the cache
      const auto may = (*reader)->MayHold(row_group, 0, {value});
      EXPECT_TRUE(may.ok()) << may.status().ToString();
      if (time == 0) held += *may;
    }
    EXPECT_TRUE(*(*reader)->MayHold(row_group, 1, {value})) << "a column that the file lacks";
  }
  return held;
}

std::vector<Value> Absent(int count, const std::function<Value(int)>& make) {
  std::vector<Value> values;
  for (int i = 0; i < count; ++i) values.push_back(make(i));
  return values;
}

// 5 % false positives at most; of 200, 20 would be much.
constexpr int kFew = 20;

TEST(BloomFilter, RulesOutWhatIsNotThere) {
  using arrow::TimeUnit;
  EXPECT_EQ(Held(arrow::utf8(), R"(["a", null, "longer text"])", "string",
                 {std::string("a"), std::string("longer text")}),
            2);
  EXPECT_LT(Held(arrow::utf8(), R"(["a", "b"])", "string",
                 Absent(200, [](int i) { return Value("no " + std::to_string(i)); })),
            kFew);
  EXPECT_EQ(Held(arrow::binary(), R"(["a"])", "binary", {std::string("a")}), 1);
  EXPECT_EQ(Held(arrow::int32(), "[1, -7]", "int", {Value(1), Value(-7)}), 2);
  EXPECT_LT(Held(arrow::int32(), "[1, -7]", "int", Absent(200, [](int i) { return Value(i + 2); })),
            kFew);
  EXPECT_EQ(Held(arrow::int64(), "[1, -7]", "long", {Value(int64_t{1}), Value(int64_t{-7})}), 2);
  EXPECT_LT(Held(arrow::int64(), "[1, -7]", "long",
                 Absent(200, [](int i) { return Value(int64_t{i} + 2); })),
            kFew);
  EXPECT_EQ(Held(arrow::date32(), "[3]", "date", {Value(3)}), 1);
  EXPECT_EQ(
      Held(arrow::timestamp(TimeUnit::MICRO, "UTC"), "[3]", "timestamptz", {Value(int64_t{3})}), 1);
  EXPECT_LT(Held(arrow::timestamp(TimeUnit::MICRO), "[3]", "timestamp",
                 Absent(200, [](int i) { return Value(int64_t{i} + 4); })),
            kFew);
  EXPECT_EQ(Held(arrow::fixed_size_binary(2), R"(["aa"])", "fixed[2]", {std::string("aa")}), 1);
  EXPECT_LT(Held(arrow::fixed_size_binary(2), R"(["aa"])", "fixed[2]",
                 Absent(200,
                        [](int i) {
                          return Value(std::string{static_cast<char>('A' + i / 20),
                                                   static_cast<char>('A' + i % 20)});
                        })),
            kFew);
}

TEST(BloomFilter, SaysNothingWhereBytesAreNotTheValue) {
  using arrow::TimeUnit;
  const auto all = Absent(50, [](int i) { return Value(int64_t{i} + 100); });
  EXPECT_EQ(Held(arrow::int32(), "[1]", "long", all), 50) << "widened";
  EXPECT_EQ(Held(arrow::uint64(), "[1]", "long", all), 50);
  EXPECT_EQ(Held(arrow::timestamp(TimeUnit::MILLI, "UTC"), "[1]", "timestamptz", all), 50);
  EXPECT_EQ(Held(arrow::timestamp(TimeUnit::NANO, "UTC"), "[1]", "timestamptz", all), 50);
  EXPECT_EQ(Held(arrow::float64(), "[1.5]", "double", {Value(0.0), Value(2.5)}), 2);
  EXPECT_EQ(Held(arrow::float32(), "[1.5]", "float", {Value(0.0F), Value(2.5F)}), 2);
  EXPECT_EQ(Held(arrow::int64(), "[1]", "long", all, 0, {}), 50) << "no filter";
}

TEST(BloomFilter, OfEachRowGroup) {
  const auto options = WithBloomFilter(2);
  const std::string json = R"(["a", "b", "c", "d"])";
  const std::vector<Value> first = {std::string("a"), std::string("b")},
                           second = {std::string("c"), std::string("d")};
  EXPECT_EQ(Held(arrow::utf8(), json, "string", first, 0, options), 2);
  EXPECT_EQ(Held(arrow::utf8(), json, "string", second, 1, options), 2);
  EXPECT_LT(Held(arrow::utf8(), json, "string", second, 0, options) +
                Held(arrow::utf8(), json, "string", first, 1, options),
            4);
}

TEST(BloomFilter, ADamagedOneIsNamed) {
  const Env env = MemoryEnv();
  auto bytes = ParquetBytes({ArrowColumn("x", arrow::utf8(), 1)},
                            {FromJson(arrow::utf8(), R"(["a"])")}, WithBloomFilter());
  const auto footer =
      parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(bytes))
          ->metadata();
  const auto offset = footer->RowGroup(0)->ColumnChunk(0)->bloom_filter_offset();
  ASSERT_TRUE(offset);
  std::string damaged = bytes->ToString();
  damaged.replace(static_cast<size_t>(*offset), 8, 8, '\xff');
  DataFileRequest request;
  request.uri = PutBytes(env, "b/x.parquet", arrow::Buffer::FromString(std::move(damaged)));
  request.fields = {TableColumn(1, "x", "string")};
  auto reader = OpenDataFile(env, request);
  ASSERT_TRUE(reader.ok());
  const auto may = (*reader)->MayHold(0, 0, {std::string("a")});
  ASSERT_FALSE(may.ok());
  EXPECT_EQ(KindOf(may.status()), ErrorKind::kCorrupt);
  EXPECT_NE(may.status().message().find("x.parquet: row group 0: Bloom filter"), std::string::npos)
      << may.status().message();
}

}  // namespace
}  // namespace timelake::table
