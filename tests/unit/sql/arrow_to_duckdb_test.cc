// Arrow columns of all types are turned into vectors here and back by DuckDB's own exporter: what
// comes back must equal what went in.

#include "sql/arrow_to_duckdb.h"

#include <cmath>
#include <limits>
#include <random>

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>
#include <duckdb/common/arrow/arrow_converter.hpp>
#include <duckdb/common/arrow/arrow_type_extension.hpp>
#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>

#include "iceberg/arrow_schema.h"
#include "sql/types.h"

namespace timelake::sql {
namespace {

auto ArrayFromJSON(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json);
}

class ArrowToDuckDb : public ::testing::Test {
 protected:
  ArrowToDuckDb() : database_(nullptr), connection_(database_) {
    chunk_.Initialize(duckdb::Allocator::DefaultAllocator(), {});
  }

  // Rows [row, row + count) through a vector of `type` and back.
  std::shared_ptr<arrow::Array> RoundTrip(const std::shared_ptr<arrow::Array>& array,
                                          const duckdb::LogicalType& type, int64_t row,
                                          int64_t count) {
    duckdb::DataChunk chunk;
    chunk.Initialize(duckdb::Allocator::DefaultAllocator(), {type});
    column_.Convert(array->data(), row, static_cast<duckdb::idx_t>(count), chunk.data[0]);
    chunk.SetCardinality(static_cast<duckdb::idx_t>(count));
    chunk.Verify();
    auto options = connection_.context->GetClientProperties();
    options.time_zone = "UTC";
    ArrowSchema schema;
    ArrowArray exported;
    duckdb::ArrowConverter::ToArrowSchema(&schema, {type}, {"c"}, options);
    duckdb::ArrowConverter::ToArrowArray(
        chunk, &exported, options,
        duckdb::ArrowTypeExtensionData::GetExtensionTypes(*connection_.context, {type}));
    const auto batch = arrow::ImportRecordBatch(&exported, &schema).ValueOrDie();
    EXPECT_TRUE(batch->ValidateFull().ok());
    return batch->column(0);
  }

  // The whole array and odd slices of it; `expected` is what the exporter gives, if another type.
  void Check(const std::shared_ptr<arrow::Array>& array, const duckdb::LogicalType& type,
             std::shared_ptr<arrow::Array> expected = nullptr) {
    if (!expected) expected = array;
    const int64_t length = array->length();
    for (const auto& [row, count] : std::vector<std::pair<int64_t, int64_t>>{
             {0, length}, {1, length - 1}, {length / 2, length - length / 2}, {length / 3, 1}}) {
      const auto back = RoundTrip(array, type, row, count);
      const auto wanted = expected->Slice(row, count);
      EXPECT_TRUE(back->Equals(*wanted, arrow::EqualOptions::Defaults().nans_equal(true)))
          << type.ToString() << "\n"
          << back->ToString() << "\ninstead of\n"
          << wanted->ToString();
      // A slice as Arrow makes it, with an offset of its own.
      const auto sliced = RoundTrip(array->Slice(row), type, 0, count);
      EXPECT_TRUE(sliced->Equals(*wanted, arrow::EqualOptions::Defaults().nans_equal(true)));
    }
  }

  void CheckJson(const std::shared_ptr<arrow::DataType>& type, const duckdb::LogicalType& logical,
                 const std::string& json) {
    Check(ArrayFromJSON(type, json).ValueOrDie(), logical);
  }

  duckdb::DuckDB database_;
  duckdb::Connection connection_;
  duckdb::DataChunk chunk_;
  ArrowColumn column_;
};

TEST_F(ArrowToDuckDb, Numbers) {
  CheckJson(arrow::boolean(), duckdb::LogicalType::BOOLEAN,
            "[true, null, false, true, true, null, false]");
  CheckJson(arrow::int32(), duckdb::LogicalType::INTEGER, "[1, -2147483648, null, 2147483647]");
  CheckJson(arrow::int64(), duckdb::LogicalType::BIGINT,
            "[-9223372036854775808, null, 9223372036854775807, 0, 9007199254740993]");
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  arrow::DoubleBuilder doubles;
  arrow::FloatBuilder floats;
  for (const double value : {0.0, -0.0, 1.5, inf, -inf, nan, 5e-324}) {
    ASSERT_TRUE(doubles.Append(value).ok());
    ASSERT_TRUE(floats.Append(static_cast<float>(value)).ok());
  }
  ASSERT_TRUE(doubles.AppendNull().ok());
  ASSERT_TRUE(floats.AppendNull().ok());
  const auto array = *doubles.Finish();
  Check(array, duckdb::LogicalType::DOUBLE);
  Check(*floats.Finish(), duckdb::LogicalType::FLOAT);
  const auto back = RoundTrip(array, duckdb::LogicalType::DOUBLE, 0, 7);
  EXPECT_TRUE(std::signbit(std::static_pointer_cast<arrow::DoubleArray>(back)->Value(1)));
}

TEST_F(ArrowToDuckDb, Decimals) {
  for (const auto& [precision, scale] :
       std::vector<std::pair<int, int>>{{4, 2}, {9, 2}, {18, 6}, {38, 10}, {5, 0}}) {
    const auto type = arrow::decimal128(precision, scale);
    const auto logical = duckdb::LogicalType::DECIMAL(precision, scale);
    arrow::Decimal128Builder builder(type);
    const arrow::Decimal128 most = arrow::Decimal128::GetMaxValue(precision);
    const arrow::Decimal128 least(-most);
    for (const auto& value : {arrow::Decimal128(0), arrow::Decimal128(-1), most, least}) {
      ASSERT_TRUE(builder.Append(value).ok());
    }
    ASSERT_TRUE(builder.AppendNull().ok());
    Check(*builder.Finish(), logical);
  }
}

TEST_F(ArrowToDuckDb, Times) {
  CheckJson(arrow::date32(), duckdb::LogicalType::DATE, "[0, -1, null, 20000, 2932896, -719162]");
  CheckJson(arrow::time64(arrow::TimeUnit::MICRO), duckdb::LogicalType::TIME,
            "[0, null, 86399999999]");
  CheckJson(arrow::timestamp(arrow::TimeUnit::MICRO), duckdb::LogicalType::TIMESTAMP,
            "[0, -1, null, 253402300799999999]");
  CheckJson(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), duckdb::LogicalType::TIMESTAMP_TZ,
            "[0, -1, null, 253402300799999999, -62135596800000000]");
}

TEST_F(ArrowToDuckDb, StringsAndBytes) {
  const std::string json =
      "[\"\", \"short\", null, \"exactly 12 b\", \"this one is longer than twelve bytes\", "
      "\"\xc3\xa4\xf0\x9f\x98\x80\"]";
  CheckJson(arrow::utf8(), duckdb::LogicalType::VARCHAR, json);
  CheckJson(arrow::binary(), duckdb::LogicalType::BLOB, json);
  Check(ArrayFromJSON(arrow::large_utf8(), json).ValueOrDie(), duckdb::LogicalType::VARCHAR,
        ArrayFromJSON(arrow::utf8(), json).ValueOrDie());
  const std::string fixed = "[\"abcd\", null, \"efgh\", \"ijkl\"]";
  Check(ArrayFromJSON(arrow::fixed_size_binary(4), fixed).ValueOrDie(), duckdb::LogicalType::BLOB,
        ArrayFromJSON(arrow::binary(), fixed).ValueOrDie());
}

TEST_F(ArrowToDuckDb, UuidsKeepTheirTextAndOrder) {
  arrow::FixedSizeBinaryBuilder builder(arrow::fixed_size_binary(16));
  const std::string low("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16);
  const std::string high("\xff\xee\xdd\xcc\xbb\xaa\x99\x88\x77\x66\x55\x44\x33\x22\x11\x00", 16);
  ASSERT_TRUE(builder.Append(low).ok());
  ASSERT_TRUE(builder.AppendNull().ok());
  ASSERT_TRUE(builder.Append(high).ok());
  Check(*builder.Finish(), duckdb::LogicalType::UUID,
        ArrayFromJSON(arrow::utf8(),
                      "[\"00112233-4455-6677-8899-aabbccddeeff\", null, "
                      "\"ffeeddcc-bbaa-9988-7766-554433221100\"]")
            .ValueOrDie());
}

TEST_F(ArrowToDuckDb, NestedTypes) {
  const auto list = duckdb::LogicalType::LIST(duckdb::LogicalType::INTEGER);
  CheckJson(arrow::list(arrow::field("l", arrow::int32())), list,
            "[[1, 2], null, [], [null, 4], [5]]");
  CheckJson(arrow::list(arrow::field("l", arrow::utf8())),
            duckdb::LogicalType::LIST(duckdb::LogicalType::VARCHAR),
            "[[\"a string that is long enough\", null], [], null, [\"x\"]]");
  const duckdb::LogicalType members = duckdb::LogicalType::STRUCT(
      {{"a", duckdb::LogicalType::BIGINT}, {"b", duckdb::LogicalType::VARCHAR}});
  const auto fields =
      arrow::struct_({arrow::field("a", arrow::int64()), arrow::field("b", arrow::utf8())});
  CheckJson(
      fields, members,
      "[{\"a\": 1, \"b\": \"a string that is long enough\"}, null, {\"a\": null, \"b\": null}]");
  CheckJson(arrow::list(arrow::field("l", fields)), duckdb::LogicalType::LIST(members),
            "[[{\"a\": 1, \"b\": \"x\"}, null], [], null, [{\"a\": 2, \"b\": null}]]");
  CheckJson(arrow::list(arrow::field("l", arrow::list(arrow::field("l", arrow::int32())))),
            duckdb::LogicalType::LIST(list), "[[[1], []], null, [null, [2, 3]]]");
  const auto map =
      duckdb::LogicalType::MAP(duckdb::LogicalType::VARCHAR, duckdb::LogicalType::DOUBLE);
  CheckJson(arrow::map(arrow::utf8(), arrow::field("value", arrow::float64())), map,
            "[[[\"k\", 1.5], [\"l\", null]], null, []]");
}

TEST_F(ArrowToDuckDb, ListsLongerThanAVector) {
  arrow::ListBuilder builder(arrow::default_memory_pool(), std::make_shared<arrow::Int64Builder>(),
                             arrow::list(arrow::field("l", arrow::int64())));
  auto& values = static_cast<arrow::Int64Builder&>(*builder.value_builder());
  for (int64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(builder.Append().ok());
    for (int64_t j = 0; j < 1000 * i; ++j) {
      ASSERT_TRUE((j % 7 ? values.Append(i * j) : values.AppendNull()).ok());
    }
  }
  Check(*builder.Finish(), duckdb::LogicalType::LIST(duckdb::LogicalType::BIGINT));
}

TEST_F(ArrowToDuckDb, Dictionaries) {
  const auto strings =
      ArrayFromJSON(
          arrow::utf8(),
          "[\"b\", null, \"a string longer than twelve\", \"b\", \"b\", null, \"c\", \"c\"]")
          .ValueOrDie();
  for (const auto& index : {arrow::int8(), arrow::int32(), arrow::uint16()}) {
    const auto indices = ArrayFromJSON(index, "[0, null, 1, 0, 0, null, 2, 2]").ValueOrDie();
    const auto values =
        ArrayFromJSON(arrow::utf8(), "[\"b\", \"a string longer than twelve\", \"c\"]")
            .ValueOrDie();
    Check(arrow::DictionaryArray::FromArrays(indices, values).ValueOrDie(),
          duckdb::LogicalType::VARCHAR, strings);
  }
  // More entries than rows: plain strings.
  const auto wide = arrow::DictionaryArray::FromArrays(
      ArrayFromJSON(arrow::int32(), "[3, null, 0]").ValueOrDie(),
      ArrayFromJSON(arrow::utf8(), "[\"a\", \"b\", \"c\", \"d\", \"e\"]").ValueOrDie());
  Check(wide.ValueOrDie(), duckdb::LogicalType::VARCHAR,
        ArrayFromJSON(arrow::utf8(), "[\"d\", null, \"a\"]").ValueOrDie());
}

TEST_F(ArrowToDuckDb, DictionaryVectorsKeepTheirIdentity) {
  const auto array = arrow::DictionaryArray::FromArrays(
                         ArrayFromJSON(arrow::int32(), "[0, 1, 0, null, 1, 1]").ValueOrDie(),
                         ArrayFromJSON(arrow::utf8(), "[\"a\", \"b\"]").ValueOrDie())
                         .ValueOrDie();
  std::string first;
  for (int64_t row : {0, 3}) {
    duckdb::Vector vector(duckdb::LogicalType::VARCHAR);
    column_.Convert(array->data(), row, 3, vector);
    ASSERT_EQ(vector.GetVectorType(), duckdb::VectorType::DICTIONARY_VECTOR);
    const std::string id = duckdb::DictionaryVector::DictionaryId(vector);
    EXPECT_FALSE(id.empty());
    if (first.empty()) first = id;
    EXPECT_EQ(id, first);
  }
}

TEST_F(ArrowToDuckDb, RandomNullBits) {
  std::mt19937_64 random(3);
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE((random() % 3 ? builder.Append(i) : builder.AppendNull()).ok());
  }
  const auto array = *builder.Finish();
  for (int i = 0; i < 200; ++i) {
    const auto row = static_cast<int64_t>(random() % 3000);
    const auto count = static_cast<int64_t>(1 + random() % 2000);
    ASSERT_TRUE(RoundTrip(array, duckdb::LogicalType::BIGINT, row, count)
                    ->Equals(*array->Slice(row, count)));
  }
}

TEST_F(ArrowToDuckDb, WrongTypesAreAnErrorThatLeavesTheDatabaseAlive) {
  duckdb::Vector vector(duckdb::LogicalType::VARCHAR);
  const auto array = ArrayFromJSON(arrow::int32(), "[1]").ValueOrDie();
  EXPECT_THROW(column_.Convert(array->data(), 0, 1, vector), duckdb::Exception);
  EXPECT_FALSE(connection_.Query("SELECT 1")->HasError());
}

TEST(Types, EveryIcebergTypeHasACounterpart) {
  const auto schema = *iceberg::ParseSchemaText(
      "a:boolean, b:int, c:long, d:float, e:double, f:decimal(9,2), g:date, h:time, i:timestamp, "
      "j:timestamptz, k:string, l:uuid, m:fixed[4], n:binary");
  std::string names;
  for (const auto& field : schema.fields) names += ToLogicalType(field.type).ToString() + ";";
  EXPECT_EQ(names,
            "BOOLEAN;INTEGER;BIGINT;FLOAT;DOUBLE;DECIMAL(9,2);DATE;TIME;TIMESTAMP;"
            "TIMESTAMP WITH TIME ZONE;VARCHAR;UUID;BLOB;BLOB;");
}

TEST(Types, ConstantsOnlyIfTheyAreExact) {
  const auto type = [](const char* text) { return *iceberg::ParseType(text); };
  EXPECT_TRUE(ToIcebergValue(duckdb::Value::BIGINT(7), type("int")).has_value());
  EXPECT_FALSE(ToIcebergValue(duckdb::Value::BIGINT(int64_t{1} << 40), type("int")).has_value());
  EXPECT_FALSE(ToIcebergValue(duckdb::Value::DOUBLE(0.1), type("float")).has_value());
  EXPECT_TRUE(ToIcebergValue(duckdb::Value::DOUBLE(0.5), type("float")).has_value());
  EXPECT_FALSE(ToIcebergValue(duckdb::Value::DOUBLE(1.5), type("long")).has_value());
  EXPECT_FALSE(ToIcebergValue(duckdb::Value("1"), type("int")).has_value());
  EXPECT_FALSE(ToIcebergValue(duckdb::Value(), type("int")).has_value());
  const auto decimal =
      ToIcebergValue(duckdb::Value::DECIMAL(int32_t{-125}, 5, 2), type("decimal(5,2)"));
  ASSERT_TRUE(decimal.has_value());
  EXPECT_EQ(std::get<arrow::Decimal128>(*decimal), arrow::Decimal128(-125));
  const auto uuid =
      ToIcebergValue(duckdb::Value::UUID("00112233-4455-6677-8899-aabbccddeeff"), type("uuid"));
  ASSERT_TRUE(uuid.has_value());
  EXPECT_EQ(std::get<std::string>(*uuid),
            std::string("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16));
}

}  // namespace
}  // namespace timelake::sql
