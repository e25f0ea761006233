#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "result_writer.h"
#include "status.h"
#include "timelake/ingest.h"
#include "timelake/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// Groups of options that several commands share: a plain struct for what was typed, a function that
// adds the options, and one that turns them into the library's options.

namespace timelake::cli {

// "name=value" pairs. A usage error names `flag`: no '=', no name, or a name given twice.
Result<std::map<std::string, std::string>> ParsePairs(const std::vector<std::string>& pairs,
                                                      std::string_view flag);

// An option that may be given several times, with one value each time.
CLI::Option* AddRepeated(CLI::App* command, const std::string& name,
                         std::vector<std::string>* values, const std::string& description);

// Accepts one of `choices` ("a, b, c") and nothing else.
void Restrict(CLI::Option* option, std::string_view choices);

// Accepts whole numbers from `least` on.
void RequireAtLeast(int64_t least, CLI::Option* option);

void AddTableName(CLI::App* command, std::string* table);
void AddJsonFlag(CLI::App* command, bool* json);

// The end of --help: examples, and where the global options are.
void SetExamples(CLI::App* command, std::string_view examples);

// How input files are read.
struct ReadArguments {
  std::string format = "auto";
  std::vector<std::string> null_values;
  std::string delimiter;
};
void AddReadOptions(CLI::App* command, ReadArguments* arguments);
Result<ReadFilesOptions> ToReadOptions(const ReadArguments& arguments);

// What a new table is.
struct TableArguments {
  std::string time_column;
  std::string series_key;
  std::string chunk = "day";
  std::vector<std::string> partition_by;
  int64_t expected_rows_per_day = 0;
  std::string retention;
  bool no_dedup = false;
  bool ingest_time = false;
  std::vector<std::string> properties;
  bool if_not_exists = false;
};
void AddTableOptions(CLI::App* command, TableArguments* arguments);
Result<TableOptions> ToTableOptions(const TableArguments& arguments);

// How rows are committed.
struct AppendArguments {
  std::string batch_id;
  int64_t rows_per_commit = 10'000'000;
  std::string on_future;
  std::vector<std::string> settings;
};
void AddAppendOptions(CLI::App* command, AppendArguments* arguments);
Result<ImportOptions> ToImportOptions(const AppendArguments& append, const ReadArguments& read);

// Where a result goes and what it looks like.
struct OutputArguments {
  std::string format;  // empty: table
  std::string file;
  bool json = false;
};
void AddOutputOptions(CLI::App* command, OutputArguments* arguments);
// A usage error for bytes that would go to a terminal.
Result<OutputFormat> ToOutputFormat(const OutputArguments& arguments);

}  // namespace timelake::cli
