#include "table/append_columns.h"

#include <gtest/gtest.h>

#include "table/contract.h"
#include "table/schema_changes.h"

namespace timelake::table {
namespace {

using Kind = SchemaChange::Kind;

Version Sample() {
  const auto schema =
      iceberg::ParseSchemaText("time:timestamptz, device:string, v:double, n:int, o:int");
  TableOptions options;
  options.time_column = "time";
  options.series_key = {"device"};
  Version version;
  version.number = 1;
  version.metadata = std::make_shared<const iceberg::TableMetadata>(
      NewTableMetadata(schema.ValueOrDie(), options, "file:///wh/ns/t",
                       "f79c3e09-677c-4bbd-a479-3f349cb785e7", "c", 0)
          .ValueOrDie());
  return version;
}

Version Changed(const Version& version, const std::vector<SchemaChange>& changes) {
  auto metadata = std::make_shared<iceberg::TableMetadata>(*version.metadata);
  std::vector<ColumnChange> columns;
  for (const auto& change : changes) {
    columns.push_back(ToColumnChange("ns.t", change).ValueOrDie());
  }
  EXPECT_TRUE(ChangeColumns("ns.t", columns, metadata.get()).ok());
  Version next = version;
  next.number += 1;
  next.metadata = metadata;
  return next;
}

// Files of an append that saw `seen`, of data with these columns beyond time and device.
WrittenColumns Written(const Version& seen, std::set<std::string> given,
                       const std::vector<SchemaChange>& adds = {}) {
  WrittenColumns written;
  written.schema = *iceberg::CurrentSchema(*Changed(seen, adds).metadata);
  written.given = std::move(given);
  written.given.insert({"time", "device"});
  written.last_column_id = seen.metadata->last_column_id;
  return written;
}

iceberg::Schema Now(const FittedVersion& fitted) {
  return *iceberg::CurrentSchema(*fitted.base.metadata);
}

TEST(FitColumns, WhatChangesElsewhereDoesNotMatter) {
  const Version base = Sample();
  const WrittenColumns written = Written(base, {"v", "n"});
  for (const std::vector<SchemaChange>& changes : {
           std::vector<SchemaChange>{},
           {{Kind::kAdd, "p", "double", "device"}},
           {{Kind::kDrop, "o", "", ""}},
           {{Kind::kRename, "o", "other", ""}},
           {{Kind::kWiden, "n", "long", ""}},
       }) {
    const Version now = Changed(base, changes);
    const auto fitted = FitColumns(now, written);
    ASSERT_TRUE(fitted);
    EXPECT_EQ(fitted->base.metadata, now.metadata);
    EXPECT_TRUE(fitted->added.empty());
  }
}

TEST(FitColumns, AColumnOfTheDataThatIsAnotherNow) {
  const Version base = Sample();
  const WrittenColumns written = Written(base, {"v", "n"});
  for (const std::vector<SchemaChange>& changes : {
           std::vector<SchemaChange>{{Kind::kDrop, "v", "", ""}},
           {{Kind::kRename, "v", "w", ""}},
           {{Kind::kDrop, "v", "", ""}, {Kind::kAdd, "v", "double", ""}},
           {{Kind::kRename, "v", "w", ""}, {Kind::kRename, "o", "v", ""}},
       }) {
    EXPECT_FALSE(FitColumns(Changed(base, changes), written));
  }
}

TEST(FitColumns, NewColumns) {
  const Version base = Sample();
  const SchemaChange p{Kind::kAdd, "p", "int", ""}, q{Kind::kAdd, "q", "list<int>", ""};
  const WrittenColumns written = Written(base, {"v", "p", "q"}, {p, q});
  const auto alone = FitColumns(base, written);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->added, (std::vector<std::string>{"p", "q"}));
  EXPECT_TRUE(iceberg::SameFields(Now(*alone), written.schema));
  EXPECT_EQ(alone->base.metadata->current_schema_id, 1);
  EXPECT_EQ(alone->base.metadata->last_column_id, base.metadata->last_column_id + 3);

  // Somebody else has added the first of them: it has the same id.
  const auto half = FitColumns(Changed(base, {p}), written);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->added, (std::vector<std::string>{"q"}));
  EXPECT_TRUE(iceberg::SameFields(Now(*half), written.schema));
  const auto both = FitColumns(Changed(base, {p, q}), written);
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->added.empty());
  EXPECT_TRUE(FitColumns(Changed(base, {{Kind::kAdd, "p", "long", ""}, q}), written));
}

TEST(FitColumns, NewColumnsWhoseIdsAreOfOthers) {
  const Version base = Sample();
  const SchemaChange p{Kind::kAdd, "p", "int", ""}, q{Kind::kAdd, "q", "int", ""};
  const WrittenColumns written = Written(base, {"v", "p"}, {p});
  EXPECT_FALSE(FitColumns(Changed(base, {q}), written));
  EXPECT_FALSE(FitColumns(Changed(base, {q, p}), written));
  EXPECT_FALSE(FitColumns(Changed(Changed(base, {q}), {{Kind::kDrop, "q", "", ""}}), written));
  EXPECT_FALSE(FitColumns(Changed(base, {{Kind::kAdd, "p", "string", ""}}), written));
  EXPECT_FALSE(FitColumns(Changed(base, {{Kind::kAdd, "P", "int", ""}}), written));
  EXPECT_FALSE(FitColumns(Changed(Changed(base, {p}), {{Kind::kDrop, "p", "", ""}}), written));
}

TEST(FitColumns, AColumnThatAnotherEngineRequires) {
  const Version base = Sample();
  const WrittenColumns written = Written(base, {"v"});
  auto metadata = std::make_shared<iceberg::TableMetadata>(*base.metadata);
  iceberg::Schema schema = *iceberg::CurrentSchema(*metadata);
  schema.fields[2].required = true;
  SetSchema(schema, metadata.get());
  Version now = base;
  now.metadata = metadata;
  EXPECT_FALSE(FitColumns(now, written));
}

}  // namespace
}  // namespace timelake::table
