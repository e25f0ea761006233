#include "base/utf8.h"

#include <random>

#include <gtest/gtest.h>

namespace timelake {
namespace {

constexpr char kMaxCodePoint[] = "\xF4\x8F\xBF\xBF";

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8("plain text of more than eight bytes"));
  EXPECT_TRUE(IsValidUtf8("\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80"));
  EXPECT_TRUE(IsValidUtf8("\xF0\x90\x80\x80"));
  EXPECT_TRUE(IsValidUtf8(kMaxCodePoint));
  const std::pair<std::string, size_t> kBad[] = {
      {"\x80", 0},                        // lone continuation
      {"abc\xC0\x80", 3},                 // overlong
      {"12345678\xC1\xBF", 8},            // overlong, behind the word-wise part
      {"1234567\xE0\x9F\xBF", 7},         // overlong
      {"\xF0\x8F\xBF\xBF", 0},            // overlong
      {"\xED\xA0\x80", 0},                // surrogate
      {"\xF4\x90\x80\x80", 0},            // above U+10FFFF
      {"\xF5\x80\x80\x80", 0},
      {"\xFF", 0},
      {"a\xE2\x80", 1},                   // cut off
      {"a\xE2\x80z", 1},
      {"\xE2\x80\xA2\xE2\x28\xA1", 3},
  };
  for (const auto& [text, position] : kBad) {
    ASSERT_TRUE(FindInvalidUtf8(text).has_value()) << position;
    EXPECT_EQ(*FindInvalidUtf8(text), position);
  }
}

TEST(Utf8, CountsCodePoints) {
  EXPECT_EQ(CodePointLength(""), 0u);
  EXPECT_EQ(CodePointLength("pidi\xC3\xB3 \xE2\x80\x94 \xF0\x9F\x98\x80"), 9u);
  EXPECT_EQ(CodePointLength("a\xFF\xFE"), 3u);
}

// duckdb/duckdb-iceberg 1136 and 1334, apache/iceberg PR 11161.
TEST(Utf8, BoundsAreCutAtCodePoints) {
  const std::string fifteen(15, 'A');
  const std::string bullet = fifteen + "\xE2\x80\xA2 x";
  EXPECT_EQ(TruncateLower(bullet, 16), fifteen + "\xE2\x80\xA2");
  EXPECT_EQ(TruncateLower(bullet, 16).size(), 18u);
  EXPECT_EQ(TruncateUpper(bullet, 16), fifteen + "\xE2\x80\xA3");

  const std::string client = "El cliente pidi\xC3\xB3 \xE2\x80\x94 hoy";
  EXPECT_EQ(TruncateLower(client, 16), "El cliente pidi\xC3\xB3");
  EXPECT_EQ(TruncateLower(client, 16).size(), 17u);
  EXPECT_EQ(TruncateUpper(client, 16), "El cliente pidi\xC3\xB4");

  EXPECT_EQ(TruncateLower("short", 16), "short");
  EXPECT_EQ(TruncateUpper("short", 16), "short");
}

TEST(Utf8, UpperBoundSkipsWhatCannotGrow) {
  const std::string max = kMaxCodePoint;
  EXPECT_EQ(TruncateUpper("a\xED\x9F\xBFz", 2), "a\xEE\x80\x80");      // over the surrogates
  EXPECT_EQ(TruncateUpper("a\x7Fz", 2), "a\xC2\x80");                  // one byte to two
  EXPECT_EQ(TruncateUpper("a\xDF\xBFz", 2), "a\xE0\xA0\x80");          // two to three
  EXPECT_EQ(TruncateUpper("a\xEF\xBF\xBFz", 2), "a\xF0\x90\x80\x80");  // three to four
  EXPECT_EQ(TruncateUpper("a" + max + "z", 2), "b");
  EXPECT_EQ(TruncateUpper("a" + max + max + "z", 3), "b");
  EXPECT_EQ(TruncateUpper(max + max + "z", 2), std::nullopt);
  EXPECT_EQ(TruncateUpper(max + max, 2), max + max);
  EXPECT_EQ(TruncateUpper("abc", 0), std::nullopt);
  EXPECT_EQ(TruncateUpper("", 0), "");
}

TEST(Utf8, BoundsOfInvalidTextAreStillBounds) {
  EXPECT_EQ(TruncateLower("ab\xFF" "cd", 16), "ab");
  EXPECT_EQ(TruncateUpper("ab\xFF" "cd", 16), "ac");
  EXPECT_EQ(TruncateUpper("\xFF", 16), std::nullopt);
}

TEST(Utf8, BoundsEncloseRandomText) {
  const std::vector<std::string> kPieces = {
      "a", "Z", "\x7F", "\xC3\xB3", "\xDF\xBF", "\xE2\x80\xA2", "\xED\x9F\xBF", "\xEF\xBF\xBF",
      "\xF0\x9F\x98\x80", kMaxCodePoint, kMaxCodePoint, "\xFF", "\xE2\x80"};
  std::mt19937_64 engine(11);
  for (int i = 0; i < 50'000; ++i) {
    // The last two pieces are not UTF-8; leave them out of most texts.
    const size_t pieces = kPieces.size() - (engine() % 8 == 0 ? 0 : 2);
    std::string text;
    for (size_t left = engine() % 12; left > 0; --left) text += kPieces[engine() % pieces];
    const size_t n = engine() % 8;

    const std::string lower = TruncateLower(text, n);
    ASSERT_TRUE(IsValidUtf8(lower));
    ASSERT_LE(lower, text);
    ASSERT_LE(CodePointLength(lower), n);
    const std::optional<std::string> upper = TruncateUpper(text, n);
    if (upper) {
      ASSERT_TRUE(IsValidUtf8(*upper));
      ASSERT_GE(*upper, text);
      ASSERT_LE(CodePointLength(*upper), n);
      if (lower != text) {
        ASSERT_GT(*upper, lower + kMaxCodePoint + kMaxCodePoint);
      } else {
        ASSERT_EQ(*upper, text);
      }
    } else {
      for (size_t at = 0; at < lower.size(); at += 4) ASSERT_EQ(lower.substr(at, 4), kMaxCodePoint);
    }

    const std::string low_bytes = TruncateLowerBytes(text, n);
    const std::optional<std::string> high_bytes = TruncateUpperBytes(text, n);
    ASSERT_LE(low_bytes, text);
    ASSERT_LE(low_bytes.size(), n);
    if (high_bytes) {
      ASSERT_GE(*high_bytes, text);
      ASSERT_LE(high_bytes->size(), n);
    } else {
      ASSERT_EQ(low_bytes.find_first_not_of('\xFF'), std::string::npos);
    }
  }
}

TEST(Utf8, BytesBounds) {
  EXPECT_EQ(TruncateLowerBytes("abcd", 2), "ab");
  EXPECT_EQ(TruncateUpperBytes("abcd", 2), "ac");
  EXPECT_EQ(TruncateUpperBytes("ab", 2), "ab");
  EXPECT_EQ(TruncateUpperBytes("a\xFF\xFF" "d", 3), "b");
  EXPECT_EQ(TruncateUpperBytes("\x7F" "bc", 1), "\x80");
  EXPECT_EQ(TruncateUpperBytes("\xFF\xFF\xFF", 2), std::nullopt);
}

// apache/iceberg 7612, apache/iceberg-python 1458.
TEST(Utf8, PartitionPathsUseFormEncoding) {
  EXPECT_EQ(PercentEncodeForm("dev/app 1#x"), "dev%2Fapp+1%23x");
  EXPECT_EQ(PercentEncodeForm("AZaz09.*_-"), "AZaz09.*_-");
  EXPECT_EQ(PercentEncodeForm("~+%="), "%7E%2B%25%3D");
  EXPECT_EQ(PercentEncodeForm("\xC3\xB3"), "%C3%B3");
  EXPECT_EQ(PercentEncodeForm(""), "");
}

}  // namespace
}  // namespace timelake
