#include "iceberg/value.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "unit/iceberg/expect.h"

namespace timelake::iceberg {
namespace {

using arrow::Decimal128;

Type T(std::string_view text) { return Must(ParseType(text)); }

constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// CASES O11, O12, O09; the specification, Appendix D.
TEST(Value, BytesOfEveryType) {
  const std::string uuid("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7");
  struct Case {
    const char* type;
    Value value;
    const char* hex;
    const char* text;
  };
  const Case cases[] = {
      {"boolean", true, "01", "true"},
      {"boolean", false, "00", "false"},
      {"int", int32_t{79}, "4f000000", "79"},
      {"int", int32_t{-1}, "ffffffff", "-1"},
      {"long", int64_t{34}, "2200000000000000", "34"},
      {"long", int32_t{79}, "4f00000000000000", "79"},
      {"long", int64_t{5'000'000'000}, "00f2052a01000000", "5000000000"},
      {"float", -4.5f, "000090c0", "-4.5"},
      {"double", 6.0, "0000000000001840", "6.0"},
      {"double", 6.0f, "0000000000001840", "6.0"},
      {"double", -0.0, "0000000000000080", "-0.0"},
      {"double", 0.0, "0000000000000000", "0.0"},
      {"date", int32_t{-1}, "ffffffff", "1969-12-31"},
      {"date", int32_t{17501}, "5d440000", "2017-12-01"},
      {"time", int64_t{36'775'038'194}, "f28cf68f08000000", "10:12:55.038194"},
      {"timestamp", int64_t{-1}, "ffffffffffffffff", "1969-12-31T23:59:59.999999"},
      {"timestamptz", int64_t{0}, "0000000000000000", "1970-01-01T00:00:00Z"},
      {"string", std::string("ABC"), "414243", "'ABC'"},
      {"string", std::string("it's"), "69742773", "'it''s'"},
      {"string", std::string(), "", "''"},
      {"uuid", uuid, "f79c3e09677c4bbda4793f349cb785e7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"},
      {"fixed(3)", std::string("\x01\x02\xff"), "0102ff", "0102ff"},
      {"binary", std::string("\x00\x01", 2), "0001", "0001"},
      {"decimal(9,2)", Decimal128(-128), "80", "-1.28"},
      {"decimal(9,2)", Decimal128(128), "0080", "1.28"},
      {"decimal(9,2)", Decimal128(-32768), "8000", "-327.68"},
      {"decimal(9,2)", Decimal128(0), "00", "0.00"},
      {"decimal(9,2)", Decimal128(-1), "ff", "-0.01"},
      {"decimal(9,2)", Decimal128(1234), "04d2", "12.34"},
      {"decimal(20,15)", Decimal128(1), "01", "0.000000000000001"},
      {"decimal(5,0)", Decimal128(7), "07", "7"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.type) + " " + c.text);
    EXPECT_EQ(Hex(Must(ToBytes(T(c.type), c.value))), c.hex);
    EXPECT_EQ(ToText(T(c.type), c.value), c.text);
    const Value back = Must(FromBytes(T(c.type), Must(ToBytes(T(c.type), c.value))));
    EXPECT_EQ(Compare(back, c.value), 0);
  }
  EXPECT_EQ(ToText(T("double"), kNan), "NaN");
  EXPECT_EQ(ToText(T("double"), -kInf), "-inf");
  EXPECT_EQ(ToText(T("int"), Value()), "null");
  EXPECT_EQ(ToText(T("time"), int64_t{-5}), "-5 us");
  EXPECT_EQ(ToText(T("decimal(38,38)"), Decimal128(Decimal128::GetMaxValue())),
            "0.99999999999999999999999999999999999999");
}

TEST(Value, ReadsWhatAnOlderSchemaWrote) {
  EXPECT_EQ(std::get<int64_t>(Must(FromBytes(T("long"), std::string("\x4f\0\0\0", 4)))), 79);
  EXPECT_EQ(std::get<int64_t>(Must(FromBytes(T("long"), "\xff\xff\xff\xff"))), -1);
  const std::string small = Must(ToBytes(T("float"), 1.5f));
  EXPECT_EQ(std::get<double>(Must(FromBytes(T("double"), small))), 1.5);
  // Longer than the shortest form.
  EXPECT_EQ(std::get<Decimal128>(Must(FromBytes(T("decimal(9,2)"), std::string("\0\0\x01", 3)))),
            Decimal128(1));
  // A bound cut inside a character, and one of a fixed column.
  EXPECT_EQ(std::get<std::string>(Must(FromBytes(T("string"), "a\xe2\x80"))), "a\xe2\x80");
  EXPECT_EQ(std::get<std::string>(Must(FromBytes(T("fixed(4)"), "ab"))), "ab");
}

TEST(Value, RefusesBytesOfTheWrongLength) {
  const std::pair<const char*, size_t> cases[] = {
      {"boolean", 0},  {"boolean", 2},      {"int", 3},           {"int", 8},
      {"long", 5},     {"float", 8},        {"double", 7},        {"date", 8},
      {"time", 4},     {"timestamp", 4},    {"timestamptz", 9},   {"uuid", 15},
      {"fixed(3)", 4}, {"decimal(9,2)", 0}, {"decimal(9,2)", 17}, {"list<int>", 4}};
  for (const auto& [type, size] : cases) {
    SCOPED_TRACE(type);
    ExpectError(FromBytes(T(type), std::string(size, '\1')).status(), ErrorKind::kCorrupt,
                TypeName(T(type)));
  }
}

TEST(Value, RefusesValuesOfAnotherType) {
  ExpectError(ToBytes(T("int"), Value()).status(), ErrorKind::kInvalidArgument, "null");
  ExpectError(ToBytes(T("int"), int64_t{1}).status(), ErrorKind::kInvalidArgument, "type int");
  ExpectError(ToBytes(T("float"), 1.0).status(), ErrorKind::kInvalidArgument, "type float");
  ExpectError(ToBytes(T("uuid"), std::string("x")).status(), ErrorKind::kInvalidArgument, "uuid");
  ExpectError(ToBytes(T("string"), true).status(), ErrorKind::kInvalidArgument, "value true");
  ExpectError(ToBytes(T("list<int>"), true).status(), ErrorKind::kInvalidArgument, "list<int>");
}

// Ascending; neighbours are distinct.
std::vector<std::vector<Value>> Orders() {
  return {
      {Value(), false, true},
      {Value(), std::numeric_limits<int32_t>::min(), -1, 0, 1, std::numeric_limits<int32_t>::max()},
      {Value(), std::numeric_limits<int64_t>::min(), int32_t{-5}, int64_t{-1}, int32_t{0},
       int64_t{1}, int32_t{2}, std::numeric_limits<int64_t>::max()},
      {Value(), -kInf, -1.0, -1e-300, -0.0, 0.0, 1e-300, 0.5f, 1.0, kInf, kNan},
      {Value(), -std::numeric_limits<float>::infinity(), -0.0f, 0.0f, 1.0f, kNanF},
      {Value(), -Decimal128(Decimal128::GetMaxValue()), Decimal128(-1), Decimal128(0),
       Decimal128(1), Decimal128(Decimal128::GetMaxValue())},
      {Value(), std::string(), std::string("\0", 1), std::string("A"), std::string("AB"),
       std::string("a"), std::string("\x7f"), std::string("\x80"), std::string("\xff")},
  };
}

TEST(Value, CompareIsATotalOrder) {
  for (const auto& values : Orders()) {
    for (size_t i = 0; i < values.size(); ++i) {
      for (size_t j = 0; j < values.size(); ++j) {
        EXPECT_EQ(Compare(values[i], values[j]), i < j ? -1 : (i > j ? 1 : 0)) << i << " " << j;
      }
    }
  }
  EXPECT_EQ(Compare(kNan, -kNan), 0);
  EXPECT_EQ(Compare(kNanF, kNan), 0);
  EXPECT_EQ(Compare(int32_t{7}, int64_t{7}), 0);
  EXPECT_EQ(Compare(0.5f, 0.5), 0);
}

TEST(Value, RandomValuesRoundTripAndKeepTheirOrder) {
  std::mt19937_64 engine(11);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t a = static_cast<int64_t>(engine()) >> (engine() % 64);
    const int64_t b = static_cast<int64_t>(engine()) >> (engine() % 64);
    const Value values[] = {a, static_cast<int32_t>(a), Decimal128(a) * Decimal128(b),
                            std::bit_cast<double>(a)};
    const Type types[] = {T("long"), T("int"), T("decimal(38,3)"), T("double")};
    for (size_t k = 0; k < std::size(values); ++k) {
      const std::string bytes = Must(ToBytes(types[k], values[k]));
      const Value back = Must(FromBytes(types[k], bytes));
      ASSERT_EQ(Compare(back, values[k]), 0) << TypeName(types[k]);
      ASSERT_EQ(Must(ToBytes(types[k], back)), bytes) << TypeName(types[k]);
    }
    ASSERT_EQ(Compare(Decimal128(a), Decimal128(b)), Compare(a, b));
    ASSERT_EQ(Compare(std::bit_cast<double>(a), std::bit_cast<double>(b)),
              -Compare(std::bit_cast<double>(b), std::bit_cast<double>(a)));
  }
}

}  // namespace
}  // namespace timelake::iceberg
