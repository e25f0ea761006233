#include "iceberg/summary.h"

#include <gtest/gtest.h>

namespace timelake::iceberg {
namespace {

TEST(Summary, CopiesAreOnesOwn) {
  Summary first{{"operation", "append"}};
  Summary second = first;
  second["added-records"] = "7";
  first["operation"] = "delete";
  EXPECT_EQ(first, (Summary{{"operation", "delete"}}));
  EXPECT_EQ(second, (Summary{{"operation", "append"}, {"added-records", "7"}}));
  EXPECT_EQ(second.size(), 2u);
  EXPECT_EQ(second.erase("added-records"), 1u);
  EXPECT_FALSE(second.contains("added-records"));
}

TEST(Summary, JsonIsOfWhatItHoldsNow) {
  Summary summary;
  EXPECT_TRUE(summary.empty());
  EXPECT_EQ(summary.Json(), "{}");
  summary.emplace("b", "two \"words\"");
  EXPECT_EQ(summary.Json(), R"({"b":"two \"words\""})");
  const Summary before = summary;
  summary["a"] = "1";
  EXPECT_EQ(summary.Json(), R"({"a":"1","b":"two \"words\""})");
  EXPECT_EQ(before.Json(), R"({"b":"two \"words\""})");
  summary.emplace("a", "2");  // is there
  summary.insert({"c", ""});
  EXPECT_EQ(summary.Json(), R"({"a":"1","b":"two \"words\"","c":""})");
  EXPECT_EQ(summary.at("a"), "1");
}

}  // namespace
}  // namespace timelake::iceberg
