#include "table/schema_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/invariants.h"
#include "iceberg/schema.h"
#include "table/contract.h"

namespace timelake::table {
namespace {

using testing::HasSubstr;
using Kind = SchemaChange::Kind;
using Names = std::vector<std::string>;

iceberg::TableMetadata Sample(std::map<std::string, std::string> properties = {}) {
  const auto schema = iceberg::ParseSchemaText(
      "time:timestamptz, device:string, v:float, n:int, d:decimal(9,2), tags:map<string,int>");
  TableOptions options;
  options.time_column = "time";
  options.series_key = {"device"};
  options.ingest_time = true;
  options.properties = std::move(properties);
  return NewTableMetadata(schema.ValueOrDie(), options, "file:///wh/ns/t",
                          "f79c3e09-677c-4bbd-a479-3f349cb785e7", "c", 0)
      .ValueOrDie();
}

Status Change(const std::vector<SchemaChange>& changes, iceberg::TableMetadata* metadata) {
  std::vector<ColumnChange> columns;
  for (const SchemaChange& change : changes) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(), ToColumnChange("ns.t", change));
  }
  const iceberg::TableMetadata before = *metadata;
  TL_RETURN_NOT_OK(ChangeColumns("ns.t", columns, metadata));
  iceberg::TableMetadata stamped = *metadata;
  stamped.properties[kCommitId] += "+";
  const Status follows = iceberg::CheckSuccession(before, stamped);
  EXPECT_TRUE(follows.ok()) << follows.ToString();
  return Status::OK();
}

const iceberg::Schema& Now(const iceberg::TableMetadata& metadata) {
  return *iceberg::CurrentSchema(metadata);
}

TEST(ChangeColumns, AddsRenamesDropsAndWidens) {
  auto metadata = Sample();
  const int last = metadata.last_column_id;
  const auto before = Now(metadata);
  ASSERT_TRUE(Change({{Kind::kAdd, "p", "double", ""},
                      {Kind::kAdd, "li", "list<int>", ""},
                      {Kind::kRename, "v", "voltage", ""},
                      {Kind::kWiden, "n", "long", ""},
                      {Kind::kWiden, "d", "decimal(18,2)", ""},
                      {Kind::kWiden, "voltage", "double", ""},
                      {Kind::kDrop, "tags", "", ""}},
                     &metadata)
                  .ok());
  const auto& now = Now(metadata);
  EXPECT_EQ(iceberg::FieldNames(now),
            (Names{"time", "device", "voltage", "n", "d", "_ingest_ts", "p", "li"}));
  EXPECT_EQ(iceberg::FindField(now, "voltage")->id, iceberg::FindField(before, "v")->id);
  EXPECT_EQ(iceberg::TypeName(iceberg::FindField(now, "voltage")->type), "double");
  EXPECT_EQ(iceberg::TypeName(iceberg::FindField(now, "n")->type), "long");
  EXPECT_EQ(iceberg::TypeName(iceberg::FindField(now, "d")->type), "decimal(18,2)");
  EXPECT_EQ(iceberg::FindField(now, "p")->id, last + 1);
  EXPECT_FALSE(iceberg::FindField(now, "p")->required);
  EXPECT_EQ(metadata.last_column_id, last + 3);  // and the element of the list
  EXPECT_EQ(metadata.schemas.size(), 2u);
  EXPECT_EQ(now.schema_id, 1);
  EXPECT_TRUE(iceberg::SameFields(metadata.schemas[0], before));
}

TEST(ChangeColumns, NewColumnsComeWhereTheyAreWanted) {
  auto metadata = Sample();
  ASSERT_TRUE(
      Change({{Kind::kAdd, "p", "double", "device"}, {Kind::kAdd, "q", "int", "p"}}, &metadata)
          .ok());
  EXPECT_EQ(iceberg::FieldNames(Now(metadata)),
            (Names{"time", "device", "p", "q", "v", "n", "d", "tags", "_ingest_ts"}));
  const Status unknown = Change({{Kind::kAdd, "r", "int", "nope"}}, &metadata);
  EXPECT_THAT(MessageOf(unknown), HasSubstr("there is no column \"nope\""));
}

TEST(ChangeColumns, AnIdIsNeverGivenTwice) {
  auto metadata = Sample();
  ASSERT_TRUE(Change({{Kind::kAdd, "p", "double", ""}}, &metadata).ok());
  const int first = iceberg::FindField(Now(metadata), "p")->id;
  ASSERT_TRUE(Change({{Kind::kDrop, "p", "", ""}}, &metadata).ok());
  // The columns of the first schema, but younger.
  EXPECT_TRUE(iceberg::SameFields(Now(metadata), metadata.schemas[0]));
  EXPECT_EQ(metadata.current_schema_id, 2);
  ASSERT_TRUE(Change({{Kind::kAdd, "p", "double", ""}}, &metadata).ok());
  EXPECT_GT(iceberg::FindField(Now(metadata), "p")->id, first);
  // Also within one change.
  const int second = iceberg::FindField(Now(metadata), "p")->id;
  ASSERT_TRUE(
      Change({{Kind::kDrop, "p", "", ""}, {Kind::kAdd, "p", "double", ""}}, &metadata).ok());
  EXPECT_GT(iceberg::FindField(Now(metadata), "p")->id, second);
}

TEST(ChangeColumns, NothingToChange) {
  auto metadata = Sample();
  ASSERT_TRUE(
      Change({{Kind::kRename, "v", "v", ""}, {Kind::kWiden, "n", "int", ""}}, &metadata).ok());
  ColumnChange add, drop;
  add.column = "V";
  drop.kind = Kind::kDrop;
  drop.column = "nope";
  add.any_case = add.if_needed = drop.any_case = drop.if_needed = true;
  ASSERT_TRUE(ChangeColumns("ns.t", {add, drop}, &metadata).ok());
  EXPECT_EQ(metadata.schemas.size(), 1u);
  EXPECT_EQ(metadata.current_schema_id, 0);
}

TEST(ChangeColumns, NamesInAnyCaseWhereSqlAsks) {
  auto metadata = Sample();
  ColumnChange rename;
  rename.kind = Kind::kRename;
  rename.column = "V";
  rename.new_name = "w";
  rename.any_case = true;
  ASSERT_TRUE(ChangeColumns("ns.t", {rename}, &metadata).ok());
  EXPECT_NE(iceberg::FindField(Now(metadata), "w"), nullptr);
  // A name may change its own case.
  ASSERT_TRUE(Change({{Kind::kRename, "w", "W", ""}}, &metadata).ok());
  EXPECT_NE(iceberg::FindField(Now(metadata), "W"), nullptr);
}

TEST(ChangeColumns, Refused) {
  struct {
    SchemaChange change;
    const char* says;
  } cases[] = {
      {{Kind::kAdd, "v", "double", ""}, "table ns.t: there is a column \"v\" already"},
      {{Kind::kAdd, "V", "double", ""}, "column \"V\" would differ from \"v\" only in case"},
      {{Kind::kAdd, "time_day", "double", ""}, "\"time_day\" is the name of a partition field"},
      {{Kind::kAdd, "", "double", ""}, "a column has no name"},
      {{Kind::kAdd, "a\nb", "double", ""}, "has control characters"},
      {{Kind::kAdd, "p", "struct<a:int,A:int>", ""}, "differ only in case"},
      {{Kind::kAdd, "p", "decimal(50,2)", ""}, "50"},
      {{Kind::kAdd, "p", "dubble", ""}, "column \"p\""},
      {{Kind::kRename, "V", "w", ""}, "there is no column \"V\" (did you mean \"v\"?)"},
      {{Kind::kRename, "v", "n", ""}, "there is a column \"n\" already"},
      {{Kind::kRename, "v", "N", ""}, "column \"N\" would differ from \"n\" only in case"},
      {{Kind::kRename, "device", "x", ""}, "column \"device\" cannot be renamed: it is part of"},
      {{Kind::kDrop, "time", "", ""}, "column \"time\" cannot be dropped: it is the table's time"},
      {{Kind::kDrop, "_ingest_ts", "", ""}, "it is the ingest-time column"},
      {{Kind::kDrop, "n", "", ""}, "the setting bloom-columns names it"},
      {{Kind::kRename, "d", "e", ""}, "the property \"write.metadata.metrics.column.d\" names it"},
      {{Kind::kWiden, "v", "int", ""}, "column \"v\" is float and cannot become int; accepted are"},
      {{Kind::kWiden, "n", "double", ""}, "cannot become double"},
      {{Kind::kWiden, "d", "decimal(18,3)", ""}, "cannot become decimal(18,3)"},
      {{Kind::kWiden, "d", "decimal(8,2)", ""}, "cannot become decimal(8,2)"},
      {{Kind::kWiden, "tags", "string", ""}, "cannot become string"},
      {{Kind::kWiden, "tags", "map<string,long>", ""}, "cannot become map<string,long>"},
  };
  for (const auto& c : cases) {
    auto metadata = Sample({{"bloom-columns", "n"}, {"write.metadata.metrics.column.d", "full"}});
    const Status status = Change({{Kind::kAdd, "fine", "int", ""}, c.change}, &metadata);
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << status.ToString();
    EXPECT_THAT(MessageOf(status), HasSubstr(c.says));
    EXPECT_EQ(metadata.schemas.size(), 1u);
  }
}

// What other engines and the peer have made of a table.
TEST(ChangeColumns, ColumnsThatOthersUseStay) {
  auto metadata = Sample();
  const int n = iceberg::FindField(Now(metadata), "n")->id;
  iceberg::PartitionSpec spec;
  spec.spec_id = 1;
  iceberg::PartitionField& identity = spec.fields.emplace_back();
  identity.source_id = n;
  identity.field_id = 1001;
  identity.name = "n";
  metadata.partition_specs.push_back(spec);
  EXPECT_THAT(MessageOf(Change({{Kind::kDrop, "n", "", ""}}, &metadata)),
              HasSubstr("cannot be dropped: the table is or was partitioned by it"));
  EXPECT_THAT(MessageOf(Change({{Kind::kWiden, "n", "long", ""}}, &metadata)),
              HasSubstr("cannot be widened: the table is or was partitioned by it"));

  metadata = Sample();
  iceberg::SortOrder order;
  order.order_id = 7;
  order.fields.emplace_back().source_id = n;
  metadata.sort_orders.push_back(order);
  EXPECT_THAT(MessageOf(Change({{Kind::kDrop, "n", "", ""}}, &metadata)),
              HasSubstr("rows are or were ordered by it (sort order 7)"));

  metadata = Sample();
  metadata.schemas[0].identifier_field_ids = {n};
  EXPECT_THAT(MessageOf(Change({{Kind::kDrop, "n", "", ""}}, &metadata)),
              HasSubstr("it identifies rows"));

  metadata = Sample();
  metadata.properties["timelake.rollups"] = "ns.r";
  EXPECT_THAT(MessageOf(Change({{Kind::kRename, "n", "m", ""}}, &metadata)),
              HasSubstr("rollups go by names (property timelake.rollups)"));
  EXPECT_TRUE(Change({{Kind::kAdd, "p", "int", ""}}, &metadata).ok());

  metadata = Sample();
  metadata.properties["schema.name-mapping.default"] = "[]";
  EXPECT_THAT(MessageOf(Change({{Kind::kDrop, "n", "", ""}}, &metadata)),
              HasSubstr("data files without field ids go by names"));

  // Ids of all schemas count, whatever last-column-id says.
  metadata = Sample();
  iceberg::Schema old = metadata.schemas[0];
  old.schema_id = 1;
  old.fields.push_back({70, "old", false, {}, std::nullopt, {}});
  metadata.schemas.push_back(old);
  ColumnChange add;
  add.column = "p";
  ASSERT_TRUE(ChangeColumns("ns.t", {add}, &metadata).ok());
  EXPECT_EQ(iceberg::FindField(Now(metadata), "p")->id, 71);
}

TEST(CheckSuccession, AnIdStaysWithItsColumn) {
  const auto base = Sample();
  const auto fails = [&](auto&& spoil) {
    auto next = base;
    next.properties[kCommitId] = "other";
    auto schema = Now(next);
    spoil(&schema, &next);
    SetSchema(std::move(schema), &next);
    return MessageOf(iceberg::CheckSuccession(base, next));
  };
  EXPECT_THAT(fails([](auto* schema, auto*) {
                iceberg::Field field = schema->fields[2];
                field.type.id = iceberg::TypeId::kString;
                schema->fields[2] = field;
              }),
              HasSubstr("was float and becomes string"));
  // An id of a column that was dropped long ago.
  auto later = base;
  later.last_column_id += 5;
  auto next = later;
  next.properties[kCommitId] = "other";
  auto schema = Now(next);
  schema.fields.push_back({base.last_column_id + 1, "p", false, {}, std::nullopt, {}});
  SetSchema(schema, &next);
  EXPECT_THAT(MessageOf(iceberg::CheckSuccession(later, next)), HasSubstr("was given before"));
}

}  // namespace
}  // namespace timelake::table
