#include "maintain/granularity.h"

#include <deque>

#include <gtest/gtest.h>

#include "base/civil_time.h"
#include "table/contract.h"

namespace timelake::maintain {
namespace {

int64_t At(const std::string& text) { return ParseTimestamp(text).ValueOrDie().micros; }

// A table by hour and buckets of hosts, whose older rows go to days and months.
class Granularity : public ::testing::Test {
 protected:
  Granularity() {
    TableOptions options;
    options.time_column = "time";
    options.series_key = {"host"};
    options.partition_by = {"bucket(4)"};
    options.properties = {{"chunk-tiers", "hour:2d, day:90d, month"}};
    metadata_ = table::NewTableMetadata(
                    iceberg::ParseSchemaText("time:timestamptz, host:string").ValueOrDie(), options,
                    "file:///t", "uuid", "id", 0)
                    .ValueOrDie();
    rules_.tiers = table::ParseChunkTiers("hour:2d, day:90d, month").ValueOrDie();
    rules_.time_id = 1;
    rules_.now_us = At("2026-07-01 12:00:00Z");
  }

  // "spec-id [partition]" of where rows of a file belong; "" if it stays.
  std::string Home(int spec, const std::string& first, const std::string& last) {
    LiveFile file;
    file.range.first = At(first);
    file.range.last = At(last);
    iceberg::DataFile data;
    const auto& fields = metadata_.partition_specs[static_cast<size_t>(spec)].fields;
    const iceberg::Type type = iceberg::CurrentSchema(metadata_)->fields[0].type;
    data.partition = {
        iceberg::Apply(fields[0].transform, type, iceberg::Value(At(first))).ValueOrDie()};
    if (fields.size() > 1) data.partition.push_back(iceberg::Value(int32_t{3}));
    scan::ScanFile scanned;
    scanned.data = std::make_shared<const iceberg::DataFile>(std::move(data));
    scanned.spec_id = spec;
    file.file = &scanned;
    const auto home = HomeOf(file, metadata_, rules_);
    if (!home) return "";
    return iceberg::PartitionPath(*iceberg::SpecById(metadata_, home->spec_id),
                                  *iceberg::CurrentSchema(metadata_), home->partition)
        .ValueOrDie();
  }

  iceberg::TableMetadata metadata_;
  GranularityRules rules_;
};

TEST_F(Granularity, WholeSpansThatAreOldEnoughMove) {
  // Two days before noon of July 1st is noon of June 29th: June 28th is past as a whole.
  EXPECT_EQ(Home(0, "2026-07-01 11:00:00Z", "2026-07-01 11:59:59Z"), "");
  EXPECT_EQ(Home(0, "2026-06-29 01:00:00Z", "2026-06-29 01:10:00Z"), "");
  EXPECT_EQ(Home(0, "2026-06-28 23:00:00Z", "2026-06-28 23:59:59.999999Z"),
            "time_day=2026-06-28/host_bucket=3");
  // Ninety days before is April 2nd: March is past, April is not.
  EXPECT_EQ(Home(0, "2026-04-01 00:00:00Z", "2026-04-01 00:59:59Z"),
            "time_day=2026-04-01/host_bucket=3");
  EXPECT_EQ(Home(0, "2026-03-31 23:00:00Z", "2026-03-31 23:59:59Z"),
            "time_month=2026-03/host_bucket=3");
  EXPECT_EQ(Home(0, "1969-12-31 23:00:00Z", "1969-12-31 23:59:59Z"),
            "time_month=1969-12/host_bucket=3");
}

TEST_F(Granularity, APartitionWithoutBucketsIsThatOfTheSameSpan) {
  const iceberg::Value hour(int32_t{490'000}), bucket(int32_t{3});
  for (const int spec : {0, 1, 2}) {
    const auto whole = WithoutBuckets({spec, {hour, bucket}}, metadata_);
    ASSERT_TRUE(whole);
    const auto& fields = iceberg::SpecById(metadata_, whole->spec_id)->fields;
    ASSERT_EQ(fields.size(), 1u);
    EXPECT_EQ(fields[0].field_id, iceberg::SpecById(metadata_, spec)->fields[0].field_id);
    EXPECT_EQ(whole->partition.size(), 1u);
    EXPECT_FALSE(WithoutBuckets(*whole, metadata_));
  }
  EXPECT_FALSE(WithoutBuckets({17, {hour}}, metadata_));
}

TEST_F(Granularity, LongerPartitionsAreNotSplit) {
  EXPECT_EQ(Home(1, "2026-07-01 00:00:00Z", "2026-07-01 11:00:00Z"), "");
  EXPECT_EQ(Home(1, "2026-06-01 00:00:00Z", "2026-06-01 11:00:00Z"), "");
  EXPECT_EQ(Home(1, "2026-03-05 00:00:00Z", "2026-03-05 11:00:00Z"),
            "time_month=2026-03/host_bucket=3");
  EXPECT_EQ(Home(2, "2026-03-05 00:00:00Z", "2026-03-05 11:00:00Z"), "");
}

TEST_F(Granularity, FilesWithoutBucketsMoveAsTheyAre) {
  EXPECT_EQ(Home(3, "2026-07-01 11:00:00Z", "2026-07-01 11:59:59Z"), "");
  EXPECT_EQ(Home(3, "2026-06-28 23:00:00Z", "2026-06-28 23:59:59Z"), "time_day=2026-06-28");
  EXPECT_EQ(Home(3, "2026-03-31 23:00:00Z", "2026-03-31 23:59:59Z"), "time_month=2026-03");
  EXPECT_EQ(Home(4, "2026-03-05 00:00:00Z", "2026-03-05 11:00:00Z"), "time_month=2026-03");
  EXPECT_EQ(Home(5, "2026-03-05 00:00:00Z", "2026-03-05 11:00:00Z"), "");
}

TEST_F(Granularity, FilesOfSeveralSpansStay) {
  // As a foreign writer's file without bounds: it may hold any time.
  EXPECT_EQ(Home(0, "2026-03-31 23:00:00Z", "2026-04-01 00:10:00Z"), "");
  rules_.tiers.clear();
  EXPECT_EQ(Home(0, "2026-03-31 23:00:00Z", "2026-03-31 23:10:00Z"), "");
}

TEST_F(Granularity, AgesThatReachBeforeTheCalendarMoveNothing) {
  rules_.now_us = INT64_MIN + 5;
  EXPECT_EQ(Home(0, "1969-03-31 23:00:00Z", "1969-03-31 23:10:00Z"), "");
}

}  // namespace
}  // namespace timelake::maintain
