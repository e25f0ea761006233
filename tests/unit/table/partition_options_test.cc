#include "table/partition_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/schema.h"
#include "table/contract.h"
#include "timelake/error.h"

namespace timelake::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

iceberg::Schema Columns() {
  return *iceberg::ParseSchemaText(
      "time:timestamptz, host:string, unit:int, site:string, v:double, "
      "site_bucket:int, l:list<int>");
}

TableOptions Keyed() {
  TableOptions options;
  options.time_column = "time";
  options.series_key = {"host", "unit", "site"};
  return options;
}

Result<iceberg::TableMetadata> Made(const TableOptions& options) {
  return NewTableMetadata(Columns(), options, "file:///w/t", "11111111-2222-4333-8444-555555555555",
                          "c", 0);
}

std::vector<std::string> Fields(const TableOptions& options) {
  const auto metadata = Made(options);
  EXPECT_TRUE(metadata.ok()) << metadata.status();
  std::vector<std::string> fields;
  if (!metadata.ok()) return fields;
  for (const auto& field : metadata->partition_specs[0].fields) {
    fields.push_back(fmt::format("{} {} {}", field.field_id, field.name,
                                 iceberg::TransformName(field.transform)));
  }
  EXPECT_EQ(metadata->last_partition_id,
            fields.empty() ? 999 : 999 + static_cast<int>(fields.size()));
  return fields;
}

std::string Refused(const std::string& text, TableOptions options = Keyed()) {
  options.partition_by = {text};
  const auto metadata = Made(options);
  EXPECT_FALSE(metadata.ok()) << text;
  EXPECT_EQ(KindOf(metadata.status()), ErrorKind::kInvalidArgument);
  return metadata.status().message();
}

TEST(PartitionBy, ASpecWithoutTheBucketsIsThere) {
  TableOptions options = Keyed();
  const auto coarse = [&] { return CoarseSpec(Made(options).ValueOrDie()); };
  EXPECT_FALSE(coarse().has_value());
  options.partition_by = {"identity(site)"};
  EXPECT_FALSE(coarse().has_value());
  EXPECT_EQ(Made(options)->partition_specs.size(), 1u);
  options.partition_by = {"bucket(4, host)", "identity(site)"};
  const auto found = coarse();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->spec_id, 1);
  ASSERT_EQ(found->fields.size(), 2u);
  EXPECT_EQ(found->fields[0].name, "time_day");
  EXPECT_EQ(found->fields[1].name, "site");
  EXPECT_EQ(found->fields[1].field_id, 1002);
  // Tables of others need not have one.
  auto metadata = Made(options).ValueOrDie();
  EXPECT_EQ(metadata.default_spec_id, 0);
  metadata.partition_specs.pop_back();
  EXPECT_FALSE(CoarseSpec(metadata).has_value());
}

TEST(PartitionBy, BucketsAndIdentity) {
  TableOptions options = Keyed();
  EXPECT_THAT(Fields(options), ElementsAre("1000 time_day day"));
  options.chunk = Chunk::kYear;
  options.partition_by = {"bucket(16, host)", " Identity( site ) "};
  EXPECT_THAT(Fields(options), ElementsAre("1000 time_year year", "1001 host_bucket bucket[16]",
                                           "1002 site identity"));
  options.series_key = {"host"};
  options.partition_by = {"bucket(4)"};
  EXPECT_THAT(Fields(options), ElementsAre("1000 time_year year", "1001 host_bucket bucket[4]"));
  TableOptions plain;
  EXPECT_THAT(Fields(plain), IsEmpty());
  plain.partition_by = {"identity(unit)", "bucket(8, unit)"};
  EXPECT_THAT(Fields(plain), ElementsAre("1000 unit identity", "1001 unit_bucket bucket[8]"));
}

TEST(PartitionBy, WhatIsRefused) {
  for (const char* text :
       {"", "host", "hash(4, host)", "bucket(0, host)", "bucket(10001, host)", "bucket(x, host)",
        "bucket(4, )", "bucket(, host)", "identity()", "bucket(4, host"}) {
    EXPECT_THAT(Refused(text), HasSubstr("is expected, with N of 1 .. 10000")) << text;
  }
  EXPECT_THAT(Refused("bucket(4, hosts)"), HasSubstr("no column \"hosts\""));
  EXPECT_THAT(Refused("bucket(4)"), HasSubstr("only one, and that has 3"));
  EXPECT_THAT(Refused("identity(time)"), HasSubstr("by the chunk interval"));
  EXPECT_THAT(Refused("bucket(4, site)"), HasSubstr("called \"site_bucket\", as a column is"));
  TableOptions options = Keyed();
  EXPECT_THAT(Refused("identity(site_bucket)", options), HasSubstr("one of the series key"));
  options.dedup = false;
  EXPECT_THAT(Refused("identity(v)", options), HasSubstr("equal values may have different bytes"));
  EXPECT_THAT(Refused("identity(l)", options), HasSubstr("identity"));
  options.partition_by = {"identity(site_bucket)"};
  EXPECT_THAT(Fields(options), ElementsAre("1000 time_day day", "1001 site_bucket identity"));
  options.partition_by = {"bucket(4, host)", "bucket(8, host)"};
  EXPECT_THAT(Made(options).status().message(), HasSubstr("\"host_bucket\" already"));
}

TEST(PartitionBy, ByExpectedRows) {
  const auto layout = [](int64_t rows) {
    const TableOptions options = WithExpectedRows(Keyed(), rows);
    return std::string(ChunkName(options.chunk)) +
           (options.partition_by.empty() ? "" : " " + options.partition_by[0]);
  };
  EXPECT_EQ(layout(1), "year");
  EXPECT_EQ(layout(33'332), "year");
  EXPECT_EQ(layout(33'333), "month");
  EXPECT_EQ(layout(999'999), "month");
  EXPECT_EQ(layout(1'000'000), "day");
  EXPECT_EQ(layout(20'000'000 * int64_t{24} - 1), "day");
  EXPECT_EQ(layout(20'000'000 * int64_t{24}), "hour");
  EXPECT_EQ(layout(100'000'000 * int64_t{24}), "hour");
  EXPECT_EQ(layout(101'000'000 * int64_t{24}), "hour bucket(4, host)");
  EXPECT_EQ(layout(INT64_MAX), "hour bucket(256, host)");
}

}  // namespace
}  // namespace timelake::table
