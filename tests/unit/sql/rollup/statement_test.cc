#include "sql/rollup/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace timelake::sql {
namespace {

using Kind = table::RollupStatement::Kind;
using ::testing::HasSubstr;

table::RollupStatement Parsed(const std::string& text) {
  const auto parsed = ParseRollupStatement(text, "iot");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed.ok() && parsed->has_value()) << text;
  return parsed.ok() && *parsed ? **parsed : table::RollupStatement();
}

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseRollupStatement(text, "iot");
  EXPECT_FALSE(parsed.ok()) << text;
  return parsed.status().message();
}

TEST(RollupStatement, CreateTakesTheQueryAsItIs) {
  const auto statement = Parsed(
      "-- a comment\nCREATE OR REPLACE materialized rollup Hourly AS SELECT 'WITH (' AS x, "
      "\"a;b\"\nFROM t /* WITH (a = 1) */ GROUP BY ALL WITH (retention = '90d', "
      "\"write.x\" = 3, chunk = day);");
  EXPECT_EQ(statement.kind, Kind::kCreate);
  EXPECT_EQ(statement.name, "iot.Hourly");
  EXPECT_TRUE(statement.or_replace);
  EXPECT_EQ(statement.select,
            "SELECT 'WITH (' AS x, \"a;b\"\nFROM t /* WITH (a = 1) */ GROUP BY ALL");
  EXPECT_EQ(statement.settings.at("retention"), "90d");
  EXPECT_EQ(statement.settings.at("write.x"), "3");
  EXPECT_EQ(statement.settings.at("chunk"), "day");
}

TEST(RollupStatement, AQueryMayHaveCommonTables) {
  const auto statement =
      Parsed("CREATE MATERIALIZED ROLLUP a.b AS WITH x AS (SELECT 1) SELECT * FROM x");
  EXPECT_EQ(statement.select, "WITH x AS (SELECT 1) SELECT * FROM x");
  EXPECT_TRUE(statement.settings.empty());
}

TEST(RollupStatement, Names) {
  EXPECT_EQ(Parsed("REFRESH MATERIALIZED ROLLUP b").name, "iot.b");
  EXPECT_EQ(Parsed("REFRESH MATERIALIZED ROLLUP a.b").name, "a.b");
  EXPECT_EQ(Parsed("REFRESH MATERIALIZED ROLLUP lake.a.b").name, "a.b");
  EXPECT_EQ(Parsed("REFRESH MATERIALIZED ROLLUP \"a\".\"b\"").name, "a.b");
  EXPECT_THAT(ErrorOf("REFRESH MATERIALIZED ROLLUP a.b.c"), HasSubstr("namespace.rollup"));
}

TEST(RollupStatement, Others) {
  EXPECT_TRUE(Parsed("REFRESH MATERIALIZED ROLLUP b FULL").full);
  EXPECT_TRUE(Parsed("DROP MATERIALIZED ROLLUP IF EXISTS b").if_exists);
  EXPECT_EQ(Parsed("SHOW ROLLUPS").kind, Kind::kShow);
  const auto alter =
      Parsed("ALTER MATERIALIZED ROLLUP b SET (retention = '1d', refresh-interval = off)");
  EXPECT_EQ(alter.settings.at("retention"), "1d");
  EXPECT_EQ(alter.settings.at("refresh-interval"), "off");
  EXPECT_EQ(Parsed("ALTER MATERIALIZED ROLLUP b RESET (retention)").settings.at("retention"),
            std::nullopt);
}

TEST(RollupStatement, WhatIsNotOursIsLeft) {
  for (const char* text : {"", ";", "SELECT 1", "CREATE TABLE rollup (a INT)", "SHOW TABLES",
                           "CREATE MATERIALIZED VIEW x AS SELECT 1", "DROP TABLE x"}) {
    const auto parsed = ParseRollupStatement(text, "iot");
    EXPECT_TRUE(parsed.ok() && !parsed->has_value()) << text;
  }
}

TEST(RollupStatement, MistakesAreNamed) {
  EXPECT_THAT(ErrorOf("CREATE MATERIALIZED ROLLUP b"), HasSubstr("AS SELECT"));
  EXPECT_THAT(ErrorOf("CREATE MATERIALIZED ROLLUP IF b AS SELECT 1"),
              HasSubstr("IF NOT EXISTS is expected, not \"b\""));
  EXPECT_THAT(ErrorOf("CREATE OR REPLACE MATERIALIZED ROLLUP IF NOT EXISTS b AS SELECT 1"),
              HasSubstr("exclude each other"));
  EXPECT_THAT(ErrorOf("REFRESH MATERIALIZED ROLLUP b TWICE"), HasSubstr("\"TWICE\""));
  EXPECT_THAT(ErrorOf("DROP MATERIALIZED ROLLUP"), HasSubstr("name of the rollup"));
  EXPECT_THAT(ErrorOf("ALTER MATERIALIZED ROLLUP b SET (a = 1, a = 2)"), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf("ALTER MATERIALIZED ROLLUP b SET (a 1)"), HasSubstr("a = value"));
}

}  // namespace
}  // namespace timelake::sql
