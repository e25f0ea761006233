#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "base/uuid.h"
#include "iceberg/partition.h"
#include "unit/iceberg/expect.h"

namespace timelake::iceberg {
namespace {

using arrow::Decimal128;

Type T(std::string_view text) { return Must(ParseType(text)); }

Value Applied(std::string_view transform, std::string_view type, const Value& value) {
  return Must(Apply(ParseTransform(transform), T(type), value));
}
int32_t Int(std::string_view transform, std::string_view type, const Value& value) {
  const Value result = Applied(transform, type, value);
  EXPECT_TRUE(std::holds_alternative<int32_t>(result));
  return std::holds_alternative<int32_t>(result) ? std::get<int32_t>(result) : 0;
}

TEST(Transform, NamesRoundTrip) {
  for (const char* text :
       {"identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour", "void"}) {
    const Transform transform = ParseTransform(text);
    EXPECT_NE(transform.kind, TransformKind::kUnknown) << text;
    EXPECT_EQ(TransformName(transform), text);
  }
  for (const char* text : {"", "bucket", "bucket[]", "bucket[0]", "bucket[-1]", "bucket[1x]",
                           "bucket[99999999999]", "bucket[16", "zorder", "days", "truncate[4] "}) {
    const Transform transform = ParseTransform(text);
    EXPECT_EQ(transform.kind, TransformKind::kUnknown) << text;
    EXPECT_EQ(TransformName(transform), text);
  }
  EXPECT_EQ(ParseTransform("Day"), ParseTransform("day"));
  EXPECT_EQ(ParseTransform("day"), (Transform{TransformKind::kDay, 0, ""}));
  EXPECT_FALSE(ParseTransform("bucket[4]") == ParseTransform("bucket[5]"));
  EXPECT_FALSE(ParseTransform("zorder") == ParseTransform("hilbert"));
}

// CASES O01
TEST(Transform, InstantsBefore1970) {
  struct Case {
    int64_t micros;
    int year, month, day, hour;
    const char* label;
  };
  const Case cases[] = {
      {-1, -1, -1, -1, -1, "1969-12-31"},
      {0, 0, 0, 0, 0, "1970-01-01"},
      {-86'400'000'000, -1, -1, -1, -24, "1969-12-31"},
      {-86'400'000'001, -1, -1, -2, -25, "1969-12-30"},
      {-2'678'401'000'000, -1, -2, -32, -745, "1969-11-30"},
      {1'709'251'199'000'000, 54, 649, 19'782, 474'791, "2024-02-29"},
  };
  for (const Case& c : cases) {
    for (const char* type : {"timestamp", "timestamptz"}) {
      EXPECT_EQ(Int("year", type, c.micros), c.year) << c.micros;
      EXPECT_EQ(Int("month", type, c.micros), c.month) << c.micros;
      EXPECT_EQ(Int("day", type, c.micros), c.day) << c.micros;
      EXPECT_EQ(Int("hour", type, c.micros), c.hour) << c.micros;
      EXPECT_EQ(PartitionText(ParseTransform("day"), T(type), Value(int32_t{c.day})), c.label);
    }
    EXPECT_EQ(Int("year", "date", int32_t{c.day}), c.year) << c.label;
    EXPECT_EQ(Int("month", "date", int32_t{c.day}), c.month) << c.label;
    EXPECT_EQ(Int("day", "date", int32_t{c.day}), c.day) << c.label;
  }
}

TEST(Transform, TimeTransformsAreMonotonic) {
  std::mt19937_64 engine(5);
  for (int i = 0; i < 20'000; ++i) {
    // Within the years whose hours fit 32 bits.
    int64_t a = static_cast<int64_t>(engine()) >> (2 + engine() % 60);
    int64_t b = a + static_cast<int64_t>(engine() >> (2 + engine() % 60)) / 2;
    for (const char* name : {"year", "month", "day", "hour"}) {
      ASSERT_LE(Int(name, "timestamptz", a), Int(name, "timestamptz", b)) << name << a << " " << b;
    }
    ASSERT_LE(Int("day", "timestamp", a) * int64_t{24}, Int("hour", "timestamp", a));
  }
}

TEST(Transform, OutOfRangeIsAnError) {
  const Value last = std::numeric_limits<int64_t>::max();
  ExpectError(Apply(ParseTransform("hour"), T("timestamp"), last).status(),
              ErrorKind::kInvalidArgument, "out of range");
  EXPECT_EQ(Int("day", "timestamp", last), 106'751'991);
  EXPECT_EQ(Int("month", "date", std::numeric_limits<int32_t>::min()), -70'555'327);
}

// CASES O11 and the specification's Appendix B.
TEST(Transform, Buckets) {
  const std::pair<int64_t, int> decimals[] = {{-128, 13}, {128, 5}, {-32768, 3},
                                              {0, 7},     {-1, 13}, {1234, 8}};
  for (const auto& [unscaled, bucket] : decimals) {
    EXPECT_EQ(Int("bucket[16]", "decimal(9,2)", Decimal128(unscaled)), bucket) << unscaled;
  }
  const int kAll = std::numeric_limits<int>::max();
  auto hash = [kAll](std::string_view type, const Value& value) {
    return Must(Apply({TransformKind::kBucket, kAll, ""}, T(type), value));
  };
  auto expect_hash = [&](std::string_view type, const Value& value, int32_t expected) {
    EXPECT_EQ(Compare(hash(type, value), Value((expected & kAll) % kAll)), 0) << type;
  };
  expect_hash("int", int32_t{34}, 2017239379);
  expect_hash("long", int64_t{34}, 2017239379);
  expect_hash("date", int32_t{17486}, -653330422);
  expect_hash("time", int64_t{81'068'000'000}, -662762989);
  expect_hash("timestamp", int64_t{1'510'871'468'000'000}, -2047944441);
  expect_hash("timestamptz", int64_t{1'510'871'468'000'000}, -2047944441);
  expect_hash("string", std::string("iceberg"), 1210000089);
  const Uuid uuid = Must(ParseUuid("f79c3e09-677c-4bbd-a479-3f349cb785e7"));
  expect_hash("uuid", std::string(uuid.bytes.begin(), uuid.bytes.end()), 1488055340);
  expect_hash("fixed(4)", std::string("\0\1\2\3", 4), -188683207);
  expect_hash("binary", std::string("\0\1\2\3", 4), -188683207);
  expect_hash("decimal(9,2)", Decimal128(1420), -500754589);
}

TEST(Transform, Truncation) {
  auto text = [](std::string_view transform, std::string_view type, const Value& value) {
    return ToText(T(type), Applied(transform, type, value));
  };
  EXPECT_EQ(text("truncate[10]", "int", int32_t{1}), "0");
  EXPECT_EQ(text("truncate[10]", "int", int32_t{-1}), "-10");
  EXPECT_EQ(text("truncate[10]", "long", int64_t{-10}), "-10");
  EXPECT_EQ(text("truncate[10]", "long", int64_t{19}), "10");
  // Wraps, as in the other implementations.
  EXPECT_EQ(text("truncate[10]", "int", std::numeric_limits<int32_t>::min()), "2147483646");
  EXPECT_EQ(text("truncate[50]", "decimal(9,2)", Decimal128(1065)), "10.50");
  EXPECT_EQ(text("truncate[50]", "decimal(9,2)", Decimal128(-1)), "-0.50");
  EXPECT_EQ(text("truncate[50]", "decimal(9,2)", Decimal128(-50)), "-0.50");
  EXPECT_EQ(text("truncate[3]", "string", std::string("iceberg")), "'ice'");
  EXPECT_EQ(text("truncate[2]", "string", std::string("\u00e9\u2022x")), "'\u00e9\u2022'");
  EXPECT_EQ(text("truncate[3]", "string", std::string("ab")), "'ab'");
  EXPECT_EQ(text("truncate[2]", "binary", std::string("\1\2\3")), "0102");
}

TEST(Transform, IdentityVoidAndNull) {
  EXPECT_EQ(Compare(Applied("identity", "string", std::string("a")), std::string("a")), 0);
  EXPECT_TRUE(IsNull(Applied("void", "string", std::string("a"))));
  for (const char* name : {"identity", "bucket[3]", "truncate[3]", "void"}) {
    EXPECT_TRUE(IsNull(Applied(name, "string", Value()))) << name;
  }
  EXPECT_TRUE(IsNull(Applied("day", "timestamp", Value())));
}

TEST(Transform, RefusesOtherTypes) {
  const std::pair<const char*, const char*> cases[] = {
      {"hour", "date"},        {"day", "string"},        {"year", "time"},
      {"bucket[4]", "double"}, {"bucket[4]", "boolean"}, {"truncate[4]", "date"},
      {"truncate[4]", "uuid"}, {"identity", "list<int>"}};
  for (const auto& [transform, type] : cases) {
    SCOPED_TRACE(std::string(transform) + " of " + type);
    ExpectError(CheckTransform(ParseTransform(transform), T(type)), ErrorKind::kUnsupported,
                "cannot take type");
  }
  ExpectError(CheckTransform(ParseTransform("hour"), T("date")), ErrorKind::kUnsupported,
              "transform hour cannot take type date; it takes timestamp, timestamptz");
  ExpectError(Apply(ParseTransform("zorder"), T("int"), int32_t{1}).status(),
              ErrorKind::kUnsupported, "unknown transform \"zorder\"");
  ExpectError(CheckTransform({TransformKind::kBucket, 0, ""}, T("int")), ErrorKind::kUnsupported,
              "must be positive");
  ExpectError(Apply(ParseTransform("day"), T("date"), int64_t{1}).status(),
              ErrorKind::kInvalidArgument, "is not of type date");
  ExpectError(Apply(ParseTransform("bucket[3]"), T("int"), true).status(),
              ErrorKind::kInvalidArgument, "is not of type int");
}

TEST(Transform, ResultTypes) {
  for (const char* name : {"bucket[3]", "year", "month", "day", "hour"}) {
    EXPECT_EQ(ResultType(ParseTransform(name), T("timestamp")), T("int")) << name;
  }
  EXPECT_EQ(ResultType(ParseTransform("truncate[3]"), T("decimal(9,2)")), T("decimal(9,2)"));
  EXPECT_EQ(ResultType(ParseTransform("void"), T("string")), T("string"));
}

TEST(Partition, Labels) {
  struct Case {
    const char* transform;
    const char* type;
    Value value;
    const char* text;
  };
  const Case cases[] = {
      {"year", "timestamptz", int32_t{56}, "2026"},
      {"month", "timestamptz", int32_t{672}, "2026-01"},
      {"day", "timestamptz", int32_t{20456}, "2026-01-03"},
      {"hour", "timestamptz", int32_t{490949}, "2026-01-03-05"},
      {"hour", "timestamptz", int32_t{-1}, "1969-12-31-23"},
      {"bucket[16]", "string", int32_t{13}, "13"},
      {"truncate[3]", "string", std::string("a/b"), "a%2Fb"},
      {"truncate[10]", "int", int32_t{-10}, "-10"},
      {"identity", "int", int32_t{34}, "34"},
      {"identity", "boolean", true, "true"},
      {"identity", "date", int32_t{20456}, "2026-01-03"},
      {"identity", "time", int64_t{36'775'000'000}, "10%3A12%3A55"},
      {"identity", "timestamp", int64_t{0}, "1970-01-01T00%3A00%3A00"},
      {"identity", "timestamptz", int64_t{0}, "1970-01-01T00%3A00%3A00%2B00%3A00"},
      {"identity", "decimal(9,2)", Decimal128(1234), "12.34"},
      {"identity", "double", 1.5, "1.5"},
      {"identity", "string", std::string("it's"), "it%27s"},
      {"identity", "string", std::string(), ""},
      {"identity", "binary", std::string("\1\2\3"), "AQID"},
      {"identity", "uuid", std::string(16, '\1'), "01010101-0101-0101-0101-010101010101"},
      {"zorder", "string", std::string("x y"), "x+y"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(PartitionText(ParseTransform(c.transform), T(c.type), c.value), c.text)
        << c.transform << " of " << c.type;
  }
  for (const char* name : {"identity", "day", "bucket[4]", "void"}) {
    EXPECT_EQ(PartitionText(ParseTransform(name), T("string"), Value()), "null");
  }
}

// CASES O10
TEST(Partition, PathIsEncoded) {
  const Schema schema = Must(ParseSchemaText("time:timestamptz, tenant:string"));
  PartitionSpec spec;
  spec.fields.resize(2);
  spec.fields[0] = {1, 1000, "time_day", ParseTransform("day"), {}};
  spec.fields[1] = {2, 1001, "tenant", ParseTransform("identity"), {}};
  EXPECT_EQ(Must(PartitionPath(spec, schema, {int32_t{20456}, std::string("dev/app 1#x")})),
            "time_day=2026-01-03/tenant=dev%2Fapp+1%23x");
  EXPECT_EQ(Must(PartitionPath(spec, schema, {Value(), Value()})), "time_day=null/tenant=null");
  EXPECT_EQ(Must(PartitionPath(PartitionSpec{}, schema, {})), "");
  ExpectError(PartitionPath(spec, schema, {Value()}).status(), ErrorKind::kInvalidArgument,
              "2 fields, the partition 1 values");
  spec.fields[1].name = "a b/c";
  EXPECT_EQ(Must(PartitionPath(spec, schema, {Value(), std::string("..")})),
            "time_day=null/a+b%2Fc=..");
  spec.fields[1].source_id = 9;
  ExpectError(PartitionPath(spec, schema, {Value(), Value()}).status(), ErrorKind::kInvalidArgument,
              "no column with id 9");
  spec.fields[1].transform = ParseTransform("void");
  EXPECT_EQ(Must(PartitionPath(spec, schema, {Value(), Value()})), "time_day=null/a+b%2Fc=null");
}

}  // namespace
}  // namespace timelake::iceberg
