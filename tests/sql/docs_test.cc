// The examples of docs/sql.md and docs/sql-tables.md: every ```sql block of a page runs, in order,
// in one session; if a ```text block follows, it holds the names of the columns and the rows.
// TL_SQL_UPDATE=1 writes what came out.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "sql/rows_text.h"
#include "timelake/lake.h"
#include "timelake/session.h"

namespace timelake::sqltest {
namespace {

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The lines of the block that begins after line `open`, and the line that closes it.
std::vector<std::string> Block(const std::vector<std::string>& lines, size_t open, size_t* close) {
  std::vector<std::string> block;
  for (*close = open + 1; *close < lines.size() && lines[*close] != "```"; ++*close) {
    block.push_back(lines[*close]);
  }
  return block;
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

arrow::Result<std::vector<std::string>> RunExample(Session* session, const std::string& statement) {
  ARROW_ASSIGN_OR_RAISE(auto reader, session->Sql(statement));
  std::string names;
  for (const std::string& name : reader->schema()->field_names()) {
    names += (names.empty() ? "" : "|") + name;
  }
  ARROW_ASSIGN_OR_RAISE(auto rows, RowsAsText(reader.get()));
  rows.insert(rows.begin(), names);
  return rows;
}

void RunExamples(const std::string& page, int least) {
  const std::string path = std::string(TL_SOURCE_DIR) + "/docs/" + page;
  const auto lines = ReadLines(path);
  ASSERT_FALSE(lines.empty()) << path;
  auto lake = Lake::Open("memory://docs-" + page);
  ASSERT_TRUE(lake.ok()) << lake.status();
  auto session = Session::Open(*lake, SessionOptions{});
  ASSERT_TRUE(session.ok()) << session.status();

  const bool update = std::getenv("TL_SQL_UPDATE") != nullptr;
  std::vector<std::string> updated;
  int examples = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    updated.push_back(lines[i]);
    if (lines[i] != "```sql") continue;
    size_t close = 0;
    const std::string statement = Join(Block(lines, i, &close));
    const auto rows = RunExample(&*session, statement);
    ASSERT_TRUE(rows.ok()) << path << ":" << i + 1 << ": " << rows.status();
    updated.insert(updated.end(), lines.begin() + static_cast<ptrdiff_t>(i) + 1,
                   lines.begin() + static_cast<ptrdiff_t>(close) + 1);
    i = close;
    if (i + 2 >= lines.size() || lines[i + 2] != "```text") continue;
    const auto expected = Block(lines, i + 2, &close);
    ++examples;
    if (!update) {
      EXPECT_EQ(Join(*rows), Join(expected)) << path << ":" << i + 1;
    }
    updated.insert(updated.end(), {"", "```text"});
    updated.insert(updated.end(), rows->begin(), rows->end());
    updated.push_back("```");
    i = close;
  }
  EXPECT_GE(examples, least);
  if (update) std::ofstream(path) << Join(updated);
}

TEST(SqlDocs, EveryExampleGivesWhatItShows) { RunExamples("sql.md", 12); }

TEST(SqlDocs, EveryExampleOfTablesGivesWhatItShows) { RunExamples("sql-tables.md", 7); }

TEST(SqlDocs, EveryExampleOfRollupsGivesWhatItShows) { RunExamples("rollups.md", 5); }

}  // namespace
}  // namespace timelake::sqltest
