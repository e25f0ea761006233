#include "table/chunk_tiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/civil_time.h"
#include "table/contract.h"
#include "table/partition_options.h"

namespace timelake::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Refused(const std::string& text) {
  const auto tiers = ParseChunkTiers(text);
  EXPECT_FALSE(tiers.ok()) << text;
  return tiers.ok() ? "" : tiers.status().message();
}

TEST(ChunkTiers, AreRead) {
  const auto tiers = ParseChunkTiers("hour:2d, day : 90d ,month").ValueOrDie();
  ASSERT_EQ(tiers.size(), 3u);
  EXPECT_EQ(tiers[0].chunk, Chunk::kHour);
  EXPECT_EQ(tiers[0].until_us, 2 * kMicrosPerDay);
  EXPECT_EQ(tiers[1].until_us, 90 * kMicrosPerDay);
  EXPECT_EQ(tiers[2].chunk, Chunk::kMonth);
  EXPECT_EQ(tiers[2].until_us, std::nullopt);
  EXPECT_EQ(ChunkTiersText(tiers), "hour:2d, day:90d, month");
  EXPECT_EQ(ChunkTiersText(ParseChunkTiers("year").ValueOrDie()), "year");
}

TEST(ChunkTiers, WhatIsRefused) {
  EXPECT_THAT(Refused(""), HasSubstr("chunk interval must be hour, day, month or year"));
  EXPECT_THAT(Refused("hours:2d, day"), HasSubstr("\"hours:2d\" in \"hours:2d, day\""));
  EXPECT_THAT(Refused("hour:2, day"), HasSubstr("\"hour:2\""));
  EXPECT_THAT(Refused("hour:2d"), HasSubstr("the last takes all older rows"));
  EXPECT_THAT(Refused("hour, day"), HasSubstr("\"hour\" in \"hour, day\": only the last"));
  EXPECT_THAT(Refused("day:2d, hour"), HasSubstr("its span is not longer"));
  EXPECT_THAT(Refused("day:2d, day"), HasSubstr("its span is not longer"));
  EXPECT_THAT(Refused("hour:2d, day:2d, month"), HasSubstr("its age is not higher"));
  EXPECT_THAT(Refused("hour:0s, day"), HasSubstr("its age is zero"));
  EXPECT_THAT(Refused("hour:2d,"), HasSubstr("\"\" in \"hour:2d,\""));
}

iceberg::TableMetadata Made(TableOptions options) {
  const auto schema =
      iceberg::ParseSchemaText("time:timestamptz, host:string, v:double").ValueOrDie();
  options.series_key = {"host"};
  return NewTableMetadata(schema, options, "file:///t", "uuid", "id", 0).ValueOrDie();
}

TableOptions Timed() {
  TableOptions options;
  options.time_column = "time";
  return options;
}

std::vector<std::string> Specs(const iceberg::TableMetadata& metadata) {
  std::vector<std::string> texts;
  for (const auto& spec : metadata.partition_specs) {
    std::string text = std::to_string(spec.spec_id) + ":";
    for (const auto& field : spec.fields) {
      text += fmt::format(" {} {} {}", field.field_id, field.name,
                          iceberg::TransformName(field.transform));
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(ChunkTiers, ANewTableHasASpecForEach) {
  TableOptions options = Timed();
  options.partition_by = {"bucket(4)"};
  options.properties = {{"chunk-tiers", "hour:2d,day:90d, month"}};
  const auto metadata = Made(options);
  EXPECT_THAT(Specs(metadata), ElementsAre("0: 1000 time_hour hour 1001 host_bucket bucket[4]",
                                           "1: 1002 time_day day 1001 host_bucket bucket[4]",
                                           "2: 1003 time_month month 1001 host_bucket bucket[4]",
                                           "3: 1000 time_hour hour", "4: 1002 time_day day",
                                           "5: 1003 time_month month"));
  EXPECT_EQ(metadata.default_spec_id, 0);
  EXPECT_EQ(metadata.last_partition_id, 1003);
  EXPECT_EQ(metadata.properties.at("timelake.chunk-interval"), "hour");
  EXPECT_EQ(metadata.properties.at("timelake.chunk-tiers"), "hour:2d, day:90d, month");
}

TEST(ChunkTiers, SpecsAreAddedOnceAndKeepTheirIds) {
  auto metadata = Made(Timed());
  const auto add = [&](const char* text) {
    const Status added = AddTierSpecs(ParseChunkTiers(text).ValueOrDie(), &metadata);
    EXPECT_TRUE(added.ok()) << added.ToString();
  };
  add("hour:2d, day");
  EXPECT_THAT(Specs(metadata), ElementsAre("0: 1000 time_day day", "1: 1001 time_hour hour"));
  EXPECT_EQ(metadata.default_spec_id, 1);
  EXPECT_EQ(metadata.properties.at("timelake.chunk-interval"), "hour");
  add("day:90d, month");
  EXPECT_THAT(Specs(metadata), ElementsAre("0: 1000 time_day day", "1: 1001 time_hour hour",
                                           "2: 1002 time_month month"));
  EXPECT_EQ(metadata.default_spec_id, 0);
  add("hour:2d, day:90d, month");
  EXPECT_EQ(metadata.partition_specs.size(), 3u);
  EXPECT_EQ(SpecOfChunk(metadata, 1, Chunk::kMonth)->spec_id, 2);
  EXPECT_EQ(SpecOfChunk(metadata, 1, Chunk::kYear), nullptr);
}

TEST(ChunkTiers, TablesWithBucketsHaveSpecsWithoutThem) {
  TableOptions options = Timed();
  options.partition_by = {"bucket(4)"};
  auto metadata = Made(options);
  EXPECT_THAT(Specs(metadata), ElementsAre("0: 1000 time_day day 1001 host_bucket bucket[4]",
                                           "1: 1000 time_day day"));
  ASSERT_TRUE(AddTierSpecs(ParseChunkTiers("hour:2d, day").ValueOrDie(), &metadata).ok());
  EXPECT_THAT(
      Specs(metadata),
      ElementsAre("0: 1000 time_day day 1001 host_bucket bucket[4]", "1: 1000 time_day day",
                  "2: 1002 time_hour hour 1001 host_bucket bucket[4]", "3: 1002 time_hour hour"));
  EXPECT_EQ(CoarseSpec(metadata)->spec_id, 3);
}

TEST(ChunkTiers, NeedATimeAndAFreeName) {
  TableOptions plain;
  plain.properties = {{"chunk-tiers", "day:2d, month"}};
  const auto schema = iceberg::ParseSchemaText("time:timestamptz, time_month:int").ValueOrDie();
  const auto refused = [&](const TableOptions& options) {
    return NewTableMetadata(schema, options, "file:///t", "uuid", "id", 0).status().message();
  };
  EXPECT_THAT(refused(plain), HasSubstr("chunk-tiers requires a time column"));
  TableOptions options = Timed();
  options.properties = plain.properties;
  EXPECT_THAT(refused(options), HasSubstr("\"time_month\""));
  options.properties = {{"chunk-tiers", "day:2d, hour"}};
  EXPECT_THAT(refused(options), HasSubstr("setting chunk-tiers: \"hour\""));
  options.properties = {{"chunk-tiers", "day:2d, year"}};
  options.chunk = Chunk::kMonth;
  EXPECT_THAT(refused(options), HasSubstr("chunk month and chunk-tiers"));
}

}  // namespace
}  // namespace timelake::table
