#include "sql/mentioned_tables.h"

#include <gtest/gtest.h>
#include <duckdb/parser/parser.hpp>

namespace timelake::sql {
namespace {

std::string Mentioned(const std::string& text) {
  duckdb::Parser parser;
  parser.ParseQuery(text);
  std::string names;
  for (const auto& table : MentionedTables(*parser.statements.at(0), "def")) {
    names += (names.empty() ? "" : " ") + table.full();
  }
  return names;
}

TEST(MentionedTables, NamesInAllPlaces) {
  EXPECT_EQ(Mentioned("SELECT * FROM a, b.c JOIN lake.d.e ON true, lake.f"), "b.c d.e def.a def.f");
  EXPECT_EQ(Mentioned("SELECT (SELECT max(x) FROM a) FROM b WHERE y IN (SELECT y FROM c)"),
            "def.a def.b def.c");
  EXPECT_EQ(Mentioned("SELECT * FROM (SELECT * FROM a) s JOIN LATERAL (SELECT * FROM b) t ON true"),
            "def.a def.b");
  EXPECT_EQ(Mentioned("SELECT * FROM a UNION ALL SELECT * FROM b ORDER BY (SELECT 1 FROM c)"),
            "def.a def.b def.c");
  EXPECT_EQ(Mentioned("EXPLAIN SELECT * FROM a, b"), "def.a def.b");
  EXPECT_EQ(Mentioned("COPY (SELECT * FROM a, b) TO 'x.csv'"), "def.a def.b");
  EXPECT_EQ(Mentioned("CREATE TEMP TABLE x AS SELECT * FROM a, b"), "def.a def.b");
}

TEST(MentionedTables, NotCommonTableExpressionsFilesAndOtherCatalogs) {
  EXPECT_EQ(Mentioned("WITH a AS (SELECT * FROM b) SELECT * FROM a, c"), "def.b def.c");
  EXPECT_EQ(Mentioned("SELECT * FROM 'file.csv', memory.main.t, range(3), a"), "def.a");
  EXPECT_EQ(Mentioned("SET threads = 1"), "");
  EXPECT_EQ(Mentioned("SELECT 1"), "");
}

}  // namespace
}  // namespace timelake::sql
