#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>

#include "base/decimal_bytes.h"
#include "unit/write/write_testing.h"

// What is in the files and what the manifest will say of them.

namespace timelake::write {
namespace {

using iceberg::Value;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

Target PlainTarget(const std::string& schema) {
  TargetSpec spec;
  spec.schema = schema;
  spec.time.clear();
  return TargetOf(spec);
}

iceberg::DataFile WriteOne(const table::Env& env, const Target& target,
                           const std::vector<Column>& columns) {
  const Written written = Unwrapped(WriteBatches(env, target, {BatchOf(columns)}));
  EXPECT_EQ(written.files.size(), 1u);
  return written.files.at(0);
}

std::shared_ptr<arrow::Array> Doubles(const std::vector<double>& values) {
  arrow::DoubleBuilder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return Unwrapped(builder.Finish());
}

// CASES O09.
TEST(Files, NanIsCountedAndLeftOutOfBounds) {
  const table::Env env = TestEnv();
  const Target target = PlainTarget("a:int, b:double, c:double");
  arrow::DoubleBuilder b;
  ASSERT_TRUE(b.AppendValues({1.0, kNan, 0.0}, {true, true, false}).ok());
  const auto file = WriteOne(env, target,
                             {{"a", FromJson(arrow::int32(), "[1, 2, 3]")},
                              {"b", Unwrapped(b.Finish())},
                              {"c", FromJson(arrow::float64(), "[5, 6, 7]")}});
  EXPECT_EQ(file.nan_value_counts, (std::map<int, int64_t>{{2, 1}, {3, 0}}));
  EXPECT_EQ(file.null_value_counts, (std::map<int, int64_t>{{1, 0}, {2, 1}, {3, 0}}));
  EXPECT_EQ(file.value_counts, (std::map<int, int64_t>{{1, 3}, {2, 3}, {3, 3}}));
  EXPECT_EQ(file.lower_bounds.at(2), Bytes({0, 0, 0, 0, 0, 0, 0xf0, 0x3f}));
  EXPECT_EQ(file.upper_bounds.at(2), Bytes({0, 0, 0, 0, 0, 0, 0xf0, 0x3f}));
  // Other engines believe Parquet's min and max, which leave NaN out.
  const auto reader =
      OpenParquet(env, "wh/ns/t" + file.file_path.substr(target.location_uri.size()));
  const auto group = reader->parquet_reader()->metadata()->RowGroup(0);
  EXPECT_FALSE(group->ColumnChunk(1)->is_stats_set());
  EXPECT_TRUE(group->ColumnChunk(2)->statistics()->HasMinMax());
  auto index = reader->parquet_reader()->GetPageIndexReader()->RowGroup(0);
  EXPECT_EQ(index->GetColumnIndex(1), nullptr);
  EXPECT_NE(index->GetOffsetIndex(1), nullptr);
  EXPECT_NE(index->GetColumnIndex(2), nullptr);
}

TEST(Files, ZerosOfBothSignsAndColumnsWithoutBounds) {
  const table::Env env = TestEnv();
  const Target target = PlainTarget("z:double, n:double, x:string");
  const auto file = WriteOne(env, target,
                             {{"z", Doubles({0.0, -0.0})},
                              {"n", Doubles({kNan, kNan})},
                              {"x", FromJson(arrow::utf8(), "[null, null]")}});
  EXPECT_EQ(file.lower_bounds.at(1), Bytes({0, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(file.upper_bounds.at(1), Bytes({0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(file.lower_bounds.count(2) + file.upper_bounds.count(2), 0u);
  EXPECT_EQ(file.lower_bounds.count(3) + file.upper_bounds.count(3), 0u);
  EXPECT_EQ(file.null_value_counts.at(3), 2);
}

// CASES O11.
TEST(Files, DecimalBounds) {
  const table::Env env = TestEnv();
  const Target target = PlainTarget("d:decimal(9,2), e:decimal(30,2)");
  const auto file =
      WriteOne(env, target,
               {{"d", FromJson(arrow::decimal128(9, 2), R"(["-1.28", "1.28", null])")},
                {"e", FromJson(arrow::decimal128(30, 2), R"(["-327.68", "-0.01", "12.34"])")}});
  EXPECT_EQ(file.lower_bounds.at(1), Bytes({0x80}));
  EXPECT_EQ(file.upper_bounds.at(1), Bytes({0x00, 0x80}));
  EXPECT_EQ(file.lower_bounds.at(2), Bytes({0x80, 0x00}));
  EXPECT_EQ(file.upper_bounds.at(2), Bytes({0x04, 0xd2}));
}

// CASES O12.
TEST(Files, BoundsHaveTheWidthOfTheirType) {
  const table::Env env = TestEnv();
  const auto narrow =
      WriteOne(env, PlainTarget("i:int, d:date"),
               {{"i", FromJson(arrow::int32(), "[79]")}, {"d", FromJson(arrow::date32(), "[-1]")}});
  EXPECT_EQ(narrow.lower_bounds.at(1), Bytes({0x4f, 0, 0, 0}));
  EXPECT_EQ(narrow.upper_bounds.at(2), Bytes({0xff, 0xff, 0xff, 0xff}));
  const auto wide =
      WriteOne(env, PlainTarget("i:long"), {{"i", FromJson(arrow::int64(), "[5000000000]")}});
  EXPECT_EQ(wide.upper_bounds.at(1), Bytes({0x00, 0xf2, 0x05, 0x2a, 0x01, 0, 0, 0}));
}

std::string Alphas(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "\u03b1";
  return text;
}

TEST(Files, TextBoundsAreCutAtSixteenCharacters) {
  const table::Env env = TestEnv();
  const Target target = PlainTarget("s:string, b:binary, u:uuid");
  const auto file = WriteOne(
      env, target,
      {{"s", FromJson(arrow::utf8(), "[\"" + Alphas(17) + "\", \"b\"]")},
       {"b", FromJson(arrow::binary(), R"(["0123456789abcdefg", "0"])")},
       {"u", FromJson(arrow::utf8(), R"(["00000000-0000-4000-8000-000000000001", null])")}});
  EXPECT_EQ(file.lower_bounds.at(1), "b");
  EXPECT_EQ(file.upper_bounds.at(1), Alphas(15) + "\u03b2");
  EXPECT_EQ(file.upper_bounds.at(2), "0123456789abcdeg");
  EXPECT_EQ(file.lower_bounds.at(3), file.upper_bounds.at(3));
  EXPECT_EQ(file.lower_bounds.at(3).size(), 16u);
}

TEST(Files, NestedLeaves) {
  const table::Env env = TestEnv();
  Target target = PlainTarget("x:int");
  const auto type = arrow::struct_(
      {arrow::field("a", arrow::int64()), arrow::field("l", arrow::list(arrow::float32()))});
  target.schema = Unwrapped(iceberg::FromArrow(arrow::Schema({arrow::field("s", type)})));
  const auto file =
      WriteOne(env, target,
               {{"s", FromJson(type, R"([{"a": 5, "l": [1, 2]}, null, {"a": null, "l": []}])")}});
  const auto& fields = target.schema.fields[0].type.fields;
  const int a = fields[0].id, element = fields[1].type.fields[0].id;
  EXPECT_EQ(file.value_counts.at(a), 3);
  EXPECT_EQ(file.null_value_counts.at(a), 2);
  EXPECT_EQ(file.lower_bounds.at(a), Bytes({5, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(file.value_counts.at(element), 4);
  EXPECT_EQ(file.lower_bounds.count(element), 0u);
  EXPECT_GT(file.column_sizes.at(element), 0);
}

TEST(Files, SizesOffsetsAndFooter) {
  const table::Env env = TestEnv();
  Target target = TargetOf({});
  target.settings.row_group_rows = 1000;
  target.settings.data_page_rows = 100;
  std::string times = "[", devices = "[", values = "[";
  for (int i = 0; i < 3000; ++i) {
    times += fmt::format("{}{}", i ? "," : "", i);
    devices += fmt::format("{}\"d{}\"", i ? "," : "", i % 7);
    values += fmt::format("{}{}", i ? "," : "", i % 5);
  }
  const auto file = WriteOne(env, target,
                             {{"time", FromJson(Micros(), times + "]")},
                              {"device", FromJson(arrow::utf8(), devices + "]")},
                              {"v", FromJson(arrow::float64(), values + "]")}});
  const auto reader =
      OpenParquet(env, "wh/ns/t" + file.file_path.substr(target.location_uri.size()));
  const auto metadata = reader->parquet_reader()->metadata();
  EXPECT_EQ(metadata->num_row_groups(), 3);
  EXPECT_EQ(file.record_count, 3000);
  EXPECT_EQ(file.file_size_in_bytes,
            Unwrapped(Unwrapped(env.store->OpenRead(
                                    "wh/ns/t" + file.file_path.substr(target.location_uri.size())))
                          ->GetSize()));
  EXPECT_EQ(metadata->created_by(), "timelake 0.1.0");
  EXPECT_EQ(metadata->key_value_metadata(), nullptr);  // no ARROW:schema
  ASSERT_EQ(file.split_offsets.size(), 3u);
  EXPECT_EQ(file.split_offsets[0], 4);
  const auto group = metadata->RowGroup(1);
  ASSERT_EQ(group->sorting_columns().size(), 2u);
  EXPECT_EQ(group->sorting_columns()[0].column_idx, 1);
  EXPECT_EQ(group->sorting_columns()[1].column_idx, 0);
  EXPECT_TRUE(group->sorting_columns()[0].nulls_first);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(metadata->schema()->Column(i)->schema_node()->field_id(), i + 1);
    EXPECT_EQ(group->ColumnChunk(i)->compression(), parquet::Compression::ZSTD);
    auto index = reader->parquet_reader()->GetPageIndexReader()->RowGroup(1)->GetOffsetIndex(i);
    ASSERT_NE(index, nullptr);
    ASSERT_EQ(index->page_locations().size(), 10u);
    EXPECT_EQ(index->page_locations()[3].first_row_index, 300);
    // O25: the data page offset points at the first data page.
    EXPECT_EQ(index->page_locations()[0].offset, group->ColumnChunk(i)->data_page_offset());
  }
  EXPECT_FALSE(group->ColumnChunk(0)->has_dictionary_page());
  EXPECT_TRUE(group->ColumnChunk(1)->has_dictionary_page());
  EXPECT_TRUE(group->ColumnChunk(2)->has_dictionary_page());
}

// The one encoding of a column's values besides the RLE of levels.
std::vector<parquet::Encoding::type> EncodingsOf(const table::Env& env, const Target& target,
                                                 const std::string& name,
                                                 std::shared_ptr<arrow::Array> array) {
  const auto file = WriteOne(env, target, {{name, std::move(array)}});
  const auto reader =
      OpenParquet(env, "wh/ns/t" + file.file_path.substr(target.location_uri.size()));
  const auto encodings =
      reader->parquet_reader()->metadata()->RowGroup(0)->ColumnChunk(0)->encodings();
  return encodings;
}

template <typename Builder, typename Fn>
std::shared_ptr<arrow::Array> Generate(int rows, Fn&& value) {
  Builder builder;
  for (int i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(value(i)).ok());
  return Unwrapped(builder.Finish());
}

TEST(Files, EncodingsFollowTheValues) {
  using parquet::Encoding;
  using testing::Contains;
  using testing::Not;
  const table::Env env = TestEnv();
  const auto random = SeededRandom(3);
  const auto repeated = [](int i) { return (i * 7919 % 100) / 8.0; };
  const auto noise = [&](int) { return static_cast<double>(random->Next64()) / 1e3; };
  Target doubles = PlainTarget("v:double");
  EXPECT_THAT(EncodingsOf(env, doubles, "v", Generate<arrow::DoubleBuilder>(20000, repeated)),
              Contains(Encoding::RLE_DICTIONARY));
  EXPECT_THAT(EncodingsOf(env, doubles, "v", Generate<arrow::DoubleBuilder>(20000, noise)),
              testing::AllOf(Contains(Encoding::BYTE_STREAM_SPLIT),
                             Not(Contains(Encoding::RLE_DICTIONARY))));
  doubles.settings.float_encoding = "byte-stream-split";
  EXPECT_THAT(EncodingsOf(env, doubles, "v", Generate<arrow::DoubleBuilder>(20000, repeated)),
              Contains(Encoding::BYTE_STREAM_SPLIT));
  doubles.settings.float_encoding = "dictionary";
  EXPECT_THAT(EncodingsOf(env, doubles, "v", Generate<arrow::DoubleBuilder>(20000, noise)),
              Contains(Encoding::RLE_DICTIONARY));
  const Target longs = PlainTarget("v:long");
  EXPECT_THAT(EncodingsOf(env, longs, "v",
                          Generate<arrow::Int64Builder>(20000, [](int i) { return i * 1000L; })),
              Contains(Encoding::DELTA_BINARY_PACKED));
  EXPECT_THAT(EncodingsOf(env, longs, "v",
                          Generate<arrow::Int64Builder>(
                              20000, [](int i) { return i * 7919L % 50 * 1'000'000'007; })),
              Contains(Encoding::RLE_DICTIONARY));
  const Target strings = PlainTarget("v:string");
  EXPECT_THAT(EncodingsOf(env, strings, "v",
                          Generate<arrow::StringBuilder>(
                              20000, [](int i) { return fmt::format("host_{}", i % 300); })),
              Contains(Encoding::RLE_DICTIONARY));
  EXPECT_THAT(EncodingsOf(env, strings, "v",
                          Generate<arrow::StringBuilder>(
                              20000, [](int i) { return fmt::format("message {}", i); })),
              Not(Contains(Encoding::RLE_DICTIONARY)));
}

// CASES O25: a dictionary that outgrows its limit, extremes in delta packing.
TEST(Files, ReadBackEqual) {
  const table::Env env = TestEnv();
  Target target = PlainTarget("a:long, b:int, c:double, d:string, e:string");
  target.settings.data_page_rows = 64;
  const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN};
  const int32_t small[] = {INT32_MIN, INT32_MAX, 0};
  const auto random = SeededRandom(5);
  arrow::DoubleBuilder c;
  for (int i = 0; i < 60000; ++i) {
    ASSERT_TRUE(
        (i % 10 == 0 ? c.AppendNull() : c.Append(static_cast<double>(random->Next64()))).ok());
  }
  // Few rows repeat, so a dictionary is begun; it passes 1 MiB well before the end.
  const auto d = Generate<arrow::StringBuilder>(
      60000, [](int i) { return std::string(40, 'x') + std::to_string(i / 2); });
  arrow::StringBuilder e;
  for (int i = 0; i < 60000; ++i) {
    // Six pages of nulls; of a column that seldom changes they have four times the usual rows.
    ASSERT_TRUE((i < 6 * 4 * 64 ? e.AppendNull() : e.Append("v")).ok());
  }
  const auto batch =
      BatchOf({{"a", Generate<arrow::Int64Builder>(60000, [&](int i) { return extremes[i % 6]; })},
               {"b", Generate<arrow::Int32Builder>(60000, [&](int i) { return small[i % 3]; })},
               {"c", Unwrapped(c.Finish())},
               {"d", d},
               {"e", Unwrapped(e.Finish())}});
  const Written written = Unwrapped(WriteBatches(env, target, {batch}));
  const auto table = ReadAll(env, written);
  for (int i = 0; i < batch->num_columns(); ++i) {
    EXPECT_TRUE(table->column(i)->Equals(arrow::ChunkedArray(batch->column(i)))) << i;
  }
  auto index = OpenParquet(env, written.keys[0])
                   ->parquet_reader()
                   ->GetPageIndexReader()
                   ->RowGroup(0)
                   ->GetColumnIndex(4);
  ASSERT_NE(index, nullptr);
  for (size_t page = 0; page < 6; ++page) {
    EXPECT_TRUE(index->null_pages()[page]);
    EXPECT_EQ(index->encoded_min_values()[page], "");
  }
  EXPECT_FALSE(index->null_pages()[6]);
}

TEST(Files, EveryTypeIsReadBack) {
  const table::Env env = TestEnv();
  const Target target = PlainTarget(
      "b:boolean, i:int, l:long, f:float, d:double, x:decimal(9,2), y:decimal(18,3), "
      "z:decimal(38,10), a:date, t:time, s:timestamp, u:timestamptz, g:string, h:uuid, "
      "k:fixed[3], m:binary");
  const char* const json[] = {"[true, null]",
                              "[-1, null]",
                              "[-1, null]",
                              "[-0.5, null]",
                              "[1.5, null]",
                              R"(["-1.28", null])",
                              R"(["-1.280", null])",
                              R"(["-12345678901234567890.0000000001", null])",
                              "[-1, null]",
                              "[86399999999, null]",
                              "[-1, null]",
                              "[-1, null]",
                              R"(["\u00fc\ud83d\ude00", null])",
                              R"(["0123456789abcdef", null])",
                              R"(["abc", null])",
                              R"(["", null])"};
  std::vector<Column> columns;
  for (size_t i = 0; i < target.schema.fields.size(); ++i) {
    const auto& field = target.schema.fields[i];
    auto type = field.name == "h" ? arrow::fixed_size_binary(16) : iceberg::ToArrow(field.type);
    columns.push_back({field.name, FromJson(type, json[i])});
  }
  const auto batch = BatchOf(columns);
  const Written written = Unwrapped(WriteBatches(env, target, {batch, batch->Slice(1)}));
  const auto table = ReadAll(env, written);
  ASSERT_EQ(table->num_rows(), 3);
  const auto metadata = OpenParquet(env, written.keys[0])->parquet_reader()->metadata();
  const auto* schema = metadata->schema();
  EXPECT_EQ(schema->Column(5)->physical_type(), parquet::Type::INT32);
  EXPECT_EQ(schema->Column(6)->physical_type(), parquet::Type::INT64);
  EXPECT_EQ(schema->Column(7)->physical_type(), parquet::Type::FIXED_LEN_BYTE_ARRAY);
  EXPECT_TRUE(schema->Column(13)->logical_type()->is_UUID());
  for (int i = 0; i < batch->num_columns(); ++i) {
    const auto read = table->column(i)->chunk(0);
    const auto storage = read->type_id() == arrow::Type::EXTENSION
                             ? static_cast<const arrow::ExtensionArray&>(*read).storage()
                             : read;
    EXPECT_TRUE(storage->Slice(0, 2)->Equals(*batch->column(i))) << storage->ToString();
  }
  const auto utc = std::static_pointer_cast<const parquet::TimestampLogicalType>(
      schema->Column(11)->logical_type());
  EXPECT_TRUE(utc->is_adjusted_to_utc());
  EXPECT_EQ(utc->time_unit(), parquet::LogicalType::TimeUnit::MICROS);
  EXPECT_FALSE(std::static_pointer_cast<const parquet::TimestampLogicalType>(
                   schema->Column(10)->logical_type())
                   ->is_adjusted_to_utc());
}

TEST(Files, AllCodecs) {
  for (const char* codec : {"zstd", "lz4", "snappy", "gzip", "brotli", "uncompressed"}) {
    SCOPED_TRACE(codec);
    const table::Env env = TestEnv();
    Target target = PlainTarget("v:long");
    target.settings =
        Unwrapped(table::ResolveSettings({{"write.parquet.compression-codec", codec}}));
    const auto batch = BatchOf({{"v", FromJson(arrow::int64(), "[1, 2, 3]")}});
    const Written written = Unwrapped(WriteBatches(env, target, {batch}));
    EXPECT_EQ(ReadAll(env, written)->num_rows(), 3);
  }
}

TEST(Files, RollOverNearTheTargetSize) {
  const table::Env env = TestEnv();
  Target target = TargetOf({});
  target.settings.target_file_size_bytes = 1 << 20;
  const auto random = SeededRandom(9);
  const int rows = 400'000;
  const auto batch = BatchOf(
      {{"time", std::make_shared<arrow::TimestampArray>(
                    Micros(), rows,
                    Generate<arrow::Int64Builder>(rows, [](int i) { return i / 50 * 1000L; })
                        ->data()
                        ->buffers[1])},
       {"device", Generate<arrow::StringBuilder>(
                      rows, [](int i) { return fmt::format("device {}", i % 50); })},
       {"v", Generate<arrow::DoubleBuilder>(
                 rows, [&](int) { return static_cast<double>(random->Next64()); })}});
  const Written written = Unwrapped(WriteBatches(env, target, {batch}));
  EXPECT_EQ(written.rows, rows);
  ASSERT_GT(written.files.size(), 2u);
  for (const auto& file : written.files) {
    EXPECT_LT(file.file_size_in_bytes, 3 << 19);
    EXPECT_GT(file.file_size_in_bytes, 1 << 16);
    EXPECT_EQ(file.partition, std::vector<Value>{int32_t{0}});
  }
}

}  // namespace
}  // namespace timelake::write
