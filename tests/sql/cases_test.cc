// Runs tests/sql/*.test; README.md there has the syntax.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include <arrow/api.h>
#include <arrow/csv/api.h>
#include <arrow/extension_type.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sql/case_file.h"
#include "sql/rows_text.h"
#include "timelake/error.h"
#include "timelake/lake.h"
#include "timelake/session.h"

namespace timelake::sqltest {
namespace {

namespace fs = std::filesystem;

// CSV lines without a header, typed as the table declares.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> FromCsv(
    const std::shared_ptr<arrow::Schema>& schema, const std::string& text) {
  auto read = arrow::csv::ReadOptions::Defaults();
  read.column_names = schema->field_names();
  auto convert = arrow::csv::ConvertOptions::Defaults();
  convert.null_values = {""};
  convert.strings_can_be_null = true;
  convert.quoted_strings_can_be_null = false;
  for (const auto& field : schema->fields()) convert.column_types[field->name()] = field->type();
  auto parse = arrow::csv::ParseOptions::Defaults();
  parse.ignore_empty_lines = false;
  auto input = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(text));
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::csv::TableReader::Make(arrow::io::default_io_context(),
                                                                   input, read, parse, convert));
  ARROW_ASSIGN_OR_RAISE(auto table, reader->Read());
  return table->CombineChunksToBatch();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FromJson(
    const std::shared_ptr<arrow::Schema>& schema, const std::vector<std::string>& lines) {
  // Arrow's JSON knows no extension types; the append takes their storage as well.
  arrow::FieldVector fields = schema->fields();
  for (auto& field : fields) {
    if (field->type()->id() == arrow::Type::EXTENSION) {
      field =
          field->WithType(static_cast<const arrow::ExtensionType&>(*field->type()).storage_type());
    }
  }
  std::string json;
  for (const std::string& line : lines) json += (json.empty() ? "[" : ",") + line;
  ARROW_ASSIGN_OR_RAISE(auto rows,
                        arrow::json::ArrayFromJSONString(arrow::struct_(fields), json + "]"));
  return arrow::RecordBatch::FromStructArray(rows);
}

class Runner {
 public:
  explicit Runner(const std::string& path) : path_(path), file_(ReadCaseFile(path)) {
    const char* update = std::getenv("TL_SQL_UPDATE");
    update_ = update && *update;
    folder_ = fs::temp_directory_path() /
              fmt::format("tl-sql-{}-{}", fs::path(path).stem().string(), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "scratch");
  }
  ~Runner() { fs::remove_all(folder_); }

  void Run() {
    LakeOptions options;
    options.settings = {{"auto-maintain", "false"}};  // what a case writes stays as it is
    auto lake = Lake::Open((folder_ / "lake").string(), options);
    ASSERT_TRUE(lake.ok()) << lake.status();
    lake_.emplace(*lake);
    ASSERT_NO_FATAL_FAILURE(OpenSession());
    for (size_t i = 0; i < file_.blocks.size(); ++i) {
      const Block& block = file_.blocks[i];
      SCOPED_TRACE(fmt::format("{}:{}", path_, block.line));
      RunBlock(i, block);
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (!new_rows_.empty()) WriteCaseFile(path_, file_, new_rows_);
  }

 private:
  void OpenSession() {
    session_.reset();
    SessionOptions options;
    options.name_space = name_space_;
    options.threads = 2;
    auto session = Session::Open(*lake_, options);
    ASSERT_TRUE(session.ok()) << session.status();
    session_.emplace(*std::move(session));
  }

  void RunBlock(size_t index, const Block& block) {
    if (block.verb == "table") return CreateTable(block);
    if (block.verb == "append") return Append(block);
    if (block.verb == "query") return Query(index, block);
    if (block.verb == "statement") return Statement(block);
    if (block.verb == "contains") return Contains(block);
    if (block.verb == "drop") {
      const arrow::Status status = lake_->DropTable(block.rest);
      ASSERT_TRUE(status.ok()) << status;
      return;
    }
    if (block.verb == "namespace") name_space_ = block.rest;
    if (block.verb == "namespace" || block.verb == "warehouse") return OpenSession();
    FAIL() << "unknown block: " << block.verb;
  }

  void CreateTable(const Block& block) {
    auto options = ParseOptions(block.rest.substr(block.rest.find(' ') + 1));
    TableOptions table;
    table.time_column = options["time"];
    std::istringstream keys(options["key"]);
    for (std::string key; std::getline(keys, key, ',');) table.series_key.push_back(key);
    if (options["chunk"] == "hour") table.chunk = Chunk::kHour;
    if (options["chunk"] == "month") table.chunk = Chunk::kMonth;
    if (options.count("dedup")) table.dedup = options["dedup"] == "true";
    const std::string name = block.rest.substr(0, block.rest.find(' '));
    const auto created = lake_->CreateTable(name, std::string_view(options["schema"]), table);
    ASSERT_TRUE(created.ok()) << created.status();
  }

  void Append(const Block& block) {
    const bool json = block.rest.size() > 5 && block.rest.ends_with(" json");
    auto table = lake_->OpenTable(json ? block.rest.substr(0, block.rest.size() - 5) : block.rest);
    ASSERT_TRUE(table.ok()) << table.status();
    const auto batch = json ? FromJson(table->schema(), block.body)
                            : FromCsv(table->schema(), JoinLines(block.body));
    ASSERT_TRUE(batch.ok()) << batch.status();
    const auto result = table->Append(*batch);
    ASSERT_TRUE(result.ok()) << result.status();
  }

  std::string Sql(const Block& block) const {
    std::string text = JoinLines(block.body);
    const std::string scratch = (folder_ / "scratch").string();
    for (size_t at; (at = text.find("{dir}")) != std::string::npos;) text.replace(at, 5, scratch);
    const std::string lake = (folder_ / "lake").string();
    for (size_t at; (at = text.find("{lake}")) != std::string::npos;) text.replace(at, 6, lake);
    return text;
  }

  void Statement(const Block& block) {
    auto reader = session_->Sql(Sql(block));
    arrow::Status status = reader.status();
    if (status.ok()) status = RowsAsText(reader->get()).status();
    if (block.rest == "ok") {
      EXPECT_TRUE(status.ok()) << status;
      return;
    }
    ASSERT_EQ(block.rest.substr(0, 5), "error");
    std::string fragment = block.rest.size() > 6 ? block.rest.substr(6) : "";
    ASSERT_FALSE(status.ok()) << "no error";
    if (!fragment.empty() && fragment[0] == '[') {
      const size_t end = fragment.find(']');
      EXPECT_EQ(KindName(KindOf(status)), fragment.substr(1, end - 1)) << status;
      fragment.erase(0, std::min(fragment.size(), end + 2));
    }
    EXPECT_NE(status.message().find(fragment), std::string::npos) << status;
  }

  void Contains(const Block& block) {
    auto reader = session_->Sql(Sql(block));
    ASSERT_TRUE(reader.ok()) << reader.status();
    const auto rows = RowsAsText(reader->get());
    ASSERT_TRUE(rows.ok()) << rows.status();
    const bool absent = block.rest.starts_with("! ");
    const bool found =
        JoinLines(*rows).find(block.rest.substr(absent ? 2 : 0)) != std::string::npos;
    EXPECT_NE(found, absent) << JoinLines(*rows);
  }

  void Query(size_t index, const Block& block) {
    auto reader = session_->Sql(Sql(block));
    ASSERT_TRUE(reader.ok()) << reader.status();
    auto text = RowsAsText(reader->get());
    ASSERT_TRUE(text.ok()) << text.status();
    std::vector<std::string> rows = *text;
    std::vector<std::string> expected = block.rows;
    std::string names;
    if (block.rest.find("names") != std::string::npos) {
      for (const std::string& name : (*reader)->schema()->field_names()) {
        names += (names.empty() ? "" : "|") + name;
      }
    }
    const bool sort = block.rest.find("rowsort") != std::string::npos;
    if (sort) std::sort(rows.begin(), rows.end());
    if (!names.empty()) rows.insert(rows.begin(), names);
    if (sort && !expected.empty()) {
      std::sort(expected.begin() + (names.empty() ? 0 : 1), expected.end());
    }
    // A row of one empty text would be a blank line, the end of the block.
    for (std::string& row : rows) {
      if (row.empty()) row = "(empty)";
      std::replace(row.begin(), row.end(), '\n', '~');
    }
    if (rows == expected) return;
    if (update_ && block.has_rows) {
      new_rows_[index] = rows;
      return;
    }
    ADD_FAILURE() << "got:\n" << JoinLines(rows) << "expected:\n" << JoinLines(expected);
  }

  const std::string path_;
  CaseFile file_;
  bool update_ = false;
  std::map<size_t, std::vector<std::string>> new_rows_;
  fs::path folder_;
  std::string name_space_ = "default";
  std::optional<Lake> lake_;
  std::optional<Session> session_;
};

std::vector<std::string> CaseFiles() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(TL_SOURCE_DIR) / "tests" / "sql")) {
    if (entry.path().extension() == ".test") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class SqlCases : public ::testing::TestWithParam<std::string> {};

TEST_P(SqlCases, Run) { Runner(GetParam()).Run(); }

INSTANTIATE_TEST_SUITE_P(Files, SqlCases, ::testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return fs::path(info.param).stem().string(); });

}  // namespace
}  // namespace timelake::sqltest
