#include <gtest/gtest.h>
#include <parquet/metadata.h>

#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

using iceberg::Field;
using iceberg::TypeId;
using iceberg::Value;

Field Nested(int id, std::string name, TypeId type, std::vector<Field> members) {
  Field field;
  field.id = id;
  field.name = std::move(name);
  field.type.id = type;
  field.type.fields = std::move(members);
  return field;
}

std::string Json(const Result<std::shared_ptr<arrow::RecordBatch>>& batch) {
  if (!batch.ok()) return batch.status().ToString();
  std::string text;
  for (const auto& column : (*batch)->columns()) {
    if (!text.empty()) text += " | ";
    for (int64_t i = 0; i < column->length(); ++i) {
      text += (i ? ", " : "") + column->GetScalar(i).ValueOrDie()->ToString();
    }
  }
  return text;
}

TEST(DataFileReader, ColumnsAreFoundByFieldId) {
  const Env env = MemoryEnv();
  // `b` was renamed to `a` and `a` to `c` since the file was written.
  const std::string uri = PutFile(
      env, "b/1.parquet", {ArrowColumn("a", arrow::int32(), 1), ArrowColumn("b", arrow::utf8(), 2)},
      {FromJson(arrow::int32(), "[1, 2]"), FromJson(arrow::utf8(), R"(["x", "y"])")});
  DataFileRequest request{.uri = uri,
                          .size = {},
                          .bytes = nullptr,
                          .fields = {TableColumn(2, "a", "string"), TableColumn(1, "c", "long"),
                                     TableColumn(7, "b", "int")},
                          .constants = {},
                          .keep_dictionaries = false};
  const auto batch = ReadAll(env, request);
  EXPECT_EQ(Json(batch), "x, y | 1, 2 | null, null");
  EXPECT_EQ((*batch)->schema()->field_names(), (std::vector<std::string>{"a", "c", "b"}));
}

TEST(DataFileReader, ColumnsAreFoundByNameInFilesWithoutIds) {
  const Env env = MemoryEnv();
  const std::string uri = PutFile(
      env, "b/1.parquet",
      {ArrowColumn("a", arrow::int32(), -1),
       ArrowColumn("s",
                   arrow::struct_({ArrowColumn("y", arrow::int32(), -1),
                                   ArrowColumn("x", arrow::int32(), -1)}),
                   -1)},
      {FromJson(arrow::int32(), "[1, 2]"),
       FromJson(
           arrow::struct_({arrow::field("y", arrow::int32()), arrow::field("x", arrow::int32())}),
           "[[5, 6], null]")});
  DataFileRequest request{
      .uri = uri,
      .size = {},
      .bytes = nullptr,
      .fields = {TableColumn(9, "a", "int"), TableColumn(1, "A", "int"),
                 Nested(10, "s", TypeId::kStruct, {TableColumn(11, "x", "long")})},
      .constants = {},
      .keep_dictionaries = false};
  EXPECT_EQ(Json(ReadAll(env, request)), "1, 2 | null, null | {x:int64 = 6}, null");
}

TEST(DataFileReader, MissingColumns) {
  const Env env = MemoryEnv();
  const std::string uri = PutFile(env, "b/1.parquet", {ArrowColumn("a", arrow::int32(), 1)},
                                  {FromJson(arrow::int32(), "[1, 2]")});
  DataFileRequest request;
  request.uri = uri;
  request.fields = {TableColumn(2, "s", "string"),       TableColumn(3, "n", "long"),
                    TableColumn(4, "d", "decimal(9,2)"), TableColumn(5, "u", "uuid"),
                    TableColumn(6, "t", "timestamptz"),  TableColumn(7, "f", "fixed[2]", true)};
  request.constants = {{2, Value(std::string("west"))},
                       {3, Value(int32_t{5})},  // written before int became long
                       {4, Value(arrow::Decimal128(128))},
                       {5, Value(std::string(16, '\x01'))},
                       {6, Value(int64_t{-1})},
                       {7, Value(std::string("ab"))},
                       {1, Value(int32_t{99})}};  // ignored: the file has it
  const auto batch = ReadAll(env, request);
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ((*batch)->column(0)->GetScalar(1).ValueOrDie()->ToString(), "west");
  EXPECT_EQ((*batch)->column(1)->GetScalar(1).ValueOrDie()->ToString(), "5");
  EXPECT_EQ((*batch)->column(2)->GetScalar(1).ValueOrDie()->ToString(), "1.28");
  EXPECT_EQ((*batch)->column(3)->null_count(), 0);
  EXPECT_EQ((*batch)->num_rows(), 2);

  request.fields = {TableColumn(8, "time", "timestamptz", true)};
  ExpectError(ReadAll(env, request).status(), ErrorKind::kCorrupt, {uri, "'time'"});
  request.fields = {TableColumn(7, "f", "fixed[3]")};  // a constant of another length
  ExpectError(ReadAll(env, request).status(), ErrorKind::kCorrupt, {uri, "'f'"});
  request.fields = {TableColumn(2, "s", "int")};
  ExpectError(ReadAll(env, request).status(), ErrorKind::kCorrupt, {uri, "'s'"});
}

TEST(DataFileReader, NullsInARequiredColumn) {
  const Env env = MemoryEnv();
  const std::string uri = PutFile(env, "b/1.parquet", {ArrowColumn("a", arrow::int32(), 1)},
                                  {FromJson(arrow::int32(), "[1, null]")});
  ExpectError(ReadColumn(env, uri, TableColumn(1, "a", "int", true)).status(), ErrorKind::kCorrupt,
              {uri, "'a'", "nulls"});
}

// ids: s 1 {x 2, y 3, z 4}, l 5 [e 6 {p 7}], m 8 {k 9: v 10 {q 11, r 12}}
std::string NestedFile(const Env& env) {
  const auto millis = arrow::timestamp(arrow::TimeUnit::MILLI);
  const auto s = arrow::struct_({ArrowColumn("x", arrow::int32(), 2),
                                 ArrowColumn("y", arrow::utf8(), 3), ArrowColumn("z", millis, 4)});
  const auto l = arrow::list(
      ArrowColumn("element", arrow::struct_({ArrowColumn("p", arrow::float32(), 7)}), 6));
  const auto v =
      arrow::struct_({ArrowColumn("q", arrow::int32(), 11), ArrowColumn("r", arrow::int32(), 12)});
  const auto m = std::make_shared<arrow::MapType>(ArrowColumn("key", arrow::utf8(), 9, false),
                                                  ArrowColumn("value", v, 10));
  return PutFile(env, "b/n.parquet",
                 {ArrowColumn("s", s, 1), ArrowColumn("l", l, 5), ArrowColumn("m", m, 8)},
                 {FromJson(s, R"([[1, "a", 5], null, [null, "c", null]])"),
                  FromJson(l, "[[[1.5], null], [], null]"),
                  FromJson(m, R"([[["k1", [1, 2]], ["k2", null]], null, [["k3", [5, 6]]]])")});
}

TEST(DataFileReader, NestedColumnsArePrunedReorderedAndPromoted) {
  const Env env = MemoryEnv();
  DataFileRequest request;
  request.uri = NestedFile(env);
  request.fields = {
      Nested(8, "m", TypeId::kMap,
             {TableColumn(9, "key", "string", true),
              Nested(10, "value", TypeId::kStruct, {TableColumn(12, "renamed", "long")})}),
      Nested(1, "s", TypeId::kStruct,
             {TableColumn(4, "z", "timestamp"), TableColumn(99, "new", "double"),
              TableColumn(2, "x", "long")}),
      Nested(5, "l", TypeId::kList,
             {Nested(6, "element", TypeId::kStruct, {TableColumn(7, "p", "double")})})};
  EXPECT_EQ(Json(ReadAll(env, request)),
            "map<string, struct<renamed: int64>>"
            "[{key:string = k1, value:struct<renamed: int64> = {renamed:int64 = 2}}, "
            "{key:string = k2, value:struct<renamed: int64> = null}], null, "
            "map<string, struct<renamed: int64>>"
            "[{key:string = k3, value:struct<renamed: int64> = {renamed:int64 = 6}}] | "
            "{z:timestamp[us] = 1970-01-01 00:00:00.005000, new:double = null, x:int64 = 1}, null, "
            "{z:timestamp[us] = null, new:double = null, x:int64 = null} | "
            "list<element: struct<p: double>>[{p:double = 1.5}, null], "
            "list<element: struct<p: double>>[], null");
}

TEST(DataFileReader, StructsOfWhichOnlyNewMembersAreWanted) {
  const Env env = MemoryEnv();
  DataFileRequest request;
  request.uri = NestedFile(env);
  request.fields = {
      Nested(1, "s", TypeId::kStruct, {TableColumn(99, "new", "int")}),
      Nested(5, "l", TypeId::kList,
             {Nested(6, "element", TypeId::kStruct, {TableColumn(98, "new", "int")})}),
      Nested(8, "m", TypeId::kMap,
             {TableColumn(9, "key", "string", true),
              Nested(10, "value", TypeId::kStruct, {TableColumn(97, "new", "int")})})};
  EXPECT_EQ(Json(ReadAll(env, request)),
            "{new:int32 = null}, null, {new:int32 = null} | "
            "list<element: struct<new: int32>>[{new:int32 = null}, null], "
            "list<element: struct<new: int32>>[], null | "
            "map<string, struct<new: int32>>"
            "[{key:string = k1, value:struct<new: int32> = {new:int32 = null}}, "
            "{key:string = k2, value:struct<new: int32> = null}], null, "
            "map<string, struct<new: int32>>"
            "[{key:string = k3, value:struct<new: int32> = {new:int32 = null}}]");
}

TEST(DataFileReader, OtherShapesAreRefused) {
  const Env env = MemoryEnv();
  const std::string uri = NestedFile(env);
  ExpectError(ReadColumn(env, uri, TableColumn(1, "s", "int")).status(), ErrorKind::kCorrupt,
              {uri, "'s'"});
  ExpectError(
      ReadColumn(env, uri, Nested(1, "s", TypeId::kList, {TableColumn(2, "element", "int")}))
          .status(),
      ErrorKind::kCorrupt, {uri, "'s'"});
  ExpectError(
      ReadColumn(env, uri,
                 Nested(5, "l", TypeId::kList,
                        {Nested(44, "element", TypeId::kStruct, {TableColumn(7, "p", "float")})}))
          .status(),
      ErrorKind::kCorrupt, {uri, "'l.element'", "44"});
  ExpectError(
      ReadColumn(env, uri, Nested(1, "s", TypeId::kStruct, {TableColumn(98, "n", "int", true)}))
          .status(),
      ErrorKind::kCorrupt, {uri, "'s.n'"});
}

std::shared_ptr<arrow::Array> Numbers(int64_t rows) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(i).ok());
  return builder.Finish().ValueOrDie();
}

TEST(DataFileReader, BatchesAreSmallAndKeepToRowGroups) {
  const Env env = MemoryEnv();
  FileOptions options;
  options.rows_per_group = 1000;
  const std::string uri =
      PutFile(env, "b/1.parquet", {ArrowColumn("a", arrow::int64(), 1)}, {Numbers(2500)}, options);
  DataFileRequest request;
  request.uri = uri;
  for (const bool with_column : {true, false}) {
    request.fields.clear();
    if (with_column) request.fields.push_back(TableColumn(1, "a", "long"));
    auto reader = OpenDataFile(env, request).ValueOrDie();
    ASSERT_EQ(reader->num_row_groups(), 3);
    EXPECT_EQ(reader->row_group_offset(2), 2000);
    EXPECT_EQ(reader->row_group_rows(2), 500);
    auto batches = reader->Read({2, 0}, 300).ValueOrDie();
    std::vector<int64_t> sizes, first;
    while (auto batch = batches->Next().ValueOrDie()) {
      sizes.push_back(batch->num_rows());
      ASSERT_EQ(batch->num_columns(), with_column ? 1 : 0);
      if (with_column) {
        first.push_back(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(0));
      }
    }
    EXPECT_EQ(sizes, (std::vector<int64_t>{300, 200, 300, 300, 300, 100}));
    if (with_column) {
      EXPECT_EQ(first, (std::vector<int64_t>{2000, 2300, 0, 300, 600, 900}));
    }
    ExpectError(reader->Read({3}).status(), ErrorKind::kInvalidArgument, {uri});
    ExpectError(reader->Read({0}, 0).status(), ErrorKind::kInvalidArgument, {});
  }
}

TEST(DataFileReader, DictionariesAreKeptWhereEveryPageHasThem) {
  const Env env = MemoryEnv();
  FileOptions options;
  options.parquet = parquet::WriterProperties::Builder().disable_dictionary("plain")->build();
  const auto text = FromJson(arrow::utf8(), R"(["a", "b", null, "a"])");
  const std::string uri =
      PutFile(env, "b/1.parquet",
              {ArrowColumn("coded", arrow::utf8(), 1), ArrowColumn("plain", arrow::utf8(), 2),
               ArrowColumn("bytes", arrow::binary(), 3)},
              {text, text, text->View(arrow::binary()).ValueOrDie()}, options);
  DataFileRequest request;
  request.uri = uri;
  request.fields = {TableColumn(1, "coded", "string"), TableColumn(2, "plain", "string"),
                    TableColumn(3, "bytes", "string"), TableColumn(4, "new", "string")};
  request.keep_dictionaries = true;
  auto reader = OpenDataFile(env, request).ValueOrDie();
  auto batches = reader->Read({0}, 3).ValueOrDie();
  auto first = batches->Next().ValueOrDie(), second = batches->Next().ValueOrDie();
  ASSERT_EQ(first->column(0)->type_id(), arrow::Type::DICTIONARY);
  EXPECT_EQ(first->column(1)->type_id(), arrow::Type::STRING);
  EXPECT_EQ(first->column(2)->type_id(), arrow::Type::STRING);
  EXPECT_EQ(first->column(3)->type_id(), arrow::Type::STRING);
  const auto& a = static_cast<const arrow::DictionaryArray&>(*first->column(0));
  const auto& b = static_cast<const arrow::DictionaryArray&>(*second->column(0));
  EXPECT_EQ(a.dictionary()->length(), 2);
  EXPECT_EQ(a.data()->dictionary, b.data()->dictionary);
  EXPECT_EQ(a.null_count(), 1);
}

TEST(DataFileReader, FootersAreReadOnce) {
  const Env env = MemoryEnv();
  const std::string uri =
      PutFile(env, "b/1.parquet", {ArrowColumn("a", arrow::int64(), 1)}, {Numbers(10)});
  DataFileRequest request;
  request.uri = uri;
  ASSERT_TRUE(OpenDataFile(env, request).ok());
  PutBytes(env, "b/1.parquet", arrow::Buffer::FromString("gone"));  // never happens in a lake
  EXPECT_TRUE(OpenDataFile(env, request).ok());
}

}  // namespace
}  // namespace timelake::table
