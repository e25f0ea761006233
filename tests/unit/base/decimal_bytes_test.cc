#include "base/decimal_bytes.h"

#include <random>

#include <gtest/gtest.h>

#include "base/hash.h"

namespace timelake {
namespace {

using arrow::Decimal128;

// apache/iceberg-python 3522, apache/iceberg-go 731, apache/iceberg-rust PR 1998.
TEST(DecimalBytes, ShortestFormAndBucket) {
  struct Row {
    int64_t unscaled;
    std::string bytes;
    int32_t bucket;
  };
  const Row kRows[] = {
      {-128, "\x80", 13},
      {128, std::string("\x00\x80", 2), 5},
      {-32768, std::string("\x80\x00", 2), 3},
      {0, std::string("\x00", 1), 7},
      {-1, "\xFF", 13},
      {1234, "\x04\xD2", 8},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.unscaled);
    EXPECT_EQ(DecimalToBytes(Decimal128(row.unscaled)), row.bytes);
    EXPECT_EQ(DecimalFromBytes(row.bytes).ValueOrDie(), Decimal128(row.unscaled));
    EXPECT_EQ(BucketOf(HashDecimal(Decimal128(row.unscaled)), 16), row.bucket);
  }
}

TEST(DecimalBytes, Extremes) {
  EXPECT_EQ(DecimalToBytes(Decimal128(INT64_MIN, 0)), "\x80" + std::string(15, '\0'));
  EXPECT_EQ(DecimalToBytes(Decimal128(INT64_MAX, UINT64_MAX)), "\x7F" + std::string(15, '\xFF'));
  EXPECT_EQ(DecimalToBytes(Decimal128(0, UINT64_MAX)).size(), 9u);
  EXPECT_EQ(DecimalToBytes(Decimal128(-1, 0)), "\xFF" + std::string(8, '\0'));
}

TEST(DecimalBytes, RoundTripsAndIsShortest) {
  std::mt19937_64 engine(3);
  for (int i = 0; i < 50'000; ++i) {
    Decimal128 value(static_cast<int64_t>(engine()), engine());
    value >>= static_cast<uint32_t>(engine() % 128);
    const std::string bytes = DecimalToBytes(value);
    ASSERT_EQ(DecimalFromBytes(bytes).ValueOrDie(), value);
    if (bytes.size() > 1) {
      ASSERT_NE(DecimalFromBytes(bytes.substr(1)).ValueOrDie(), value);
    }
    const std::string fixed = DecimalToFixedBytes(value, 16).ValueOrDie();
    ASSERT_EQ(fixed.size(), 16u);
    ASSERT_EQ(DecimalFromBytes(fixed).ValueOrDie(), value);
    ASSERT_EQ(Decimal128::FromBigEndian(reinterpret_cast<const uint8_t*>(fixed.data()), 16)
                  .ValueOrDie(),
              value);
  }
}

TEST(DecimalBytes, FixedLength) {
  EXPECT_EQ(DecimalToFixedBytes(Decimal128(-1), 4).ValueOrDie(), "\xFF\xFF\xFF\xFF");
  EXPECT_EQ(DecimalToFixedBytes(Decimal128(1), 2).ValueOrDie(), std::string("\x00\x01", 2));
  EXPECT_EQ(KindOf(DecimalToFixedBytes(Decimal128(128), 1).status()), ErrorKind::kInvalidArgument);
  EXPECT_FALSE(DecimalToFixedBytes(Decimal128(1), 0).ok());
  EXPECT_FALSE(DecimalToFixedBytes(Decimal128(1), 17).ok());
}

TEST(DecimalBytes, BadLengthsAreCorrupt) {
  EXPECT_EQ(KindOf(DecimalFromBytes("").status()), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(DecimalFromBytes(std::string(17, '\0')).status()), ErrorKind::kCorrupt);
}

TEST(DecimalBytes, LengthForPrecision) {
  const int kBytes[] = {1, 1, 2, 2, 3, 3, 4,  4,  4,  5,  5,  6,  6,  6,  7,  7,  8,  8,  9,
                        9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
  for (int precision = 1; precision <= 38; ++precision) {
    EXPECT_EQ(MinBytesForPrecision(precision).ValueOrDie(), kBytes[precision - 1]) << precision;
  }
  EXPECT_FALSE(MinBytesForPrecision(0).ok());
  EXPECT_FALSE(MinBytesForPrecision(39).ok());
}

}  // namespace
}  // namespace timelake
