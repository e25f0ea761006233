#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/scan/test_table.h"

namespace timelake::scan {
namespace {

using iceberg::Value;
using table::ArrowColumn;
using table::ExpectError;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TestTable NewTable() {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "n", "long"), NewField(2, "host", "string"),
                   NewField(3, "v", "double")};
  return TestTable(schema, {NewSpec(0, {}), NewSpec(1, {{2, "identity"}})});
}

std::vector<std::string> Rows(const Result<std::vector<std::string>>& rows) {
  EXPECT_TRUE(rows.ok()) << rows.status().ToString();
  return rows.ok() ? *rows : std::vector<std::string>{rows.status().ToString()};
}

TEST(Scanner, ColumnsInTheOrderAskedFor) {
  TestTable table = NewTable();
  table.Commit({table.Write("a", {"[1, 2]", R"(["x", null])", "[0.5, 1.5]"})});
  EXPECT_THAT(Rows(table.Scan({3, 1})), ElementsAre("0.5, 1", "1.5, 2"));
  EXPECT_THAT(Rows(table.Scan({2, 2})), ElementsAre("null, null", "x, x"));
  ExpectError(table.Scan({9}).status(), ErrorKind::kInvalidArgument, {"9"});
}

TEST(Scanner, NoColumnsStillCountRows) {
  TestTable table = NewTable();
  table.Commit({table.Write("a", {"[1, 2, 3]", R"(["x", null, "y"])", "[1, 1, 1]"})});
  EXPECT_EQ(Rows(table.Scan({}, {}, 2)).size(), 3u);
  table.Commit({table.WritePositionDeletes("p", {{"memory://t/data/a", 0}})});
  EXPECT_EQ(Rows(table.Scan({}, {}, 2)).size(), 2u);
  table.Commit({table.WriteEqualityDeletes("e", {2}, {R"(["y"])"})});
  EXPECT_EQ(Rows(table.Scan({}, {}, 2)).size(), 1u);
}

TEST(Scanner, RowGroupsArePruned) {
  TestTable table = NewTable();
  table::FileOptions options;
  options.rows_per_group = 2;
  table.Commit({table.Write(
      "a", {"[1, 2, 3, 4, 5, 6]", R"(["a", "a", "b", "b", "c", "c"])", "[1, 2, 3, 4, NaN, 6]"}, {},
      options)});
  auto scanner = table.MakeScanner({1}, {{{2, Op::kEq, {std::string("b")}}}}).ValueOrDie();
  std::vector<std::string> rows;
  while (auto reader = scanner->Next().ValueOrDie()) {
    ASSERT_TRUE(TestTable::Append(reader.get(), &rows).ok());
  }
  EXPECT_THAT(rows, ElementsAre("3", "4"));
  const Counters& counters = *scanner->plan().counters;
  EXPECT_EQ(counters.row_groups_total, 3);
  EXPECT_EQ(counters.row_groups_pruned, 2);
  EXPECT_EQ(counters.rows_read, 2);
  EXPECT_GT(counters.bytes_read, 0);
  // NaN is above everything and in no footer.
  EXPECT_THAT(Rows(table.Scan({1}, {{{3, Op::kGt, {100.0}}}})),
              ElementsAre("1", "2", "3", "4", "5", "6"));
  EXPECT_THAT(Rows(table.Scan({1}, {{{3, Op::kLt, {3.0}}}})), ElementsAre("1", "2"));
}

TEST(Scanner, PredicateColumnsThatAFileDoesNotHaveAreNull) {
  TestTable table = NewTable();
  const arrow::FieldVector old = {ArrowColumn("n", arrow::int32(), 1)};
  table.Commit({table.WriteAs("old", old, {"[7]"})});
  table.Commit({table.WriteAs("mine", old, {"[8]"}, {std::string("x")})}, 1);
  EXPECT_THAT(Rows(table.Scan({1, 2})), ElementsAre("7, null", "8, x"));
  EXPECT_THAT(Rows(table.Scan({1}, {{{2, Op::kEq, {std::string("x")}}}})), ElementsAre("8"));
  EXPECT_THAT(Rows(table.Scan({1}, {{{2, Op::kIsNull, {}}}})), ElementsAre("7"));
  EXPECT_THAT(Rows(table.Scan({1}, {{{3, Op::kGt, {0.0}}}})), IsEmpty());
}

TEST(Scanner, PositionDeletes) {
  TestTable table = NewTable();
  table::FileOptions options;
  options.rows_per_group = 2;
  table.Commit(
      {table.Write("a", {"[0, 1, 2, 3, 4]", R"(["x", "x", "y", "y", "z"])", "[0, 0, 0, 0, 0]"}, {},
                   options),
       table.Write("b", {"[10, 11]", R"(["x", "x"])", "[0, 0]"})});
  // Unsorted, repeated, beyond the end; and paths in two files.
  table.Commit({table.WritePositionDeletes("p1", {{"memory://t/data/b", 0},
                                                  {"memory://t/data/a", 4},
                                                  {"memory://t/data/a", 1},
                                                  {"memory://t/data/a", 1},
                                                  {"memory://t/data/a", 99}}),
                table.WritePositionDeletes("p2", {{"memory://t/data/a", 2}})});
  for (int64_t batch_rows : {1, 2, 1000}) {
    EXPECT_THAT(Rows(table.Scan({1}, {}, batch_rows)), ElementsAre("0", "11", "3"));
  }
  // Positions count from the start of the file, also when row groups before are pruned.
  EXPECT_THAT(Rows(table.Scan({1}, {{{2, Op::kEq, {std::string("y")}}}})), ElementsAre("3"));
}

TEST(Scanner, EqualityDeletes) {
  TestTable table = NewTable();
  table.Commit({table.Write(
      "a", {"[0, 1, 2, null, 4]", R"(["x", "y", null, null, "x"])", "[0.5, NaN, 0.0, -0.0, 4]"})});
  table.Commit({table.WriteEqualityDeletes("e", {2}, {R"([null, "y"])"})});
  table.Commit({table.Write("young", {"[9]", R"(["y"])", "[1]"})});
  EXPECT_THAT(Rows(table.Scan({1})), ElementsAre("0", "4", "9"));
  EXPECT_THAT(Rows(table.Scan({2, 1}, {}, 2048, true)), ElementsAre("x, 0", "x, 4", "y, 9"));
  table.Commit({table.WriteEqualityDeletes("two", {3, 1}, {"[0.5, 4, 1]", "[0, 0, 9]"})});
  EXPECT_THAT(Rows(table.Scan({1})), ElementsAre("4"));
}

TEST(Scanner, EqualityDeletesOnSpecialValues) {
  TestTable table = NewTable();
  table.Commit(
      {table.Write("a", {"[0, 1, 2, 3]", R"(["", "a", "b", "c"])", "[NaN, 0.0, -0.0, null]"})});
  table.Commit({table.WriteEqualityDeletes("e", {3}, {"[NaN, -0.0]"})});
  EXPECT_THAT(Rows(table.Scan({1})), ElementsAre("1", "3"));
}

TEST(Scanner, EqualityDeletesOnColumnsPromotedOrDroppedSince) {
  TestTable table = NewTable();
  table.Commit({table.WriteAs(
      "a", {ArrowColumn("n", arrow::int32(), 1), ArrowColumn("host", arrow::utf8(), 2)},
      {"[1, 2]", R"(["x", "y"])"})});
  auto narrow = table.WriteAs("e", {ArrowColumn("n", arrow::int32(), 1)}, {"[1]"});
  narrow.content = iceberg::FileContent::kEqualityDeletes;
  narrow.equality_ids = {1};
  table.Commit({narrow});
  EXPECT_THAT(Rows(table.Scan({1})), ElementsAre("2"));
  table.Commit({table.WriteEqualityDeletes("e2", {2}, {R"(["y"])"})});
  iceberg::Schema without = table.schema();
  without.schema_id = 1;
  without.fields.erase(without.fields.begin() + 1);
  table.metadata().schemas.push_back(without);
  table.metadata().current_schema_id = 1;
  EXPECT_THAT(Rows(table.Scan({1})), IsEmpty());
}

TEST(Scanner, FormatsThatAreNotRead) {
  TestTable table = NewTable();
  auto file = table.Write("a", {"[1]", R"(["x"])", "[1]"});
  auto orc = file;
  orc.file_format = "ORC";
  orc.file_path += ".orc";
  table.Commit({orc});
  ExpectError(table.Scan({1}).status(), ErrorKind::kUnsupported, {"a.orc", "ORC"});
  TestTable other = NewTable();
  other.Commit({other.Write("a", {"[1]", R"(["x"])", "[1]"})});
  auto vector = other.WritePositionDeletes("dv", {{"memory://t/data/a", 0}});
  vector.file_format = "PUFFIN";
  other.Commit({vector});
  ExpectError(other.Scan({1}).status(), ErrorKind::kUnsupported, {"dv", "PUFFIN"});
}

TEST(Scanner, AMissingFileIsNamed) {
  TestTable table = NewTable();
  table.Commit({table.Write("a", {"[1]", R"(["x"])", "[1]"})});
  ASSERT_TRUE(table.env().store->Delete("t/data/a").ok());
  ExpectError(table.Scan({1}).status(), ErrorKind::kNotFound, {"t/data/a"});
}

TEST(Scanner, FourThreadsReadEveryRowOnce) {
  TestTable table = NewTable();
  table::FileOptions options;
  options.rows_per_group = 50;
  std::vector<iceberg::DataFile> files;
  std::vector<std::pair<std::string, int64_t>> deleted;
  int64_t next = 0;
  for (int f = 0; f < 6; ++f) {
    std::string n, host, v;
    for (int i = 0; i < 1000; ++i, ++next) {
      const char* comma = i ? ", " : "";
      n += comma + std::to_string(next);
      host += std::string(comma) + "\"host_" + std::to_string(next % 7) + "\"";
      v += std::string(comma) + "1.5";
    }
    const std::string name = "f" + std::to_string(f);
    files.push_back(
        table.Write(name, {"[" + n + "]", "[" + host + "]", "[" + v + "]"}, {}, options));
    deleted.emplace_back("memory://t/data/" + name, 500);
  }
  table.Commit(files);
  table.Commit({table.WritePositionDeletes("p", deleted)});
  table.Commit({table.WriteEqualityDeletes("e", {2}, {R"(["host_3"])"})});
  auto scanner = table.MakeScanner({1}, {{{1, Op::kGe, {int64_t{0}}}}}, 32, true).ValueOrDie();
  std::vector<std::vector<std::string>> rows(4);
  std::vector<std::thread> threads;
  for (auto& own : rows) {
    threads.emplace_back([&scanner, &own] {
      while (auto reader = scanner->Next().ValueOrDie()) {
        EXPECT_TRUE(TestTable::Append(reader.get(), &own).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> all;
  size_t count = 0;
  for (const auto& own : rows) {
    all.insert(own.begin(), own.end());
    count += own.size();
  }
  size_t expected = 0;
  for (int64_t i = 0; i < next; ++i) expected += i % 7 != 3 && i % 1000 != 500;
  EXPECT_EQ(count, expected);
  EXPECT_EQ(all.size(), expected);
  EXPECT_EQ(scanner->plan().counters->rows_read, next);
  EXPECT_EQ(scanner->plan().counters->row_groups_total, 120);
  EXPECT_EQ(scanner->Next().ValueOrDie(), nullptr);
}

TEST(Scanner, AnErrorReachesEveryThread) {
  TestTable table = NewTable();
  std::vector<iceberg::DataFile> files;
  for (int f = 0; f < 8; ++f) {
    files.push_back(table.Write("f" + std::to_string(f), {"[1]", R"(["x"])", "[1]"}));
  }
  table.Commit(files);
  table::PutBytes(table.env(), "t/data/f3", arrow::Buffer::FromString("nonsense"));
  auto scanner = table.MakeScanner({1}).ValueOrDie();
  std::vector<Status> ends(4);
  std::vector<std::thread> threads;
  for (Status& end : ends) {
    threads.emplace_back([&scanner, &end] {
      while (true) {
        auto reader = scanner->Next();
        end = reader.status();
        if (!end.ok() || !*reader) return;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const Status& end : ends) ExpectError(end, ErrorKind::kCorrupt, {"t/data/f3"});
}

}  // namespace
}  // namespace timelake::scan
