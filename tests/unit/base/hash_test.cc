#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/civil_time.h"

namespace timelake {
namespace {

// Iceberg spec, Appendix B: "32-bit Hash Requirements".
TEST(Hash, VectorsOfTheSpec) {
  EXPECT_EQ(HashInt(34), 2017239379);
  EXPECT_EQ(HashLong(34), 2017239379);
  EXPECT_EQ(HashDecimal(arrow::Decimal128(1420)), -500754589);
  const int64_t instant = ParseTimestamp("2017-11-16T22:31:08").ValueOrDie().micros;
  EXPECT_EQ(HashInt(static_cast<int32_t>(DaysFromMicros(instant))), -653330422);
  EXPECT_EQ(HashLong(FloorMod(instant, kMicrosPerDay)), -662762989);
  EXPECT_EQ(HashLong(instant), -2047944441);
  EXPECT_EQ(HashLong(ParseTimestamp("2017-11-16T14:31:08-08:00").ValueOrDie().micros), -2047944441);
  EXPECT_EQ(HashString("iceberg"), 1210000089);
  EXPECT_EQ(HashUuid(ParseUuid("f79c3e09-677c-4bbd-a479-3f349cb785e7").ValueOrDie()), 1488055340);
  EXPECT_EQ(HashBytes(std::string_view("\x00\x01\x02\x03", 4)), -188683207);
}

// Lengths 0 to 5 take every path of the tail; values of the reference implementation.
TEST(Hash, TailsOfEveryLength) {
  EXPECT_EQ(HashBytes(""), 0);
  EXPECT_EQ(HashBytes("a"), 1009084850);
  EXPECT_EQ(HashBytes("ab"), static_cast<int32_t>(0x9BBFD75F));
  EXPECT_EQ(HashBytes("abc"), static_cast<int32_t>(0xB3DD93FA));
  EXPECT_EQ(HashBytes("abcd"), 0x43ED676A);
  EXPECT_EQ(HashBytes("abcde"), static_cast<int32_t>(0xE89B9AF6));
}

TEST(Hash, BucketsAreNeverNegative) {
  EXPECT_EQ(BucketOf(-1, 16), 15);
  EXPECT_EQ(BucketOf(INT32_MIN, 16), 0);
  EXPECT_EQ(BucketOf(HashLong(34), 16), 2017239379 % 16);
}

}  // namespace
}  // namespace timelake
