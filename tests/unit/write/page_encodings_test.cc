#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/types.h>

#include "base/random.h"
#include "write/bit_packing.h"
#include "write/byte_split.h"
#include "write/delta_packed.h"
#include "write/hybrid_runs.h"
#include "write/number_bounds.h"
#include "write/value_numbers.h"

// Our encoders, read by Arrow's decoders: a mistake that encoder and decoder share would stay
// hidden.

namespace timelake::write {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Values of `width` bits in runs of random lengths: `calm` of 100 values are as the one before.
std::vector<uint32_t> Runs(Random* random, size_t count, int width, uint64_t calm) {
  std::vector<uint32_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    const bool same = i > 0 && random->Below(100) < calm;
    const auto any = static_cast<uint32_t>(random->Next64());
    values[i] = same ? values[i - 1] : (width == 0 ? 0 : any >> (32 - width));
  }
  return values;
}

std::vector<int32_t> ReadIndices(const PageBytes& bytes, size_t count) {
  auto decoder = parquet::MakeDictDecoder<parquet::Int32Type>();
  decoder->SetData(static_cast<int>(count), bytes.data(), static_cast<int>(bytes.size()));
  std::vector<int32_t> read(count + 1, -1);
  EXPECT_EQ(decoder->DecodeIndices(static_cast<int>(count), read.data()), static_cast<int>(count));
  read.pop_back();
  return read;
}

std::vector<int32_t> AsInts(const std::vector<uint32_t>& values) {
  return {values.begin(), values.end()};
}

TEST(PageEncodings, RunsAndPackedValuesOfAllWidths) {
  const auto random = SeededRandom(11);
  for (int width = 0; width <= 31; ++width) {
    for (const uint64_t calm : {0, 20, 50, 80, 95, 99, 100}) {
      for (const size_t count : {0, 1, 2, 7, 8, 9, 63, 64, 65, 504, 1000, 20'000}) {
        const auto values = Runs(random.get(), count, width, calm);
        PageBytes bytes;
        bytes.AppendByte(static_cast<uint8_t>(width));
        AppendHybrid(values.data(), count, width, &bytes);
        ASSERT_EQ(ReadIndices(bytes, count), AsInts(values))
            << width << " " << calm << " " << count;
        // Never much more than packed bits alone.
        const size_t packed = (count + 7) / 8 * static_cast<size_t>(width);
        EXPECT_LE(bytes.size(), packed + packed / 8 + 8) << width << " " << calm << " " << count;
      }
    }
  }
}

TEST(PageEncodings, RunsMayBeginAnywhere) {
  std::vector<uint32_t> values;
  for (uint32_t run = 0; run < 100; ++run) values.insert(values.end(), 37 + run % 50, run * 3);
  PageBytes bytes;
  AppendIndices(values.data(), values.size(), 297, &bytes);
  EXPECT_EQ(ReadIndices(bytes, values.size()), AsInts(values));
  // The width, and of each run the length in one or two bytes and the value in two.
  EXPECT_LE(bytes.size(), 1 + 100 * 4u);
  EXPECT_GE(bytes.size(), 1 + 100 * 3u);
}

TEST(PageEncodings, IndicesInWholeBytes) {
  const auto random = SeededRandom(12);
  for (const int width : {1, 5, 7, 8, 9, 12, 17, 20}) {
    for (const uint64_t calm : {0, 50, 97}) {
      const auto values = Runs(random.get(), 20'000, width, calm);
      const uint32_t most = *std::max_element(values.begin(), values.end());
      PageBytes bits, bytes;
      AppendIndices(values.data(), values.size(), most, &bits);
      AppendWideIndices(values.data(), values.size(), most, &bytes);
      EXPECT_EQ(bits.data()[0], width);
      EXPECT_EQ(bytes.data()[0], (width + 7) / 8 * 8);
      ASSERT_EQ(ReadIndices(bits, values.size()), AsInts(values)) << width << " " << calm;
      ASSERT_EQ(ReadIndices(bytes, values.size()), AsInts(values)) << width << " " << calm;
    }
  }
}

TEST(PageEncodings, LevelsOfAPage) {
  const auto random = SeededRandom(13);
  for (const uint64_t calm : {0, 50, 99, 100}) {
    for (const size_t count : {1, 7, 8, 100, 20'000}) {
      const auto levels = Runs(random.get(), count, 1, calm);
      PageBytes bytes;
      AppendLevels(levels.data(), count, &bytes);
      parquet::LevelDecoder decoder;
      const int used = decoder.SetData(parquet::Encoding::RLE, 1, static_cast<int>(count),
                                       bytes.data(), static_cast<int>(bytes.size()));
      EXPECT_EQ(used, static_cast<int>(bytes.size()));
      std::vector<int16_t> read(count, -1);
      ASSERT_EQ(decoder.Decode(static_cast<int>(count), read.data()), static_cast<int>(count));
      EXPECT_TRUE(std::equal(levels.begin(), levels.end(), read.begin()));
    }
  }
  PageBytes all;
  AppendLevels(nullptr, 20'000, &all);
  parquet::LevelDecoder decoder;
  decoder.SetData(parquet::Encoding::RLE, 1, 20'000, all.data(), static_cast<int>(all.size()));
  std::vector<int16_t> read(20'000, 0);
  ASSERT_EQ(decoder.Decode(20'000, read.data()), 20'000);
  EXPECT_EQ(std::count(read.begin(), read.end(), 1), 20'000);
}

template <typename DType>
std::vector<typename DType::c_type> ReadValues(const PageBytes& bytes, size_t count,
                                               parquet::Encoding::type encoding) {
  auto decoder = parquet::MakeTypedDecoder<DType>(encoding);
  decoder->SetData(static_cast<int>(count), bytes.data(), static_cast<int>(bytes.size()));
  std::vector<typename DType::c_type> read(count);
  EXPECT_EQ(decoder->Decode(read.data(), static_cast<int>(count)), static_cast<int>(count));
  return read;
}

// Differences of up to `bits` bits in both directions; at 64 (32) bits any value follows any other.
template <typename T>
std::vector<T> Walk(Random* random, size_t count, int bits) {
  using Bits = std::make_unsigned_t<T>;
  std::vector<T> values(count);
  Bits at = static_cast<Bits>(random->Next64());
  for (T& value : values) {
    const uint64_t step = bits == 0 ? 0 : random->Next64() >> (64 - bits);
    at = static_cast<Bits>(random->Below(2) == 0 ? at + static_cast<Bits>(step)
                                                 : at - static_cast<Bits>(step));
    value = static_cast<T>(at);
  }
  return values;
}

template <typename DType>
void DeltasComeBack() {
  using T = typename DType::c_type;
  const auto random = SeededRandom(14);
  for (int bits = 0; bits <= static_cast<int>(8 * sizeof(T)); ++bits) {
    for (const size_t count : {0, 1, 2, 32, 33, 34, 128, 129, 130, 257, 20'000}) {
      const auto values = Walk<T>(random.get(), count, bits);
      PageBytes bytes;
      AppendDeltaPacked(values.data(), count, &bytes);
      ASSERT_EQ((ReadValues<DType>(bytes, count, parquet::Encoding::DELTA_BINARY_PACKED)), values)
          << bits << " " << count;
    }
  }
  constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const std::vector<T> extremes = {kLow, kHigh, kLow, kLow, kHigh, kHigh, 0, kLow, -1, kHigh};
  PageBytes bytes;
  AppendDeltaPacked(extremes.data(), extremes.size(), &bytes);
  EXPECT_EQ((ReadValues<DType>(bytes, extremes.size(), parquet::Encoding::DELTA_BINARY_PACKED)),
            extremes);
}

TEST(PageEncodings, DeltasOfAllWidthsAndAcrossTheEnds) {
  DeltasComeBack<parquet::Int32Type>();
  DeltasComeBack<parquet::Int64Type>();
}

TEST(PageEncodings, EvenTimesTakeAlmostNothing) {
  std::vector<int64_t> times(20'000);
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = 1'767'225'600'000'000 + int64_t(i) * 1'000'000;
  PageBytes bytes;
  AppendDeltaPacked(times.data(), times.size(), &bytes);
  EXPECT_LE(bytes.size(), 8 * (times.size() / 128 + 1) + 20);
}

template <typename DType, typename Bits>
void SplitComesBack() {
  using T = typename DType::c_type;
  const auto random = SeededRandom(15);
  for (const size_t count : {0, 1, 7, 8, 9, 15, 16, 17, 1000, 1003}) {
    std::vector<T> values(count);
    for (T& value : values) {
      const auto bits = static_cast<Bits>(random->Next64());  // NaN of all kinds among them
      std::memcpy(&value, &bits, sizeof(value));
    }
    PageBytes bytes;
    AppendSplit<sizeof(T)>(values.data(), count, &bytes);
    ASSERT_EQ(bytes.size(), count * sizeof(T));
    const auto read = ReadValues<DType>(bytes, count, parquet::Encoding::BYTE_STREAM_SPLIT);
    if (count == 0) continue;
    EXPECT_EQ(std::memcmp(read.data(), values.data(), count * sizeof(T)), 0);
  }
}

TEST(PageEncodings, SplitFloatsKeepTheirBits) {
  SplitComesBack<parquet::DoubleType, uint64_t>();
  SplitComesBack<parquet::FloatType, uint32_t>();
}

TEST(PageEncodings, PackedValuesOf64BitsLieOneBehindTheOther) {
  const auto random = SeededRandom(16);
  for (int width = 1; width <= 64; ++width) {
    std::vector<uint64_t> values(40);
    for (uint64_t& value : values) value = random->Next64() >> (64 - width);
    PageBytes bytes;
    AppendPacked(values.data(), values.size(), width, &bytes);
    ASSERT_EQ(bytes.size(), (40 * static_cast<size_t>(width) + 7) / 8);
    for (size_t i = 0; i < values.size(); ++i) {
      for (int bit = 0; bit < width; ++bit) {
        const size_t at = i * static_cast<size_t>(width) + static_cast<size_t>(bit);
        ASSERT_EQ(bytes.data()[at / 8] >> (at % 8) & 1, values[i] >> bit & 1) << width;
      }
    }
  }
}

TEST(PageEncodings, ValuesAreNumberedByTheirBits) {
  ValueNumbers<uint64_t> numbers;
  const auto number = [&](double value) {
    return numbers.NumberOf(std::bit_cast<uint64_t>(value));
  };
  EXPECT_EQ(number(0.0), 0u);
  EXPECT_EQ(number(-0.0), 1u);
  EXPECT_EQ(number(kNan), 2u);
  EXPECT_EQ(number(-kNan), 3u);
  EXPECT_EQ(number(kNan), 2u);
  for (uint32_t i = 0; i < 300'000; ++i) ASSERT_EQ(number(i + 1.0), 4 + i);
  for (uint32_t i = 0; i < 300'000; ++i) ASSERT_EQ(number(i + 1.0), 4 + i);
  EXPECT_EQ(numbers.values().size(), 300'004u);
  numbers.Close(3);
  EXPECT_EQ(numbers.values().size(), 3u);
}

TEST(PageEncodings, BoundsLeaveNanOutAndWidenZeros) {
  const auto encoded = [](std::vector<double> values) {
    const auto bounds = NumberBounds<double>::Of(values.data(), values.size()).Encode();
    return std::pair(bounds.min(), bounds.max());
  };
  const auto plain = [](double value) {
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  };
  EXPECT_EQ(encoded({0.0, 0.0}), std::pair(plain(-0.0), plain(0.0)));
  EXPECT_EQ(encoded({-0.0}), std::pair(plain(-0.0), plain(0.0)));
  EXPECT_EQ(encoded({kNan, 3, kNan, -2}), std::pair(plain(-2), plain(3)));
  EXPECT_EQ(encoded({1, 2, 3, 4, 5, 6, 7, kNan, 9, 0.5}), std::pair(plain(0.5), plain(9)));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(encoded({infinity}), std::pair(plain(infinity), plain(infinity)));
  EXPECT_EQ(encoded({-infinity, kNan}), std::pair(plain(-infinity), plain(-infinity)));
  EXPECT_FALSE(NumberBounds<double>::Of(&kNan, 1).any);
  EXPECT_FALSE(NumberBounds<int64_t>::Of(nullptr, 0).any);
  const std::vector<int64_t> ends = {INT64_MAX, INT64_MIN};
  const auto bounds = NumberBounds<int64_t>::Of(ends.data(), 2);
  EXPECT_EQ(bounds.min, INT64_MIN);
  EXPECT_EQ(bounds.max, INT64_MAX);
}

}  // namespace
}  // namespace timelake::write
