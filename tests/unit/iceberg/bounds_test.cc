#include "iceberg/bounds.h"

#include <limits>

#include <gtest/gtest.h>

#include "unit/iceberg/expect.h"

namespace timelake::iceberg {
namespace {

Type T(std::string_view text) { return Must(ParseType(text)); }
std::string Lower(std::string_view type, const Value& v) { return Must(LowerBound(T(type), v)); }
std::string Upper(std::string_view type, const Value& v) {
  return Must(UpperBound(T(type), v)).value_or("(none)");
}

// CASES O02
TEST(Bounds, StringsAreCutAtCodePoints) {
  const std::string bullet = std::string(15, 'A') + "\u2022 x";
  EXPECT_EQ(Lower("string", bullet), std::string(15, 'A') + "\u2022");
  EXPECT_EQ(Lower("string", bullet).size(), 18u);
  EXPECT_EQ(Upper("string", bullet), std::string(15, 'A') + "\u2023");
  const std::string spanish = "El cliente pidi\u00f3 \u2014 hoy";
  EXPECT_EQ(Lower("string", spanish), "El cliente pidi\u00f3");
  EXPECT_EQ(Lower("string", spanish).size(), 17u);
  EXPECT_EQ(Upper("string", spanish), "El cliente pidi\u00f4");
  EXPECT_EQ(Lower("string", std::string("short")), "short");
  EXPECT_EQ(Upper("string", std::string("short")), "short");
  EXPECT_EQ(Upper("string", std::string(16, 'z')), std::string(16, 'z'));
}

TEST(Bounds, NoUpperBoundAboveTheLastCodePoint) {
  std::string top;
  for (int i = 0; i < 17; ++i) top += "\U0010FFFF";
  EXPECT_EQ(Must(UpperBound(T("string"), top)), std::nullopt);
  // One below rolls over to its neighbour on the left.
  EXPECT_EQ(Upper("string", "a" + top), "b");
  // The code point after U+D7FF is a surrogate: skipped.
  EXPECT_EQ(Upper("string", std::string(15, 'a') + "\ud7ff" + "x"),
            std::string(15, 'a') + "\ue000");
}

TEST(Bounds, BinaryIsCutAtBytes) {
  const std::string bytes = std::string(15, '\1') + "\xfe\xff";
  EXPECT_EQ(Lower("binary", bytes), std::string(15, '\1') + "\xfe");
  EXPECT_EQ(Upper("binary", bytes), std::string(15, '\1') + "\xff");
  EXPECT_EQ(Must(UpperBound(T("binary"), std::string(17, '\xff'))), std::nullopt);
  EXPECT_EQ(Upper("binary", std::string(16, '\xff')), std::string(16, '\xff'));
  EXPECT_EQ(Upper("fixed(20)", std::string(20, 'a')), std::string(15, 'a') + "b");
}

// CASES O09
TEST(Bounds, ZerosAndNaN) {
  for (double zero : {0.0, -0.0}) {
    EXPECT_EQ(Hex(Lower("double", zero)), "0000000000000080");
    EXPECT_EQ(Hex(Upper("double", zero)), "0000000000000000");
    EXPECT_EQ(Hex(Lower("float", static_cast<float>(zero))), "00000080");
    EXPECT_EQ(Hex(Upper("float", static_cast<float>(zero))), "00000000");
  }
  EXPECT_EQ(Hex(Lower("double", 1.0)), "000000000000f03f");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectError(LowerBound(T("double"), nan).status(), ErrorKind::kInvalidArgument, "NaN");
  ExpectError(UpperBound(T("float"), static_cast<float>(nan)).status(), ErrorKind::kInvalidArgument,
              "NaN cannot be a bound");
  ExpectError(UpperBound(T("int"), Value()).status(), ErrorKind::kInvalidArgument, "null");
}

// CASES O11, O12
TEST(Bounds, NumbersAreWhole) {
  EXPECT_EQ(Hex(Lower("int", int32_t{79})), "4f000000");
  EXPECT_EQ(Hex(Upper("date", int32_t{-1})), "ffffffff");
  const auto low = arrow::Decimal128::FromString("-7000000000000000000000000000000").ValueOrDie();
  EXPECT_EQ(
      ToText(T("decimal(38,0)"), Must(FromBytes(T("decimal(38,0)"), Lower("decimal(38,0)", low)))),
      "-7000000000000000000000000000000");
  EXPECT_EQ(Hex(Upper("decimal(38,0)", arrow::Decimal128(5))), "05");
}

}  // namespace
}  // namespace timelake::iceberg
