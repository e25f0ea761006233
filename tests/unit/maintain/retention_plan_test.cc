#include "maintain/retention_plan.h"

#include <deque>

#include <gtest/gtest.h>

#include "base/civil_time.h"

namespace timelake::maintain {
namespace {

constexpr int kTime = 2;

iceberg::PartitionSpec SpecBy(int spec_id, const std::string& transform) {
  iceberg::PartitionSpec spec;
  spec.spec_id = spec_id;
  if (transform.empty()) return spec;
  iceberg::PartitionField field;
  field.source_id = kTime;
  field.field_id = 1000 + spec_id;
  field.name = "time";
  field.transform = iceberg::ParseTransform(transform);
  spec.fields = {field};
  return spec;
}

int64_t At(const std::string& text) { return ParseTimestamp(text).ValueOrDie().micros; }

// Specs 0 to 4: by hour, day, month, year and not at all.
class Retention : public ::testing::Test {
 protected:
  Retention() {
    int id = 0;
    for (const char* transform : {"hour", "day", "month", "year", ""}) {
      metadata_.partition_specs.push_back(SpecBy(id++, transform));
    }
  }

  // A file of spec `spec` in the partition of `first`.
  void Add(int spec, const std::string& first, const std::string& last, int64_t sequence = 1) {
    LiveFile& live = files_.emplace_back();
    live.range.first = At(first);
    live.range.last = At(last);
    iceberg::DataFile data;
    data.record_count = 10;
    data.file_size_in_bytes = 100;
    for (const auto& field : metadata_.partition_specs[static_cast<size_t>(spec)].fields) {
      iceberg::Type type;
      type.id = iceberg::TypeId::kTimestamptz;
      data.partition.push_back(
          iceberg::Apply(field.transform, type, iceberg::Value(At(first))).ValueOrDie());
    }
    scan::ScanFile& file = scans_.emplace_back();
    file.data = std::make_shared<const iceberg::DataFile>(std::move(data));
    file.spec_id = spec;
    file.sequence_number = sequence;
    live.file = &file;
  }

  RetentionPlan Plan(const std::string& cutoff, bool dedup = true, bool by_ingest = false) {
    RetentionRules rules;
    rules.cutoff_us = At(cutoff);
    rules.time_id = kTime;
    rules.dedup = dedup;
    rules.by_ingest = by_ingest;
    return PlanRetention(files_, metadata_, rules,
                         [](const scan::KeyRange& a, const scan::KeyRange& b) {
                           return a.first <= b.last && b.first <= a.last;
                         });
  }

  iceberg::TableMetadata metadata_;
  std::deque<scan::ScanFile> scans_;
  std::vector<LiveFile> files_;
};

using Numbers = std::vector<size_t>;

TEST_F(Retention, DropsPartitionsThatEndedAtTheCutoffOrBefore) {
  Add(1, "2026-01-03T05:00:00Z", "2026-01-03T06:00:00Z");
  Add(1, "2026-01-04T00:00:00Z", "2026-01-04T00:00:01Z");
  EXPECT_EQ(Plan("2026-01-03T23:59:59.999999Z").drop, Numbers{});
  EXPECT_EQ(Plan("2026-01-04T00:00:00Z").drop, Numbers{0});
  // All rows of the second are before the cutoff, but its day is not over.
  EXPECT_EQ(Plan("2026-01-04T12:00:00Z").drop, Numbers{0});
  const RetentionPlan both = Plan("2026-01-05T00:00:00Z");
  EXPECT_EQ(both.drop, (Numbers{0, 1}));
  EXPECT_EQ(both.partitions, 2);
  EXPECT_EQ(both.rows, 20);
  EXPECT_EQ(both.bytes, 200);
}

TEST_F(Retention, DropsAMonthOnlyWhenAllOfItIsPast) {
  Add(2, "2026-01-31T05:00:00Z", "2026-01-31T06:00:00Z");
  Add(0, "2026-01-31T05:10:00Z", "2026-01-31T05:20:00Z");
  Add(3, "2025-12-31T05:10:00Z", "2025-12-31T05:20:00Z");
  EXPECT_EQ(Plan("2025-12-31T23:00:00Z", false).drop, Numbers{});
  EXPECT_EQ(Plan("2026-01-01T00:00:00Z", false).drop, Numbers{2});
  EXPECT_EQ(Plan("2026-01-31T06:00:00Z", false).drop, (Numbers{1, 2}));
  EXPECT_EQ(Plan("2026-01-31T23:59:59Z", false).drop, (Numbers{1, 2}));
  EXPECT_EQ(Plan("2026-02-01T00:00:00Z", false).drop, (Numbers{0, 1, 2}));
}

TEST_F(Retention, BeforeNineteenSeventy) {
  Add(1, "1969-12-31T05:00:00Z", "1969-12-31T06:00:00Z");
  EXPECT_EQ(Plan("1969-12-31T23:00:00Z").drop, Numbers{});
  EXPECT_EQ(Plan("1970-01-01T00:00:00Z").drop, Numbers{0});
}

TEST_F(Retention, OfUnpartitionedFilesGoesByTheirBounds) {
  Add(4, "2026-01-03T05:00:00Z", "2026-01-03T06:00:00Z");
  EXPECT_EQ(Plan("2026-01-03T06:00:00Z").drop, Numbers{});
  EXPECT_EQ(Plan("2026-01-03T06:00:00.000001Z").drop, Numbers{0});
  files_[0].range = {};  // no bounds
  EXPECT_EQ(Plan("2100-01-01T00:00:00Z").drop, Numbers{});
}

TEST_F(Retention, KeepsAFileWithoutAPartitionValue) {
  Add(1, "2026-01-03T05:00:00Z", "2026-01-03T06:00:00Z");
  iceberg::DataFile data = *scans_[0].data;
  data.partition = {iceberg::Value{}};
  scans_[0].data = std::make_shared<const iceberg::DataFile>(data);
  EXPECT_EQ(Plan("2100-01-01T00:00:00Z").drop, Numbers{});
}

// COMMIT, "Order of writes": an older row in a file that stays would come back.
TEST_F(Retention, HoldsBackWhatHidesAnOlderRow) {
  Add(1, "2026-01-03T05:00:00Z", "2026-01-03T06:00:00Z", 5);
  Add(1, "2026-01-03T10:00:00Z", "2026-01-03T11:00:00Z", 5);
  Add(2, "2026-01-01T00:00:00Z", "2026-01-03T05:30:00Z", 3);  // the month goes on
  const RetentionPlan plan = Plan("2026-01-04T00:00:00Z");
  EXPECT_EQ(plan.drop, Numbers{1});
  EXPECT_EQ(plan.held_back, 1);
  EXPECT_EQ(Plan("2026-01-04T00:00:00Z", /*dedup=*/false).drop, (Numbers{0, 1}));
  EXPECT_EQ(Plan("2026-02-01T00:00:00Z").drop, (Numbers{0, 1, 2}));
}

TEST_F(Retention, DropsWhatHidesNothing) {
  Add(1, "2026-01-03T05:00:00Z", "2026-01-03T06:00:00Z", 5);
  Add(2, "2026-01-01T00:00:00Z", "2026-01-03T05:30:00Z", 7);  // younger
  EXPECT_EQ(Plan("2026-01-04T00:00:00Z").drop, Numbers{0});
  // With an ingest time the younger file may still hold the row that lost.
  EXPECT_EQ(Plan("2026-01-04T00:00:00Z", true, /*by_ingest=*/true).drop, Numbers{});
}

TEST_F(Retention, SingleRowsGoAsFarAsIsAffordable) {
  // Around noon of a day: two files at 100 bytes each begin at 00:00 and 06:00.
  Add(1, "2026-01-03 00:00:00Z", "2026-01-03 20:00:00Z");
  Add(1, "2026-01-03 06:00:00Z", "2026-01-03 20:00:00Z");
  Add(1, "2026-01-03 00:00:00Z", "2026-01-03 05:00:00Z");  // past as a whole: is not read
  Add(1, "2026-01-03 13:00:00Z", "2026-01-03 20:00:00Z");  // not at all
  const int64_t noon = At("2026-01-03 12:00:00Z");
  const auto plan = [&](int64_t max_bytes) {
    const RowCutoff cutoff = PlanRowCutoff({files_.begin(), files_.end()}, noon, max_bytes);
    return std::vector<int64_t>{cutoff.cutoff_us, cutoff.bytes, cutoff.left_bytes};
  };
  EXPECT_EQ(plan(0), (std::vector<int64_t>{noon, 200, 0}));
  EXPECT_EQ(plan(200), (std::vector<int64_t>{noon, 200, 0}));
  EXPECT_EQ(plan(199), (std::vector<int64_t>{At("2026-01-03 06:00:00Z"), 100, 200}));
  EXPECT_EQ(plan(99), (std::vector<int64_t>{At("2026-01-03 00:00:00Z"), 0, 200}));
}

TEST_F(Retention, WhatIsHeldBackHoldsBackOthers) {
  Add(1, "2026-01-03T05:00:00Z", "2026-01-03T06:00:00Z", 5);
  Add(0, "2026-01-03T05:59:00Z", "2026-01-03T05:59:30Z", 8);
  Add(2, "2026-01-01T00:00:00Z", "2026-01-03T05:30:00Z", 3);
  const RetentionPlan plan = Plan("2026-01-04T00:00:00Z");
  EXPECT_EQ(plan.drop, Numbers{});
  EXPECT_EQ(plan.held_back, 2);
}

}  // namespace
}  // namespace timelake::maintain
