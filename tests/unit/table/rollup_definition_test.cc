#include "table/rollup_definition.h"
#include "table/rollup_position.h"
#include "table/rollup_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "table/contract.h"

namespace timelake::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RollupDefinition Example() {
  RollupDefinition definition;
  definition.source = "iot.raw";
  definition.time = "time";
  definition.bucket = "b";
  definition.width.micros = 3'600'000'000;
  definition.keys = {"host", "dc"};
  definition.aggregates = {{"n", RollupKind::kCount, "", "BIGINT", {}},
                           {"s", RollupKind::kSum, "v", "DOUBLE", {}},
                           {"a", RollupKind::kAvg, "v", "DOUBLE", {}},
                           {"f", RollupKind::kFirst, "v", "DOUBLE", {}},
                           {"d", RollupKind::kVarPop, "v", "DOUBLE", {}},
                           {"t", RollupKind::kTimeWeightedMeanLinear, "v", "DOUBLE", {}}};
  NameStates(&definition.aggregates);
  return definition;
}

iceberg::TableMetadata With(const std::map<std::string, std::string>& properties) {
  iceberg::TableMetadata metadata;
  metadata.location = "file:///wh/iot/r";
  metadata.properties = properties;
  iceberg::Schema schema;
  int id = 0;
  for (const char* name : {"host", "dc", "b"}) {
    iceberg::Field field;
    field.id = ++id;
    field.name = name;
    field.type.id = field.name == "b" ? iceberg::TypeId::kTimestamptz : iceberg::TypeId::kString;
    schema.fields.push_back(field);
  }
  metadata.schemas.push_back(schema);
  return metadata;
}

TEST(RollupDefinition, StatesAreNamedAfterTheirAggregate) {
  const auto definition = Example();
  EXPECT_THAT(definition.aggregates[0].state, ElementsAre("n"));
  EXPECT_THAT(definition.aggregates[2].state, ElementsAre("s", "a_count"));
  EXPECT_THAT(definition.aggregates[3].state, ElementsAre("f", "f_time"));
  EXPECT_THAT(definition.aggregates[4].state, ElementsAre("d_count", "d_mean", "d_m2"));
  EXPECT_THAT(definition.aggregates[5].state,
              ElementsAre("t", "t_first_time", "t_first", "t_last_time", "t_last"));
}

TEST(RollupDefinition, OurPropertyComesBack) {
  auto definition = Example();
  definition.width = {2, 0, "Europe/Paris", 5};
  definition.filter = {"(v > 0)", "(host <> 'x')"};
  const auto properties = ToProperties(definition, /*fits_peer=*/false);
  EXPECT_EQ(properties.size(), 1U);
  const auto read = ReadRollup(With(properties)).ValueOrDie();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, definition);
}

TEST(RollupDefinition, ADamagedPropertyIsCorrupt) {
  for (const char* text : {"", "{", "[]", "{\"source\": \"a.b\"}"}) {
    const auto read = ReadRollup(With({{kRollupDefinition, text}}));
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(KindOf(read.status()), ErrorKind::kCorrupt);
    EXPECT_THAT(read.status().message(), HasSubstr("file:///wh/iot/r"));
  }
}

TEST(RollupDefinition, WhatThePeerWritesIsRead) {
  const auto metadata = With(
      {{kRollupSource, "iot.raw"},
       {kRollupBucket, "90s"},
       {kRollupAggregates,
        R"([{"name":"n","function":"count"},{"name":"cv","function":"count","column":"v"},)"
        R"({"name":"sv","function":"sum","column":"v"},{"name":"av","function":"avg","column":"v"}])"},
       {"timelake.time-column", "b"},
       {"timelake.series-key", "host,dc"},
       {"timelake.chunk-interval", "day"},
       {"timelake.dedup", "true"}});
  const auto read = ReadRollup(metadata).ValueOrDie();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->source, "iot.raw");
  EXPECT_EQ(read->bucket, "b");
  EXPECT_EQ(read->width.micros, 90'000'000);
  EXPECT_THAT(read->keys, ElementsAre("host", "dc"));
  EXPECT_EQ(read->aggregates[0].argument, "");
  EXPECT_EQ(read->aggregates[2].argument, "\"v\"");
  EXPECT_THAT(read->aggregates[3].state, ElementsAre("sv", "cv"));
}

TEST(RollupDefinition, WhatThePeerKeepsOtherwiseIsNoRollupOfOurs) {
  const auto metadata = With({{kRollupSource, "iot.raw"},
                              {kRollupBucket, "1h"},
                              {kRollupAggregates, R"([{"name":"m","function":"m4","column":"v"}])"},
                              {"timelake.time-column", "b"},
                              {"timelake.chunk-interval", "day"}});
  EXPECT_FALSE(ReadRollup(metadata).ValueOrDie().has_value());
  EXPECT_FALSE(ReadRollup(With({})).ValueOrDie().has_value());
}

TEST(RollupDefinition, OnlyWhatThePeerKeepsTheSameFitsIt) {
  RollupDefinition definition = Example();
  definition.aggregates.resize(2);
  const std::map<std::string, std::string> doubles = {{"s", "double"}};
  const std::vector<std::string> series = {"host", "dc"};
  EXPECT_TRUE(FitsPeer(definition, doubles, series));
  EXPECT_FALSE(FitsPeer(definition, {{"s", ""}}, series));  // a sum of integers
  EXPECT_FALSE(FitsPeer(definition, doubles, {"host"}));    // no column of the series key
  EXPECT_FALSE(FitsPeer(Example(), doubles, series));       // columns that it does not know
  auto other = definition;
  other.filter = {"(v > 0)"};
  EXPECT_FALSE(FitsPeer(other, doubles, series));
  other = definition;
  other.width.micros *= 7 * 24;  // its weeks begin on Thursdays
  EXPECT_FALSE(FitsPeer(other, doubles, series));
  other = definition;
  other.aggregates[1].argument = "(v * 2)";
  EXPECT_FALSE(FitsPeer(other, doubles, series));

  const auto properties = ToProperties(definition, true);
  EXPECT_EQ(properties.at(kRollupBucket), "1h");
  EXPECT_EQ(properties.at(kRollupAggregates),
            R"([{"name":"n","function":"count"},{"name":"s","function":"sum","column":"v"}])");
}

TEST(RollupPosition, TheSummaryComesBack) {
  iceberg::TableMetadata metadata;
  const auto add = [&](std::map<std::string, std::string> summary) {
    iceberg::Snapshot snapshot;
    snapshot.snapshot_id = static_cast<int64_t>(metadata.snapshots.size()) + 1;
    if (!metadata.snapshots.empty()) {
      snapshot.parent_snapshot_id = metadata.snapshots.back().snapshot_id;
    }
    snapshot.summary = std::move(summary);
    metadata.current_snapshot_id = snapshot.snapshot_id;
    metadata.snapshots.push_back(snapshot);
  };
  EXPECT_FALSE(ReadPosition(metadata).has_value());

  RollupPosition whole;
  whole.snapshot = 77;
  whole.sequence = 3;
  whole.table = "a-b";
  auto summary = ToSummary(whole, std::nullopt);
  EXPECT_EQ(summary.size(), 3U);
  summary["operation"] = "append";
  add(summary);
  EXPECT_EQ(ReadPosition(metadata), whole);

  // Who does not know of parts goes on from where all was done.
  RollupPosition part;
  part.snapshot = 78;
  part.sequence = 4;
  part.table = "a-b";
  part.floor_us = -5;
  part.todo = {{-20, -10}, {10, 30}};
  summary = ToSummary(part, whole);
  EXPECT_EQ(summary.at(kRollupSourceSnapshot), "77");
  summary["operation"] = "append";
  add(summary);
  EXPECT_EQ(ReadPosition(metadata), part);

  add({{"operation", "replace"}});
  EXPECT_EQ(ReadPosition(metadata), part);
  iceberg::Summary next = {{"operation", "delete"}, {kRetentionCutoff, "100"}};
  CarryPosition(metadata, &next);
  EXPECT_EQ(next.at(kRollupFloor), "100");
  EXPECT_EQ(next.at(kRollupPartial), metadata.snapshots[1].summary.at(kRollupPartial));

  add({{"operation", "append"}});  // somebody else's
  EXPECT_FALSE(ReadPosition(metadata).has_value());
}

}  // namespace
}  // namespace timelake::table
