#include "iceberg/arrow_schema.h"

#include <arrow/extension/json.h>
#include <arrow/extension/uuid.h>
#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>

#include "unit/iceberg/expect.h"

namespace timelake::iceberg {
namespace {

using arrow::TimeUnit;
using TypePtr = std::shared_ptr<arrow::DataType>;

Type T(std::string_view text) { return Must(ParseType(text)); }

Result<Schema> Convert(const TypePtr& type) {
  return FromArrow(*arrow::schema({arrow::field("c", type)}));
}

// PEER section 4; wider where nothing is lost.
TEST(FromArrow, EveryAcceptedType) {
  const std::pair<TypePtr, const char*> cases[] = {
      {arrow::boolean(), "boolean"},
      {arrow::int8(), "int"},
      {arrow::int16(), "int"},
      {arrow::int32(), "int"},
      {arrow::uint8(), "int"},
      {arrow::uint16(), "int"},
      {arrow::uint32(), "long"},
      {arrow::int64(), "long"},
      {arrow::float16(), "float"},
      {arrow::float32(), "float"},
      {arrow::float64(), "double"},
      {arrow::utf8(), "string"},
      {arrow::large_utf8(), "string"},
      {arrow::utf8_view(), "string"},
      {arrow::dictionary(arrow::int32(), arrow::utf8()), "string"},
      {arrow::dictionary(arrow::int8(), arrow::int64()), "long"},
      {arrow::run_end_encoded(arrow::int32(), arrow::float64()), "double"},
      {arrow::extension::json(), "string"},
      {arrow::binary(), "binary"},
      {arrow::large_binary(), "binary"},
      {arrow::binary_view(), "binary"},
      {arrow::fixed_size_binary(7), "fixed[7]"},
      {arrow::extension::uuid(), "uuid"},
      {arrow::date32(), "date"},
      {arrow::date64(), "date"},
      {arrow::time32(TimeUnit::SECOND), "time"},
      {arrow::time32(TimeUnit::MILLI), "time"},
      {arrow::time64(TimeUnit::MICRO), "time"},
      {arrow::timestamp(TimeUnit::SECOND), "timestamp"},
      {arrow::timestamp(TimeUnit::NANO), "timestamp"},
      {arrow::timestamp(TimeUnit::MICRO, "UTC"), "timestamptz"},
      {arrow::timestamp(TimeUnit::MILLI, "Europe/Berlin"), "timestamptz"},
      {arrow::decimal32(9, 2), "decimal(9,2)"},
      {arrow::decimal64(18, 3), "decimal(18,3)"},
      {arrow::decimal128(38, 0), "decimal(38,0)"},
      {arrow::decimal256(38, 10), "decimal(38,10)"},
      {arrow::list(arrow::int32()), "list<int>"},
      {arrow::list(arrow::field("item", arrow::int32(), false)), "list<int!>"},
      {arrow::large_list(arrow::utf8()), "list<string>"},
      {arrow::fixed_size_list(arrow::float32(), 3), "list<float>"},
      {arrow::list_view(arrow::int32()), "list<int>"},
      {arrow::map(arrow::utf8(), arrow::float64()), "map<string,double>"},
      {arrow::struct_({arrow::field("a", arrow::int32()),
                       arrow::field("b", arrow::list(arrow::date32()), false)}),
       "struct<a:int,b:list<date>!>"},
  };
  for (const auto& [type, name] : cases) {
    EXPECT_EQ(TypeName(Must(Convert(type)).fields.at(0).type), name) << type->ToString();
  }
}

TEST(FromArrow, RefusesNamingColumnAndCast) {
  const std::pair<TypePtr, const char*> cases[] = {
      {arrow::uint64(), "column \"c\": Arrow type uint64 is not supported; cast to int64"},
      {arrow::time64(TimeUnit::NANO),
       "column \"c\": Arrow type time64[ns] is not supported; "
       "cast to time64[us]"},
      {arrow::null(), "give the column a type"},
      {arrow::duration(TimeUnit::SECOND), "duration[s] is not supported; cast it to one of"},
      {arrow::month_interval(), "cast it to one of: boolean, int"},
      {arrow::dense_union({arrow::field("x", arrow::int32())}), "cast it to one of"},
      {arrow::decimal256(39, 2), "at most 38 digits"},
      {arrow::decimal128(9, -2), "the scale must be in 0..precision"},
      {arrow::fixed_size_binary(0), "cast to binary"},
      {arrow::list(arrow::uint64()), "column \"c.element\": Arrow type uint64"},
      {arrow::struct_({arrow::field("x", arrow::map(arrow::utf8(), arrow::null()))}),
       "column \"c.x.value\": Arrow type null"},
  };
  for (const auto& [type, fragment] : cases) {
    SCOPED_TRACE(fragment);
    ExpectError(Convert(type).status(), ErrorKind::kUnsupported, fragment);
  }
  TypePtr deep = arrow::int32();
  for (int i = 0; i < 80; ++i) deep = arrow::list(deep);
  ExpectError(Convert(deep).status(), ErrorKind::kInvalidArgument, "nest deeper than 64");
  ExpectError(FromArrow(*arrow::schema(
                            {arrow::field("a", arrow::int32()), arrow::field("a", arrow::int32())}))
                  .status(),
              ErrorKind::kInvalidArgument, "column \"a\" is there twice");
}

TEST(FromArrow, GivenTypesWin) {
  const auto arrow_schema =
      arrow::schema({arrow::field("a", arrow::null()), arrow::field("b", arrow::uint64(), false)});
  const Schema schema =
      Must(FromArrow(*arrow_schema, {{"a", T("double")}, {"b", T("decimal(20,0)")}}));
  EXPECT_EQ(schema.fields[0].type, T("double"));
  EXPECT_EQ(schema.fields[1].type, T("decimal(20,0)"));
  EXPECT_TRUE(schema.fields[1].required);
  ExpectError(FromArrow(*arrow_schema, {{"z", T("int")}}).status(), ErrorKind::kInvalidArgument,
              "a type is given for column \"z\", which is not there; columns: a,b");
}

TEST(FromArrow, UuidWhoseExtensionIsNotRegistered) {
  auto field =
      arrow::field("u", arrow::fixed_size_binary(16))
          ->WithMetadata(arrow::key_value_metadata({"ARROW:extension:name"}, {"arrow.uuid"}));
  EXPECT_EQ(Must(FromArrow(*arrow::schema({field}))).fields.at(0).type, T("uuid"));
}

TEST(FromArrow, FreshIdsAndNullability) {
  const Schema schema = Must(FromArrow(*arrow::schema(
      {arrow::field("a", arrow::list(arrow::int32()), false), arrow::field("b", arrow::utf8())})));
  EXPECT_EQ(schema.fields[0].id, 1);
  EXPECT_TRUE(schema.fields[0].required);
  EXPECT_EQ(schema.fields[1].id, 2);
  EXPECT_FALSE(schema.fields[1].required);
  EXPECT_EQ(schema.fields[0].type.fields[0].id, 3);
  EXPECT_EQ(schema.fields[0].type.fields[0].name, "element");
}

TEST(ToArrow, EveryTypeThereAndBack) {
  const Schema schema = Must(ParseSchemaText(
      "a:boolean!, b:int, c:long, d:float, e:double, f:decimal(9,2), g:date, h:time, "
      "i:timestamp, j:timestamptz, k:string, l:uuid, m:fixed(5), n:binary, o:list<int!>, "
      "p:map<string,list<uuid>>, q:struct<x:int!,y:struct<z:date>>"));
  const auto arrow_schema = ToArrow(schema);
  EXPECT_TRUE(SameFields(Must(FromArrow(*arrow_schema)), schema));
  EXPECT_TRUE(arrow_schema->field(9)->type()->Equals(arrow::timestamp(TimeUnit::MICRO, "UTC")));
  EXPECT_TRUE(arrow_schema->field(8)->type()->Equals(arrow::timestamp(TimeUnit::MICRO)));
  EXPECT_FALSE(arrow_schema->field(0)->nullable());
  EXPECT_TRUE(arrow_schema->field(1)->nullable());
}

TEST(ToArrow, FieldIdsAtEveryDepth) {
  auto id_of = [](const arrow::Field& field) {
    return field.metadata()->Get(kArrowFieldIdKey).ValueOr("none");
  };
  const auto schema = ToArrow(Must(ParseSchemaText("a:list<int>, b:map<string,struct<x:int>>")));
  EXPECT_EQ(id_of(*schema->field(0)), "1");
  EXPECT_EQ(id_of(*schema->field(1)), "2");
  EXPECT_EQ(id_of(*schema->field(0)->type()->field(0)), "3");
  const auto& map = static_cast<const arrow::MapType&>(*schema->field(1)->type());
  EXPECT_EQ(id_of(*map.key_field()), "4");
  EXPECT_FALSE(map.key_field()->nullable());
  EXPECT_EQ(id_of(*map.item_field()), "5");
  EXPECT_EQ(id_of(*map.item_field()->type()->field(0)), "6");
}

}  // namespace
}  // namespace timelake::iceberg
