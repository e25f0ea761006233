#include "base/text.h"

#include <gtest/gtest.h>

namespace timelake {
namespace {

using Names = std::vector<std::string>;

TEST(Text, JoinTrimLower) {
  EXPECT_EQ(Join({}, ", "), "");
  EXPECT_EQ(Join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(ToLowerAscii("AbZ-\xC3\x93"), "abz-\xC3\x93");
}

TEST(Text, ParseInt64) {
  EXPECT_EQ(ParseInt64("0").ValueOrDie(), 0);
  EXPECT_EQ(ParseInt64("-9223372036854775808").ValueOrDie(), INT64_MIN);
  EXPECT_EQ(ParseInt64("9223372036854775807").ValueOrDie(), INT64_MAX);
  for (const char* text : {"", "-", " 1", "1 ", "+1", "1.0", "1e3", "0x1", "9223372036854775808"}) {
    const Status status = ParseInt64(text).status();
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << text;
    EXPECT_NE(MessageOf(status).find('"' + std::string(text) + '"'), std::string::npos);
  }
}

TEST(Text, SplitNames) {
  EXPECT_EQ(SplitNames("").ValueOrDie(), Names{});
  EXPECT_EQ(SplitNames("  ").ValueOrDie(), Names{});
  EXPECT_EQ(SplitNames("host").ValueOrDie(), Names{"host"});
  EXPECT_EQ(SplitNames(" host , my region ").ValueOrDie(), (Names{"host", "my region"}));
  EXPECT_EQ(SplitNames(R"("a,b" , " c", "d""e",f"g)").ValueOrDie(),
            (Names{"a,b", " c", "d\"e", "f\"g"}));
  for (const char* text : {",", "a,", ",a", "a,,b", "\"a", "\"a\"b", "\"\"", "a,\""}) {
    EXPECT_EQ(KindOf(SplitNames(text).status()), ErrorKind::kInvalidArgument) << text;
  }
}

TEST(Text, JoinNamesIsTheInverse) {
  EXPECT_EQ(JoinNames({"host", "my region"}), "host,my region");
  EXPECT_EQ(JoinNames({"a,b", " c", "d\"e"}), R"("a,b"," c","d""e")");
  for (const Names& names : {Names{}, Names{"a"}, Names{"a,b", " c ", "d\"e", "\"", "\t"}}) {
    EXPECT_EQ(SplitNames(JoinNames(names)).ValueOrDie(), names);
  }
}

TEST(Text, QuoteShowsWhatIsThere) {
  EXPECT_EQ(Quote("plain"), R"("plain")");
  EXPECT_EQ(Quote("a\"b\\c\n\r\t\x01\x7F"), R"("a\"b\\c\n\r\t\x01\x7f")");
  EXPECT_EQ(Quote(std::string_view("\0z", 2)), R"("\x00z")");
  EXPECT_EQ(Quote("pidi\xC3\xB3\xFF"), "\"pidi\xC3\xB3\\xff\"");
  EXPECT_EQ(Quote(std::string(80, 'x')), '"' + std::string(80, 'x') + '"');
  EXPECT_EQ(Quote(std::string(81, 'x')), '"' + std::string(80, 'x') + "\"...");
}

TEST(Text, NearestName) {
  const Names kSettings = {"retention", "chunk-interval", "dedup", "time"};
  EXPECT_EQ(NearestName("retenton", kSettings), "retention");
  EXPECT_EQ(NearestName("RETENTION", kSettings), "retention");
  EXPECT_EQ(NearestName("chunk_intervall", kSettings), "chunk-interval");
  EXPECT_EQ(NearestName("tmie", kSettings), "time");
  EXPECT_EQ(NearestName("tags", kSettings), std::nullopt);
  EXPECT_EQ(NearestName("xyz", kSettings), std::nullopt);
  EXPECT_EQ(NearestName("", kSettings), std::nullopt);
  EXPECT_EQ(NearestName("t", {"a", "b"}), std::nullopt);
  EXPECT_EQ(NearestName("dedup", {}), std::nullopt);
}

TEST(Text, HumanNumbers) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(HumanBytes(int64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(HumanBytes(INT64_MAX), "8.0 EiB");
  EXPECT_EQ(HumanBytes(INT64_MIN), "-8.0 EiB");
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(-999), "-999");
  EXPECT_EQ(HumanCount(1000), "1,000");
  EXPECT_EQ(HumanCount(1234567), "1,234,567");
  EXPECT_EQ(HumanCount(-123456), "-123,456");
  EXPECT_EQ(HumanCount(INT64_MIN), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace timelake
