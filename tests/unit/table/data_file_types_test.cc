#include <gtest/gtest.h>
#include <parquet/api/writer.h>

#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

using arrow::TimeUnit;

const auto kMicros = arrow::timestamp(TimeUnit::MICRO);
const auto kMicrosUtc = arrow::timestamp(TimeUnit::MICRO, "UTC");

TEST(DataFileTypes, Promotions) {
  ExpectColumn(WriteAndRead(arrow::int32(), "[1, null, -2147483648]", "long"), arrow::int64(),
               "[1, null, -2147483648]");
  ExpectColumn(WriteAndRead(arrow::float32(), "[1.5, null, NaN]", "double"), arrow::float64(),
               "[1.5, null, NaN]");
  ExpectColumn(WriteAndRead(arrow::decimal128(9, 2), R"(["1.28", null, "-0.01"])", "decimal(18,2)"),
               arrow::decimal128(18, 2), R"(["1.28", null, "-0.01"])");
  ExpectColumn(WriteAndRead(arrow::decimal128(18, 2), R"(["1.28"])", "decimal(38,2)"),
               arrow::decimal128(38, 2), R"(["1.28"])");
}

TEST(DataFileTypes, WhatIsNoPromotionIsRefused) {
  const std::vector<std::string> column = {"b/x.parquet", "'x'"};
  ExpectError(WriteAndRead(arrow::int64(), "[1]", "int").status(), ErrorKind::kCorrupt, column);
  ExpectError(WriteAndRead(arrow::float64(), "[1]", "float").status(), ErrorKind::kCorrupt, column);
  ExpectError(WriteAndRead(arrow::decimal128(9, 3), R"(["1.000"])", "decimal(9,2)").status(),
              ErrorKind::kCorrupt, column);
  ExpectError(WriteAndRead(arrow::utf8(), R"(["1"])", "int").status(), ErrorKind::kCorrupt, column);
  ExpectError(WriteAndRead(arrow::int32(), "[1]", "string").status(), ErrorKind::kCorrupt, column);
  ExpectError(WriteAndRead(arrow::fixed_size_binary(3), R"(["abc"])", "uuid").status(),
              ErrorKind::kCorrupt, column);
  ExpectError(WriteAndRead(arrow::boolean(), "[true]", "date").status(), ErrorKind::kCorrupt,
              column);
}

TEST(DataFileTypes, NarrowAndUnsignedIntegers) {
  ExpectColumn(WriteAndRead(arrow::int8(), "[-128, null]", "int"), arrow::int32(), "[-128, null]");
  ExpectColumn(WriteAndRead(arrow::uint16(), "[65535]", "int"), arrow::int32(), "[65535]");
  ExpectColumn(WriteAndRead(arrow::uint32(), "[4294967295]", "long"), arrow::int64(),
               "[4294967295]");
  ExpectColumn(WriteAndRead(arrow::uint64(), "[5]", "long"), arrow::int64(), "[5]");
  ExpectError(WriteAndRead(arrow::uint64(), "[18446744073709551615]", "long").status(),
              ErrorKind::kCorrupt, {"b/x.parquet", "'x'"});
  ExpectError(WriteAndRead(arrow::uint32(), "[4294967295]", "int").status(), ErrorKind::kCorrupt,
              {"b/x.parquet", "'x'"});
}

TEST(DataFileTypes, HalfFloats) {
  const auto half = WriteAndRead(arrow::float16(), "[1.5, null]", "float");
  ExpectColumn(half, arrow::float32(), "[1.5, null]");
}

TEST(DataFileTypes, TimestampUnits) {
  ExpectColumn(WriteAndRead(arrow::timestamp(TimeUnit::MILLI), "[-1, null, 5]", "timestamp"),
               kMicros, "[-1000, null, 5000]");
  ExpectColumn(
      WriteAndRead(arrow::timestamp(TimeUnit::NANO, "UTC"), "[-1000, null, 5000]", "timestamptz"),
      kMicrosUtc, "[-1, null, 5]");
  ExpectError(WriteAndRead(arrow::timestamp(TimeUnit::NANO), "[null, 1001]", "timestamp").status(),
              ErrorKind::kUnsupported, {"b/x.parquet", "'x'", "1001 ns"});
  ExpectError(WriteAndRead(arrow::timestamp(TimeUnit::MILLI), "[9223372036854775807]", "timestamp")
                  .status(),
              ErrorKind::kCorrupt, {"'x'", "does not fit"});
}

TEST(DataFileTypes, TheZoneIsTheTables) {
  ExpectColumn(
      WriteAndRead(arrow::timestamp(TimeUnit::MICRO, "Europe/Berlin"), "[7]", "timestamptz"),
      kMicrosUtc, "[7]");
  ExpectColumn(WriteAndRead(kMicros, "[7]", "timestamptz"), kMicrosUtc, "[7]");
  ExpectColumn(WriteAndRead(kMicrosUtc, "[7]", "timestamp"), kMicros, "[7]");
}

// apache/arrow 41562: an Arrow schema in seconds over storage in milliseconds. Also: types of the
// stored Arrow schema that would change what Arrow's reader produces.
TEST(DataFileTypes, TheStoredArrowSchemaIsIgnored) {
  FileOptions options;
  options.arrow = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ExpectColumn(WriteAndRead(arrow::timestamp(TimeUnit::SECOND), "[-1, 5]", "timestamp", options),
               kMicros, "[-1000000, 5000000]");
  ExpectColumn(WriteAndRead(arrow::large_utf8(), R"(["a", null])", "string", options),
               arrow::utf8(), R"(["a", null])");
  ExpectColumn(WriteAndRead(arrow::utf8_view(), R"(["a", null])", "string", options), arrow::utf8(),
               R"(["a", null])");
  ExpectColumn(WriteAndRead(arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["a", "b", "a"])",
                            "string", options),
               arrow::utf8(), R"(["a", "b", "a"])");
  ExpectColumn(WriteAndRead(arrow::duration(TimeUnit::MICRO), "[5]", "long", options),
               arrow::int64(), "[5]");
  ExpectColumn(WriteAndRead(arrow::date64(), "[86400000]", "date", options), arrow::date32(),
               "[1]");
}

TEST(DataFileTypes, Int96) {
  FileOptions options;
  options.arrow =
      parquet::ArrowWriterProperties::Builder().enable_deprecated_int96_timestamps()->build();
  // Year 9999: beyond what 64-bit nanoseconds hold.
  ExpectColumn(WriteAndRead(kMicros, "[-1, null, 253402300799999999]", "timestamptz", options),
               kMicrosUtc, "[-1, null, 253402300799999999]");
  ExpectError(
      WriteAndRead(arrow::timestamp(TimeUnit::NANO), "[1000, 1001]", "timestamp", options).status(),
      ErrorKind::kUnsupported, {"b/x.parquet", "'x'", "nanoseconds"});
}

TEST(DataFileTypes, TimesAndDates) {
  ExpectColumn(WriteAndRead(arrow::time32(TimeUnit::MILLI), "[5, null]", "time"),
               arrow::time64(TimeUnit::MICRO), "[5000, null]");
  ExpectColumn(WriteAndRead(arrow::time64(TimeUnit::NANO), "[5000, null]", "time"),
               arrow::time64(TimeUnit::MICRO), "[5, null]");
  ExpectError(WriteAndRead(arrow::time64(TimeUnit::NANO), "[5001]", "time").status(),
              ErrorKind::kUnsupported, {"'x'"});
  ExpectColumn(WriteAndRead(arrow::int32(), "[-1, null]", "date"), arrow::date32(), "[-1, null]");
}

TEST(DataFileTypes, TextAndBytes) {
  ExpectColumn(WriteAndRead(arrow::binary(), R"(["a", null])", "string"), arrow::utf8(),
               R"(["a", null])");
  ExpectColumn(WriteAndRead(arrow::utf8(), R"(["a", null])", "binary"), arrow::binary(),
               R"(["a", null])");
  ExpectColumn(WriteAndRead(arrow::fixed_size_binary(2), R"(["ab", null])", "fixed[2]"),
               arrow::fixed_size_binary(2), R"(["ab", null])");
}

TEST(DataFileTypes, TextThatIsNotUtf8) {
  arrow::BinaryBuilder builder;
  ASSERT_TRUE(builder.AppendValues({"ok", "\xC3("}).ok());
  auto bytes = builder.Finish().ValueOrDie();
  auto text_data = bytes->data()->Copy();
  text_data->type = arrow::utf8();
  const Env env = MemoryEnv();
  for (const auto& array : {bytes, arrow::MakeArray(text_data)}) {
    const std::string uri =
        PutFile(env, "b/" + array->type()->name(), {ArrowColumn("x", array->type(), 1)}, {array});
    ExpectError(ReadColumn(env, uri, TableColumn(1, "x", "string")).status(), ErrorKind::kCorrupt,
                {uri, "'x'"});
  }
}

TEST(DataFileTypes, UuidsWithAndWithoutAnnotation) {
  const auto uuid = iceberg::ToArrow(iceberg::ParseType("uuid").ValueOrDie());
  const auto plain =
      WriteAndRead(arrow::fixed_size_binary(16), R"(["0123456789abcdef", null])", "uuid");
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_TRUE((*plain)->type()->Equals(*uuid));
  const Env env = MemoryEnv();
  const std::string uri = PutFile(env, "b/u.parquet", {ArrowColumn("x", uuid, 1)}, {*plain});
  const auto annotated = ReadColumn(env, uri, TableColumn(1, "x", "uuid"));
  ASSERT_TRUE(annotated.ok()) << annotated.status().ToString();
  EXPECT_TRUE((*annotated)->Equals(**plain));
}

TEST(DataFileTypes, DecimalsStoredAsIntegersAndFixedBytes) {
  FileOptions integers;
  integers.parquet =
      parquet::WriterProperties::Builder().enable_store_decimal_as_integer()->build();
  const std::string values = R"(["-1.28", null, "327.68"])";
  for (int precision : {9, 18, 38}) {
    for (const FileOptions& options : {integers, FileOptions()}) {
      const auto type = arrow::decimal128(precision, 2);
      ExpectColumn(WriteAndRead(type, values,
                                iceberg::TypeName(iceberg::Type{.id = iceberg::TypeId::kDecimal,
                                                                .precision = precision,
                                                                .scale = 2,
                                                                .length = 0,
                                                                .fields = {},
                                                                .unknown = {}}),
                                options),
                   type, values);
    }
  }
}

// Not written by Arrow: a decimal in variable-length bytes.
TEST(DataFileTypes, DecimalsStoredAsVariableBytes) {
  using parquet::schema::GroupNode;
  using parquet::schema::PrimitiveNode;
  auto root = GroupNode::Make(
      "schema", parquet::Repetition::REQUIRED,
      {PrimitiveNode::Make("x", parquet::Repetition::REQUIRED, parquet::LogicalType::Decimal(9, 2),
                           parquet::Type::BYTE_ARRAY, -1, 1)});
  auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto writer = parquet::ParquetFileWriter::Open(sink, std::static_pointer_cast<GroupNode>(root));
  auto* column = static_cast<parquet::ByteArrayWriter*>(writer->AppendRowGroup()->NextColumn());
  const std::string low = "\x80", high("\x00\x80", 2);
  const parquet::ByteArray values[] = {parquet::ByteArray(low), parquet::ByteArray(high)};
  column->WriteBatch(2, nullptr, nullptr, values);
  writer->Close();
  const Env env = MemoryEnv();
  const std::string uri = PutBytes(env, "b/d.parquet", sink->Finish().ValueOrDie());
  ExpectColumn(ReadColumn(env, uri, TableColumn(1, "x", "decimal(9,2)")), arrow::decimal128(9, 2),
               R"(["-1.28", "1.28"])");
}

TEST(DataFileTypes, AColumnOfNothingButNulls) {
  ExpectColumn(WriteAndRead(arrow::null(), "[null, null]", "string"), arrow::utf8(),
               "[null, null]");
}

}  // namespace
}  // namespace timelake::table
