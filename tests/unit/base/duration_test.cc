#include "base/duration.h"

#include <random>

#include <gtest/gtest.h>

#include "base/civil_time.h"

namespace timelake {
namespace {

TEST(Duration, Parses) {
  const std::pair<const char*, int64_t> kCases[] = {
      {"90d", 90 * kMicrosPerDay},
      {"90 days", 90 * kMicrosPerDay},
      {"1 Day", kMicrosPerDay},
      {"5 min", 5 * kMicrosPerMinute},
      {"5m", 5 * kMicrosPerMinute},
      {"5 MINUTES", 5 * kMicrosPerMinute},
      {"1h30m", 90 * kMicrosPerMinute},
      {"1 hour 30 mins", 90 * kMicrosPerMinute},
      {"1d12h", 36 * kMicrosPerHour},
      {"10ms", 10'000},
      {"10 milliseconds", 10'000},
      {"250us", 250},
      {"1w", 7 * kMicrosPerDay},
      {"1y", 365 * kMicrosPerDay},
      {" 2 weeks ", 14 * kMicrosPerDay},
      {"30s", 30 * kMicrosPerSecond},
      {"30 secs", 30 * kMicrosPerSecond},
      {"0s", 0},
      {"9223372036854775807us", INT64_MAX},
  };
  for (const auto& [text, micros] : kCases) {
    const auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, micros) << text;
  }
}

TEST(Duration, ErrorsNameTextAndUnits) {
  for (const char* text :
       {"", "  ", "90", "0", "d", "-5m", "+5m", "1.5h", "1M", "1 month", "3mo", "5 fortnights",
        "1h1h", "30m1h", "1h30", "1h, 30m", "1s 500", "100ns", "300000y",
        "9223372036854775808us", "99999999999999999999d", "9223372036854775807us1us",
        "106751991d5h"}) {
    const Status status = ParseDuration(text).status();
    ASSERT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << text;
    EXPECT_NE(MessageOf(status).find('"' + std::string(text) + '"'), std::string::npos);
    EXPECT_NE(MessageOf(status).find("y (365 days), w, d, h, m, s, ms or us"), std::string::npos);
  }
}

TEST(Duration, FormatsCanonically) {
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(90 * kMicrosPerDay), "90d");
  EXPECT_EQ(FormatDuration(400 * kMicrosPerDay), "400d");
  EXPECT_EQ(FormatDuration(90 * kMicrosPerMinute), "1h30m");
  EXPECT_EQ(FormatDuration(250'000), "250ms");
  EXPECT_EQ(FormatDuration(1'500'001), "1s500ms1us");
  EXPECT_EQ(FormatDuration(-90 * kMicrosPerMinute), "-1h30m");
  EXPECT_EQ(FormatDuration(INT64_MIN), "-106751991d4h54s775ms808us");
}

TEST(Duration, RoundTrips) {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t micros = static_cast<int64_t>(engine() >> (1 + engine() % 63));
    ASSERT_EQ(ParseDuration(FormatDuration(micros)).ValueOrDie(), micros);
  }
}

}  // namespace
}  // namespace timelake
