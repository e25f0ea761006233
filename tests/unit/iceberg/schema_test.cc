#include "iceberg/schema.h"

#include <gtest/gtest.h>

#include "unit/iceberg/expect.h"

namespace timelake::iceberg {
namespace {

Type T(std::string_view text) { return Must(ParseType(text)); }
Schema S(std::string_view text) { return Must(ParseSchemaText(text)); }

TEST(SchemaText, NamesTypesAndNullability) {
  const Schema schema = S("time:timestamptz, device:string!, v:double not null,n : int");
  ASSERT_EQ(schema.fields.size(), 4u);
  EXPECT_EQ(schema.fields[0].id, 1);
  EXPECT_EQ(schema.fields[0].name, "time");
  EXPECT_EQ(schema.fields[0].type.id, TypeId::kTimestamptz);
  EXPECT_FALSE(schema.fields[0].required);
  EXPECT_TRUE(schema.fields[1].required);
  EXPECT_TRUE(schema.fields[2].required);
  EXPECT_EQ(schema.fields[3].id, 4);
  EXPECT_EQ(schema.fields[3].name, "n");
}

TEST(SchemaText, EveryTypeAndItsSpellings) {
  const std::pair<const char*, const char*> cases[] = {
      {"boolean", "boolean"},
      {"BOOL", "boolean"},
      {"int", "int"},
      {"Integer", "int"},
      {"int32", "int"},
      {"smallint", "int"},
      {"bigint", "long"},
      {"INT64", "long"},
      {"float32", "float"},
      {"real", "float"},
      {"float64", "double"},
      {"double  precision", "double"},
      {"varchar", "string"},
      {"text", "string"},
      {"bytes", "binary"},
      {"uuid", "uuid"},
      {"date", "date"},
      {"time", "time"},
      {"timestamp", "timestamp"},
      {"Timestamp With Time Zone", "timestamptz"},
      {"timestamp without time zone", "timestamp"},
      {"decimal(9,2)", "decimal(9,2)"},
      {"DECIMAL( 38 , 0 )", "decimal(38,0)"},
      {"numeric(5)", "decimal(5,0)"},
      {"fixed(16)", "fixed[16]"},
      {"fixed[3]", "fixed[3]"},
      {"list<double>", "list<double>"},
      {"list<double!>", "list<double!>"},
      {"array<list<int>>", "list<list<int>>"},
      {"map<string, decimal(9,2) not null>", "map<string,decimal(9,2)!>"},
      {"struct<a:int!,b:map<string,list<text>>>", "struct<a:int!,b:map<string,list<string>>>"},
  };
  for (const auto& [text, name] : cases) {
    EXPECT_EQ(TypeName(T(text)), name) << text;
    EXPECT_EQ(T(TypeName(T(text))), T(text)) << text;
  }
}

TEST(SchemaText, QuotedNames) {
  const Schema schema = S(R"("a, b":int, "say ""hi""" : text!)");
  EXPECT_EQ(schema.fields[0].name, "a, b");
  EXPECT_EQ(schema.fields[1].name, "say \"hi\"");
  EXPECT_TRUE(schema.fields[1].required);
}

TEST(SchemaText, NestedIdsComeAfterTheLevelAbove) {
  const Schema schema = S("a:struct<x:int,y:list<int>>, b:map<string,double>, c:long");
  EXPECT_EQ(schema.fields[2].id, 3);
  EXPECT_EQ(schema.fields[0].type.fields[0].id, 4);
  EXPECT_EQ(schema.fields[0].type.fields[1].id, 5);
  EXPECT_EQ(schema.fields[0].type.fields[1].type.fields[0].id, 6);
  EXPECT_EQ(schema.fields[1].type.fields[0].id, 7);
  EXPECT_EQ(schema.fields[1].type.fields[1].id, 8);
  EXPECT_EQ(HighestFieldId(schema), 8);
}

TEST(SchemaText, ErrorsNameColumnAndText) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the schema is empty"},
      {"  ", "with a type of: boolean, int, long"},
      {"time", "column \"time\" has no type"},
      {"time timestamptz", "column \"time timestamptz\" has no type"},
      {"time:", "column \"time\": a type is missing"},
      {":int", "a column name is missing before \":int\""},
      {"a:int,,b:int", "a column name is missing"},
      {"a:int,", "a column name is missing"},
      {"a:flot", "column \"a\": unknown type \"flot\", did you mean \"float\"?"},
      {"a:int b", "unknown type \"int b\""},
      {"a:int!!", "column \"a\": \",\" expected before \"!\""},
      {"a:int, a:long", "column \"a\" is there twice"},
      {"a:decimal", "needs a precision and a scale, e.g. decimal(9,2)"},
      {"a:decimal(39,2)", "\"decimal(39,2)\": write decimal(P,S) with precision P in 1..38"},
      {"a:decimal(5,6)", "scale S in 0..P"},
      {"a:decimal(x,y)", "\"decimal(x,y)\""},
      {"a:decimal(9,2", "the closing ')' is missing"},
      {"a:fixed", "\"fixed\" needs a length"},
      {"a:fixed(0)", "a length N of at least 1 byte"},
      {"a:fixed(99999999999)", "a length N"},
      {"a:int(4)", "unknown type \"int(4)\""},
      {"a:list<int", "list<...>: \">\" expected"},
      {"a:set<int>", "unknown type \"set\""},
      {"a:map<int>", "map<...> needs two types"},
      {"a:struct<int>", "column \"int\" has no type"},
      {"a:struct<x:int,x:int>", "column \"a.x\" is there twice"},
      {"\"a:int", "is not closed"},
      {"\"\":int", "a column name is missing"},
  };
  for (const auto& [text, fragment] : cases) {
    SCOPED_TRACE(text);
    ExpectError(ParseSchemaText(text).status(), ErrorKind::kInvalidArgument, fragment);
  }
  ExpectError(ParseSchemaText("a:blob2").status(), ErrorKind::kInvalidArgument,
              "accepted: boolean, int, long, float, double, decimal(P,S), date");
  ExpectError(ParseType("int, b:int").status(), ErrorKind::kInvalidArgument, "is too much");
  ExpectError(ParseType("int!").status(), ErrorKind::kInvalidArgument, "\"!\" is too much");
}

TEST(SchemaText, DeepNestingIsAnErrorNotACrash) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "list<";
  ExpectError(ParseType(text).status(), ErrorKind::kInvalidArgument, "nest deeper than 64");
  text.clear();
  for (int i = 0; i < 100'000; ++i) text += "a:struct<";
  ExpectError(ParseSchemaText(text).status(), ErrorKind::kInvalidArgument, "nest deeper than 64");
}

TEST(Schema, FindsFields) {
  const Schema schema = S("a:struct<x:int,y:int>, b:long");
  EXPECT_EQ(FindField(schema, "b")->id, 2);
  EXPECT_EQ(FindField(schema, "B"), nullptr);
  EXPECT_EQ(FindFieldById(schema, 1)->name, "a");
  EXPECT_EQ(FindFieldById(schema, 4), nullptr);
  EXPECT_EQ(FindAnyFieldById(schema, 4)->name, "y");
  EXPECT_EQ(FindAnyFieldById(schema, 5), nullptr);
  EXPECT_EQ(FieldNames(schema), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(HighestFieldId(Schema{}), 0);
}

TEST(Schema, FreshIdsKeepIdentifierFields) {
  Schema schema = S("a:long!, b:string!");
  schema.fields[0].id = 70;
  schema.fields[1].id = 7;
  schema.identifier_field_ids = {7};
  const Schema fresh = AssignFreshIds(schema, 11);
  EXPECT_EQ(fresh.fields[0].id, 11);
  EXPECT_EQ(fresh.fields[1].id, 12);
  EXPECT_EQ(fresh.identifier_field_ids, std::vector<int>{12});
}

TEST(Schema, SameFieldsIgnoresTheSchemaIdOnly) {
  const Schema a = S("x:int, y:list<string>");
  Schema b = a;
  b.schema_id = 9;
  EXPECT_TRUE(SameFields(a, b));
  b.fields[1].type.fields[0].required = true;
  EXPECT_FALSE(SameFields(a, b));
  b = a;
  b.fields[0].name = "z";
  EXPECT_FALSE(SameFields(a, b));
  b = a;
  b.fields[0].required = true;
  EXPECT_FALSE(SameFields(a, b));
  b = a;
  b.fields.pop_back();
  EXPECT_FALSE(SameFields(a, b));
}

TEST(Schema, Promotion) {
  const std::pair<const char*, const char*> allowed[] = {{"int", "long"},
                                                         {"float", "double"},
                                                         {"decimal(9,2)", "decimal(18,2)"},
                                                         {"int", "int"},
                                                         {"decimal(9,2)", "decimal(9,2)"},
                                                         {"fixed(4)", "fixed(4)"},
                                                         {"string", "string"}};
  for (const auto& [from, to] : allowed) EXPECT_TRUE(CanPromote(T(from), T(to))) << from << to;
  const std::pair<const char*, const char*> refused[] = {{"long", "int"},
                                                         {"double", "float"},
                                                         {"int", "double"},
                                                         {"decimal(9,2)", "decimal(18,3)"},
                                                         {"decimal(9,2)", "decimal(8,2)"},
                                                         {"date", "timestamp"},
                                                         {"timestamp", "timestamptz"},
                                                         {"string", "binary"},
                                                         {"fixed(4)", "fixed(5)"},
                                                         {"int", "string"}};
  for (const auto& [from, to] : refused) EXPECT_FALSE(CanPromote(T(from), T(to))) << from << to;
  EXPECT_TRUE(CanPromote(T("list<int>"), T("list<long>")));
  EXPECT_FALSE(CanPromote(T("list<long>"), T("list<int>")));
}

TEST(Schema, ValidationNamesTheColumn) {
  const Schema good = S("a:decimal(9,2), b:fixed(4), m:map<string,int>, s:struct<x:int>");
  EXPECT_TRUE(ValidateSchema(good).ok());
  auto broken = [&good](auto change, const char* fragment) {
    Schema schema = good;
    change(&schema);
    ExpectError(ValidateSchema(schema), ErrorKind::kInvalidArgument, fragment);
  };
  broken([](Schema* s) { s->fields[0].type.precision = 39; },
         "column \"a\": decimal precision 39 is not in 1..38");
  broken([](Schema* s) { s->fields[0].type.scale = 10; }, "scale 10 is not in 0..9");
  broken([](Schema* s) { s->fields[0].type.scale = -1; }, "scale -1");
  broken([](Schema* s) { s->fields[1].type.length = 0; }, "column \"b\": fixed length 0");
  broken([](Schema* s) { s->fields[1].id = 1; },
         "columns \"a\" and \"b\" have the same field id 1");
  broken([](Schema* s) { s->fields[1].name = "a"; }, "column \"a\" is there twice");
  broken([](Schema* s) { s->fields[1].name = ""; }, "a column without a name (field id 2)");
  broken([](Schema* s) { s->fields[1].id = 0; }, "field id 0 is not positive");
  broken([](Schema* s) { s->fields[2].type.fields[0].required = false; },
         "column \"m\": map keys must be required");
  broken([](Schema* s) { s->fields[2].type.fields.pop_back(); }, "a key and a value type");
  broken([](Schema* s) { s->fields[3].type.fields[0].id = 1; },
         "columns \"a\" and \"s.x\" have the same field id 1");
  broken([](Schema* s) { s->fields[0].type.fields = s->fields[3].type.fields; },
         "type decimal(9,2) cannot have fields");
  broken([](Schema* s) { s->identifier_field_ids = {99}; }, "identifier field id 99");
}

}  // namespace
}  // namespace timelake::iceberg
