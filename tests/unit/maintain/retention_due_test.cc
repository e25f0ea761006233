#include "maintain/retention_due.h"

#include <gtest/gtest.h>

#include "base/civil_time.h"

namespace timelake::maintain {
namespace {

constexpr int64_t kDay = kMicrosPerDay;

// A manifest whose earliest day is so many days after 1970.
iceberg::ManifestFile Manifest(int32_t day, int spec_id = 0) {
  iceberg::ManifestFile row;
  row.partition_spec_id = spec_id;
  row.added_files_count = 1;
  iceberg::Type type;
  type.id = iceberg::TypeId::kInt;
  row.partitions.resize(2);
  row.partitions[1].lower_bound = *iceberg::ToBytes(type, iceberg::Value(day));
  return row;
}

TEST(RetentionDueTest, ByTheEarliestPartitionOfAManifest) {
  iceberg::TableMetadata metadata;
  iceberg::PartitionSpec spec;
  spec.fields.resize(2);
  spec.fields[0].source_id = 2;
  spec.fields[0].transform = iceberg::ParseTransform("bucket[4]");
  spec.fields[1].source_id = 1;
  spec.fields[1].transform = iceberg::ParseTransform("day");
  metadata.partition_specs = {spec};
  const auto due = [&](const table::ManifestRows& rows, int64_t cutoff) {
    return RetentionDue(rows, metadata, 1, cutoff);
  };
  EXPECT_FALSE(due({}, 100 * kDay));
  EXPECT_TRUE(due({Manifest(99)}, 100 * kDay));
  EXPECT_FALSE(due({Manifest(99)}, 100 * kDay - 1));
  EXPECT_TRUE(due({Manifest(100), Manifest(3)}, 50 * kDay));
  EXPECT_TRUE(due({Manifest(-3)}, -2 * kDay));
  iceberg::ManifestFile row = Manifest(3);
  row.added_files_count = 0;
  EXPECT_FALSE(due({row}, 50 * kDay));  // all of it deleted
  row.existing_files_count = iceberg::kUnknownCount;
  EXPECT_TRUE(due({row}, 50 * kDay));
  row.content = iceberg::ManifestContent::kDeletes;
  EXPECT_FALSE(due({row}, 50 * kDay));
  row = Manifest(3);
  row.partitions.clear();
  EXPECT_FALSE(due({row}, 50 * kDay));
  row = Manifest(3);
  row.partitions[1].lower_bound = "x";
  EXPECT_FALSE(due({row}, 50 * kDay));
  EXPECT_FALSE(due({Manifest(3, 7)}, 50 * kDay));  // a spec that is not known
  metadata.partition_specs[0].fields[1].transform = iceberg::ParseTransform("identity");
  EXPECT_FALSE(due({Manifest(3)}, 50 * kDay));
}

}  // namespace
}  // namespace timelake::maintain
