#include <limits>

#include <arrow/extension/uuid.h>
#include <gmock/gmock.h>

#include "unit/write/write_testing.h"
#include "write/align.h"

namespace timelake::write {
namespace {

using testing::HasSubstr;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

// One column `v` of the given type, besides time and device.
Target TargetWith(const std::string& type) {
  TargetSpec spec;
  spec.schema = "time:timestamptz!, device:string, v:" + type;
  return TargetOf(spec);
}

Result<std::shared_ptr<arrow::RecordBatch>> AlignBatch(const Target& target,
                                                       const arrow::RecordBatch& batch,
                                                       WriteOptions options = {}) {
  options.now_us = kNow;
  TL_ASSIGN_OR_RAISE(Aligner aligner, Aligner::Make(target, *batch.schema(), options));
  return aligner.Align(batch);
}

std::shared_ptr<arrow::RecordBatch> BatchWith(const ArrayPtr& v) {
  std::string times = "[", devices = "[";
  for (int64_t i = 0; i < v->length(); ++i) {
    times += std::string(i ? "," : "") + "\"2026-01-01\"";
    devices += std::string(i ? "," : "") + "\"a\"";
  }
  return BatchOf({{"time", FromJson(Micros(), times + "]")},
                  {"device", FromJson(arrow::utf8(), devices + "]")},
                  {"v", v}});
}

TypePtr Stamp(arrow::TimeUnit::type unit, const std::string& zone = "") {
  return arrow::timestamp(unit, zone);
}

ArrayPtr Strings(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return Unwrapped(builder.Finish());
}

ArrayPtr Doubles(const std::vector<double>& values) {
  arrow::DoubleBuilder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return Unwrapped(builder.Finish());
}

struct BadValue {
  std::string column;  // type of the table's column
  ArrayPtr data;
  std::vector<std::string> message;  // all of these, besides table and column
};

std::vector<BadValue> BadNumbers() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {
      {"int", FromJson(arrow::int64(), "[1, 3000000000]"), {"row 2", "3000000000", "int", "range"}},
      {"int", FromJson(arrow::int64(), "[-2147483649]"), {"row 1", "-2147483649"}},
      {"int", FromJson(arrow::uint32(), "[4294967295]"), {"4294967295"}},
      {"long",
       FromJson(arrow::uint64(), "[9223372036854775808]"),
       {"9223372036854775808", "9223372036854775807"}},
      {"int", FromJson(arrow::float64(), "[1, null, 1.5]"), {"row 3", "1.5", "not a whole number"}},
      {"int", Doubles({nan}), {"nan", "not a whole number"}},
      {"long", Doubles({9223372036854775808.0}), {"range"}},
      {"long", Doubles({1e300}), {"1e+300", "range"}},
      {"long", Doubles({std::numeric_limits<double>::infinity()}), {"inf", "range"}},
      {"int", FromJson(arrow::utf8(), R"(["7", "abc"])"), {"row 2", "\"abc\"", "whole number"}},
      {"int", FromJson(arrow::utf8(), R"(["12 "])"), {"\"12 \""}},
      {"int", FromJson(arrow::utf8(), R"([""])"), {"\"\""}},
      {"int", FromJson(arrow::utf8(), R"(["3000000000"])"), {"range"}},
      {"int", FromJson(arrow::boolean(), "[true]"), {"is int", "bool", "whole numbers"}},
      {"int", FromJson(arrow::decimal128(5, 1), R"(["1.5"])"), {"1.5", "whole"}},
      {"long", FromJson(arrow::decimal128(30, 0), R"(["99999999999999999999"])"), {"range"}},
      {"double", FromJson(arrow::int64(), "[9007199254740993]"), {"9007199254740993", "rounded"}},
      {"double", FromJson(arrow::int64(), "[9223372036854775807]"), {"rounded"}},
      {"double", FromJson(arrow::utf8(), R"(["oops"])"), {"\"oops\"", "not a number"}},
      {"double", FromJson(arrow::utf8(), R"(["1e999"])"), {"range"}},
      {"double", FromJson(arrow::decimal128(20, 0), R"(["12345678901234567891"])"), {"rounded"}},
      {"float", Doubles({0.5, 0.1}), {"row 2", "0.1", "rounded", "double"}},
      {"float", Doubles({1e300}), {"rounded"}},
      {"float", FromJson(arrow::int32(), "[16777217]"), {"16777217", "rounded"}},
      {"decimal(4,2)", FromJson(arrow::decimal128(5, 3), R"(["1.005"])"), {"1.005", "digits"}},
      {"decimal(4,2)", FromJson(arrow::decimal128(6, 2), R"(["100.00"])"), {"100.00", "range"}},
      {"decimal(4,2)", FromJson(arrow::int64(), "[100]"), {"100", "range"}},
      {"decimal(4,2)", FromJson(arrow::utf8(), R"(["1.234"])"), {"1.234", "digits"}},
      {"decimal(4,2)", FromJson(arrow::utf8(), R"(["1,5"])"), {"1,5", "not a number"}},
      {"decimal(4,2)", Doubles({nan}), {"not a number"}},
      {"decimal(4,2)", Doubles({1.0 / 3}), {"digits"}},
      {"boolean", FromJson(arrow::utf8(), R"(["yes"])"), {"\"yes\"", "true"}},
      {"boolean", FromJson(arrow::int8(), "[1]"), {"is boolean", "int8"}},
  };
}

std::vector<BadValue> BadTimes() {
  const TypePtr nanos = Stamp(arrow::TimeUnit::NANO, "UTC");
  return {
      // O23: nanoseconds into a microsecond table.
      {"timestamptz", FromJson(nanos, "[1000, -1]"), {"row 2", "precision would be lost"}},
      {"timestamptz", FromJson(nanos, "[-1001]"), {"precision would be lost"}},
      {"timestamptz", FromJson(nanos, "[1593382653123456789]"), {"precision would be lost"}},
      {"timestamp", FromJson(Micros("Europe/Berlin"), "[0]"), {"Europe/Berlin", "without zone"}},
      {"timestamptz", FromJson(Stamp(arrow::TimeUnit::SECOND), "[9223372036855]"), {"range"}},
      {"timestamptz", FromJson(arrow::int64(), "[1700000000]"), {"int64", "timestamps"}},
      {"timestamptz", FromJson(arrow::utf8(), R"(["2026-02-30"])"), {"2026-02-30", "ISO 8601"}},
      {"timestamp", FromJson(arrow::utf8(), R"(["2026-01-01T00:00:00+02:00"])"), {"offset"}},
      {"timestamptz", FromJson(arrow::utf8(), R"(["2026-01-01T00:00:00.1234567"])"), {"finer"}},
      {"date", FromJson(Micros(), R"(["2026-01-01T05:00:00"])"), {"time of day"}},
      {"date", FromJson(arrow::date64(), "[86400001]"), {"time of day"}},
      {"date", FromJson(arrow::int32(), "[1]"), {"int32", "dates"}},
      {"time", FromJson(arrow::time64(arrow::TimeUnit::NANO), "[1]"), {"precision"}},
      {"time", FromJson(arrow::utf8(), R"(["25:00:00"])"), {"25:00:00"}},
      {"time", FromJson(arrow::time32(arrow::TimeUnit::SECOND), "[86400]"), {"range"}},
  };
}

std::vector<BadValue> BadTexts() {
  return {
      {"string", Strings({"ok", "\xff\xfe"}), {"row 2", "not UTF-8", "byte 0"}},
      {"string", Strings({"abc\xc3", "\xa9"}), {"row 1", "not UTF-8", "byte 3"}},
      {"string", FromJson(arrow::int64(), "[1]"), {"is string", "int64", "UTF-8"}},
      {"string", FromJson(arrow::binary(), R"(["x"])"), {"is string", "binary"}},
      {"uuid", FromJson(arrow::utf8(), R"(["not-a-uuid"])"), {"UUID"}},
      {"uuid", FromJson(arrow::binary(), R"(["short"])"), {"5 bytes", "16 bytes"}},
      {"fixed[4]", FromJson(arrow::binary(), R"(["abc"])"), {"3 bytes", "fixed[4]"}},
      {"fixed[4]", FromJson(arrow::fixed_size_binary(3), R"(["abc"])"), {"fixed_size_binary[3]"}},
      {"binary", FromJson(arrow::int64(), "[1]"), {"is binary"}},
  };
}

TEST(Align, RefusesWhatDoesNotFit) {
  size_t cases = 0;
  for (const auto& bad : {BadNumbers(), BadTimes(), BadTexts()}) {
    for (const BadValue& value : bad) {
      SCOPED_TRACE(value.column + " <- " + value.data->ToString());
      const Target target = TargetWith(value.column);
      const auto aligned = AlignBatch(target, *BatchWith(value.data));
      ASSERT_FALSE(aligned.ok());
      EXPECT_EQ(KindOf(aligned.status()), ErrorKind::kInvalidArgument);
      const std::string message = MessageOf(aligned.status());
      EXPECT_THAT(message, HasSubstr("table ns.t, column \"v\""));
      for (const std::string& part : value.message) EXPECT_THAT(message, HasSubstr(part));
      ++cases;
    }
  }
  EXPECT_GE(cases, 40u);
}

struct GoodValue {
  std::string column;
  ArrayPtr data;
  std::string expected;  // JSON of the column's Arrow type
};

std::vector<GoodValue> GoodValues() {
  using arrow::TimeUnit;
  return {
      {"int", FromJson(arrow::int64(), "[2147483647, null, -2147483648]"),
       "[2147483647, null, -2147483648]"},
      {"int", FromJson(arrow::uint8(), "[255]"), "[255]"},
      {"int", FromJson(arrow::float64(), "[-3, null]"), "[-3, null]"},
      {"long", FromJson(arrow::utf8(), R"(["-9223372036854775808"])"), "[-9223372036854775808]"},
      {"long", FromJson(arrow::decimal128(5, 2), R"(["12.00"])"), "[12]"},
      {"double", FromJson(arrow::int64(), "[9007199254740992]"), "[9007199254740992]"},
      {"double", FromJson(arrow::float32(), "[0.5]"), "[0.5]"},
      {"double", FromJson(arrow::utf8(), R"(["0.1", "1e3"])"), "[0.1, 1000]"},
      {"double", FromJson(arrow::decimal128(5, 2), R"(["0.10"])"), "[0.1]"},
      {"float", Doubles({0.5, -0.0}), "[0.5, -0.0]"},
      {"decimal(9,2)", FromJson(arrow::int32(), "[-7]"), R"(["-7.00"])"},
      {"decimal(9,2)", FromJson(arrow::decimal256(40, 3), R"(["1.250"])"), R"(["1.25"])"},
      {"decimal(9,2)", FromJson(arrow::float64(), "[12.34]"), R"(["12.34"])"},
      {"decimal(9,2)", FromJson(arrow::utf8(), R"(["1e2", "-.5"])"), R"(["100.00", "-0.50"])"},
      {"boolean", FromJson(arrow::utf8(), R"(["TRUE", null, "false"])"), "[true, null, false]"},
      {"timestamptz", FromJson(Stamp(TimeUnit::SECOND), "[-1]"), "[-1000000]"},
      {"timestamptz", FromJson(Stamp(TimeUnit::NANO), "[-1000, 2000]"), "[-1, 2]"},
      {"timestamptz", FromJson(Stamp(TimeUnit::MILLI, "Asia/Tokyo"), "[5]"), "[5000]"},
      {"timestamptz", FromJson(arrow::date32(), "[-1]"), "[-86400000000]"},
      {"timestamptz", FromJson(arrow::utf8(), R"(["1970-01-01T01:00:00+01:00", "1970-01-02"])"),
       "[0, 86400000000]"},
      {"timestamp", FromJson(arrow::date64(), "[86400000]"), "[86400000000]"},
      {"date", FromJson(Stamp(TimeUnit::MILLI), "[-86400000]"), "[-1]"},
      {"date", FromJson(arrow::utf8(), R"(["1969-12-31"])"), "[-1]"},
      {"time", FromJson(arrow::time32(TimeUnit::MILLI), "[1500]"), "[1500000]"},
      {"time", FromJson(arrow::utf8(), R"(["00:00:01.5"])"), "[1500000]"},
      {"string", FromJson(arrow::large_utf8(), R"(["a", null])"), R"(["a", null])"},
      {"string", FromJson(arrow::utf8_view(), R"(["long enough not to be inlined"])"),
       R"(["long enough not to be inlined"])"},
      {"string", FromJson(arrow::null(), "[null, null]"), "[null, null]"},
      {"double", FromJson(arrow::dictionary(arrow::int8(), arrow::float64()), "[1, 2, 1]"),
       "[1, 2, 1]"},
      {"binary", FromJson(arrow::utf8(), R"(["x"])"), R"(["x"])"},
      {"binary", FromJson(arrow::fixed_size_binary(2), R"(["ab", null])"), R"(["ab", null])"},
      {"fixed[2]", FromJson(arrow::large_binary(), R"(["ab"])"), R"(["ab"])"},
  };
}

TEST(Align, ConvertsWhatFits) {
  for (const GoodValue& value : GoodValues()) {
    SCOPED_TRACE(value.column + " <- " + value.data->ToString());
    const Target target = TargetWith(value.column);
    const auto expected = FromJson(iceberg::ToArrow(target.schema.fields[2].type), value.expected);
    const auto aligned = Unwrapped(AlignBatch(target, *BatchWith(value.data)));
    EXPECT_TRUE(aligned->ValidateFull().ok());
    EXPECT_TRUE(aligned->column(2)->Equals(*expected)) << aligned->column(2)->ToString();
    // A slice must not read from its beginning.
    const auto sliced =
        Unwrapped(AlignBatch(target, *BatchWith(value.data)->Slice(value.data->length() - 1)));
    EXPECT_TRUE(sliced->column(2)->Equals(*expected->Slice(expected->length() - 1)));
  }
}

TEST(Align, UuidsFromTextBytesAndExtension) {
  const Target target = TargetWith("uuid");
  const auto text = FromJson(arrow::utf8(), R"(["f79c3e09-677c-4bbd-a479-3f349cb785e7", null])");
  const auto aligned = Unwrapped(AlignBatch(target, *BatchWith(text)))->column(2);
  ASSERT_TRUE(aligned->type()->Equals(*arrow::extension::uuid()));
  const auto storage = static_cast<const arrow::ExtensionArray&>(*aligned).storage();
  EXPECT_EQ(static_cast<const arrow::FixedSizeBinaryArray&>(*storage).GetView(0).substr(0, 2),
            "\xf7\x9c");
  for (const ArrayPtr& same : {aligned, storage}) {
    EXPECT_TRUE(Unwrapped(AlignBatch(target, *BatchWith(same)))->column(2)->Equals(*aligned));
  }
}

TEST(Align, KeepsDictionariesOfStrings) {
  const Target target = TargetWith("string");
  const auto given =
      FromJson(arrow::dictionary(arrow::int8(), arrow::large_utf8()), R"(["x", null, "y", "x"])");
  const auto aligned = Unwrapped(AlignBatch(target, *BatchWith(given)))->column(2);
  EXPECT_TRUE(aligned->type()->Equals(*arrow::dictionary(arrow::int32(), arrow::utf8())));
  EXPECT_EQ(aligned->null_count(), 1);
  // Nulls among the values are nulls like all others.
  const auto odd = Unwrapped(arrow::DictionaryArray::FromArrays(
      FromJson(arrow::int32(), "[0, 1]"), FromJson(arrow::utf8(), R"(["x", null])")));
  const auto dense = Unwrapped(AlignBatch(target, *BatchWith(odd)))->column(2);
  EXPECT_TRUE(dense->Equals(*FromJson(arrow::utf8(), R"(["x", null])")));
}

// --- columns ---

std::string ColumnError(const Target& target, const std::vector<Column>& columns) {
  const auto aligned = AlignBatch(target, *BatchOf(columns));
  EXPECT_FALSE(aligned.ok());
  if (aligned.ok()) return "";
  EXPECT_EQ(KindOf(aligned.status()), ErrorKind::kInvalidArgument);
  return MessageOf(aligned.status());
}

TEST(Align, MatchesColumnsByExactName) {
  const Target target = TargetWith("double");
  const Column time{"time", FromJson(Micros(), R"(["2026-01-01"])")};
  const Column device{"device", FromJson(arrow::utf8(), R"(["a"])")};
  const Column v{"v", FromJson(arrow::float64(), "[1]")};
  EXPECT_THAT(ColumnError(target, {time, {"Device", device.array}, v}),
              testing::AllOf(HasSubstr("\"Device\""), HasSubstr("did you mean \"device\"")));
  EXPECT_THAT(ColumnError(target, {time, v}), HasSubstr("no column \"device\", which is part of"));
  EXPECT_THAT(ColumnError(target, {device, v}), HasSubstr("no column \"time\""));
  EXPECT_THAT(ColumnError(target, {time, device, v, v}), HasSubstr("two columns \"v\""));
  EXPECT_THAT(ColumnError(target, {{"time", FromJson(Micros(), "[null]")}, device, v}),
              HasSubstr("row 1: null"));
  const auto aligned = Unwrapped(AlignBatch(target, *BatchOf({device, time})));
  EXPECT_EQ(aligned->column(2)->null_count(), 1);
}

TEST(Align, RequiredColumnsAndNanKeys) {
  TargetSpec spec;
  spec.schema = "time:timestamptz!, k:double, r:int!";
  spec.key = {"k"};
  const Target target = TargetOf(spec);
  const Column time{"time", FromJson(Micros(), R"(["2026-01-01", "2026-01-01"])")};
  const Column key{"k", FromJson(arrow::float64(), "[1, null]")};
  EXPECT_THAT(ColumnError(target, {time, key, {"r", FromJson(arrow::int32(), "[1, null]")}}),
              HasSubstr("column \"r\", row 2: null"));
  EXPECT_THAT(ColumnError(target, {time, key}), HasSubstr("no column \"r\", which is required"));
  const Column required{"r", FromJson(arrow::int32(), "[1, 2]")};
  EXPECT_TRUE(AlignBatch(target, *BatchOf({time, key, required})).ok());
  EXPECT_THAT(ColumnError(target, {time, {"k", FromJson(arrow::float64(), "[1, NaN]")}, required}),
              HasSubstr("column \"k\", row 2: NaN"));
}

TEST(Align, CountsRowsAcrossBatches) {
  const Target target = TargetWith("int");
  const auto good = BatchWith(FromJson(arrow::int64(), "[1, 2, 3]"));
  const auto bad = BatchWith(FromJson(arrow::int64(), "[1, 3000000000]"));
  WriteOptions options;
  options.now_us = kNow;
  Aligner aligner = Unwrapped(Aligner::Make(target, *good->schema(), options));
  ASSERT_TRUE(aligner.Align(*good).ok());
  EXPECT_THAT(MessageOf(aligner.Align(*bad).status()), HasSubstr("row 5"));
}

TEST(Align, FutureRowsAreRefusedOrSkipped) {
  const Target target = TargetWith("int");
  auto batch = BatchOf({{"time", FromJson(Micros(), R"(["2026-01-04", "2099-01-01"])")},
                        {"device", FromJson(arrow::utf8(), R"(["a", "b"])")}});
  const std::string message = MessageOf(AlignBatch(target, *batch).status());
  EXPECT_THAT(message, HasSubstr("row 2"));
  EXPECT_THAT(message, HasSubstr("2099-01-01T00:00:00Z"));
  EXPECT_THAT(message, HasSubstr("max-future (1d)"));
  WriteOptions skip;
  skip.on_future = OnFuture::kSkip;
  skip.now_us = kNow;
  Aligner aligner = Unwrapped(Aligner::Make(target, *batch->schema(), skip));
  EXPECT_EQ(Unwrapped(aligner.Align(*batch))->num_rows(), 1);
  EXPECT_EQ(aligner.skipped(), 1);
  EXPECT_EQ(aligner.rows_in(), 2);
  Target unlimited = target;
  unlimited.settings.max_future_us = table::kNoMaxFuture;
  EXPECT_TRUE(AlignBatch(unlimited, *batch).ok());
}

TEST(Align, FillsTheIngestTimeColumn) {
  TargetSpec spec;
  spec.schema = "time:timestamptz!, device:string, _ingest_ts:timestamptz!";
  spec.ingest_time = "_ingest_ts";
  const auto aligned = Unwrapped(
      AlignBatch(TargetOf(spec), *BatchOf({{"time", FromJson(Micros(), R"(["2026-01-01"])")},
                                           {"device", FromJson(arrow::utf8(), R"(["a"])")}})));
  EXPECT_EQ(static_cast<const arrow::TimestampArray&>(*aligned->column(2)).Value(0), kNow);
}

// --- nested columns ---

Target NestedTarget() {
  Target target = TargetWith("int");
  auto schema = Unwrapped(iceberg::FromArrow(
      arrow::Schema({arrow::field("s", arrow::struct_({arrow::field("a", arrow::int32(), false),
                                                       arrow::field("b", arrow::utf8())})),
                     arrow::field("l", arrow::list(arrow::int32())),
                     arrow::field("m", arrow::map(arrow::utf8(), arrow::float64()))})));
  target.schema.fields.pop_back();
  for (auto& field : schema.fields) target.schema.fields.push_back(field);
  target.schema = iceberg::AssignFreshIds(target.schema);
  return target;
}

std::string NestedError(const std::string& name, const ArrayPtr& array) {
  const Target target = NestedTarget();
  auto batch = BatchWith(array);
  batch = Unwrapped(Unwrapped(batch->RemoveColumn(2))->AddColumn(2, name, array));
  const auto aligned = AlignBatch(target, *batch);
  if (aligned.ok()) {
    EXPECT_TRUE((*aligned)->ValidateFull().ok()) << (*aligned)->ValidateFull().ToString();
    return (*aligned)->GetColumnByName(name)->ToString();
  }
  return MessageOf(aligned.status());
}

TEST(Align, NestedFieldsByName) {
  const auto members = [](TypePtr a, TypePtr b) {
    return arrow::struct_({arrow::field("b", std::move(b)), arrow::field("a", std::move(a))});
  };
  EXPECT_THAT(NestedError("s", FromJson(members(arrow::int64(), arrow::utf8()),
                                        R"([{"a": 1, "b": "x"}, null])")),
              HasSubstr("-- is_valid"));
  EXPECT_THAT(NestedError("s", FromJson(members(arrow::int64(), arrow::utf8()),
                                        R"([{"a": 1}, {"a": 3000000000}])")),
              HasSubstr("column \"s.a\", row 2: 3000000000"));
  EXPECT_THAT(NestedError("s", FromJson(members(arrow::int64(), arrow::utf8()), R"([{"b": "x"}])")),
              HasSubstr("column \"s.a\", row 1: null"));
  EXPECT_THAT(NestedError("s", FromJson(arrow::struct_({arrow::field("c", arrow::int32())}),
                                        R"([{"c": 1}])")),
              HasSubstr("field \"c\" is not in the table's schema"));
  EXPECT_THAT(NestedError("s", FromJson(arrow::struct_({arrow::field("b", arrow::utf8())}),
                                        R"([{"b": "x"}])")),
              HasSubstr("column \"s.a\": the column is required"));
  EXPECT_THAT(NestedError("s", FromJson(arrow::int32(), "[1]")), HasSubstr("accepted are structs"));
}

TEST(Align, ListsAndMapsNameTheRowOfABadElement) {
  const std::string lists = "[[1, 2], null, [], [3, 3000000000]]";
  EXPECT_THAT(NestedError("l", FromJson(arrow::list(arrow::int64()), lists)),
              HasSubstr("column \"l.element\", row 4: 3000000000"));
  EXPECT_THAT(NestedError("l", FromJson(arrow::large_list(arrow::int64()), "[[1], null, [2, 3]]")),
              HasSubstr("null"));
  EXPECT_THAT(NestedError("l", FromJson(arrow::list(arrow::int64()), lists)->Slice(0, 3)),
              testing::Not(HasSubstr("row")));
  EXPECT_THAT(NestedError("m", FromJson(arrow::map(arrow::utf8(), arrow::utf8()),
                                        R"([[["k", "1.5"]], null, [["k", "x"]]])")),
              HasSubstr("column \"m.value\", row 3: \"x\""));
  EXPECT_THAT(NestedError("m", FromJson(arrow::map(arrow::utf8(), arrow::int32()),
                                        R"([[["k", 1], ["l", null]]])")),
              testing::Not(HasSubstr("row")));
}

}  // namespace
}  // namespace timelake::write
