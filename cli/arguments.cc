#include "arguments.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "suggest.h"

namespace timelake::cli {
namespace {

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.emplace_back(part);
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Result<std::map<std::string, std::string>> ParsePairs(const std::vector<std::string>& pairs,
                                                      std::string_view flag) {
  std::map<std::string, std::string> map;
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError(fmt::format("{}: \"{}\" is not name=value", flag, pair));
    }
    std::string name = pair.substr(0, equals);
    if (!map.emplace(name, pair.substr(equals + 1)).second) {
      return UsageError(fmt::format("{}: \"{}\" is given twice", flag, name));
    }
  }
  return map;
}

CLI::Option* AddRepeated(CLI::App* command, const std::string& name,
                         std::vector<std::string>* values, const std::string& description) {
  return command->add_option(name, *values, description)->allow_extra_args(false);
}

void Restrict(CLI::Option* option, std::string_view choices) {
  const std::vector<std::string> known = SplitList(choices);
  option->check([known, choices](const std::string& text) -> std::string {
    if (std::find(known.begin(), known.end(), text) != known.end()) return "";
    const std::string nearest = Nearest(text, known);
    return fmt::format("\"{}\" is not accepted{}; accepted: {}", text,
                       nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest), choices);
  });
}

void RequireAtLeast(int64_t least, CLI::Option* option) {
  option->check([least](const std::string& text) -> std::string {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && number >= least) return "";
    return fmt::format("\"{}\" is not accepted; accepted: whole numbers from {}", text, least);
  });
}

void AddTableName(CLI::App* command, std::string* table) {
  command->add_option("TABLE", *table, "[namespace.]table; without a namespace: default")
      ->type_name("")
      ->required();
}

void AddJsonFlag(CLI::App* command, bool* json) {
  command->add_flag("--json", *json, "Print the report as JSON");
}

void SetExamples(CLI::App* command, std::string_view examples) {
  command->footer(fmt::format(
      "Examples:\n{}\nThe options -w, -o and -v of all commands: timelake --help", examples));
}

void AddReadOptions(CLI::App* command, ReadArguments* arguments) {
  Restrict(command
               ->add_option("--input-format", arguments->format,
                            "Format of the files: auto, parquet, csv or tsv (default: auto, by "
                            "their suffix)")
               ->type_name("FORMAT"),
           "auto, parquet, csv, tsv");
  AddRepeated(command, "--null", &arguments->null_values,
              "A spelling of NULL in text files, instead of NA, N/A, null, NULL and Null; may be "
              "given several times")
      ->type_name("TEXT");
  command
      ->add_option("--delimiter", arguments->delimiter,
                   "Character between fields of text files (default: ',', and tab in TSV)")
      ->type_name("CHARACTER");
}

Result<ReadFilesOptions> ToReadOptions(const ReadArguments& arguments) {
  ReadFilesOptions options;
  if (arguments.format == "parquet") options.format = FileFormat::kParquet;
  if (arguments.format == "csv") options.format = FileFormat::kCsv;
  if (arguments.format == "tsv") options.format = FileFormat::kTsv;
  if (!arguments.null_values.empty()) options.null_values = arguments.null_values;
  options.delimiter = arguments.delimiter == "\\t" ? "\t" : arguments.delimiter;
  return options;
}

void AddTableOptions(CLI::App* command, TableArguments* arguments) {
  command
      ->add_option("--time-column", arguments->time_column,
                   "Timestamp column; makes a time-series table")
      ->type_name("COLUMN");
  command
      ->add_option("--series-key", arguments->series_key,
                   "Columns that tell the series apart, with commas")
      ->type_name("COLUMNS");
  auto* chunk = command
                    ->add_option("--chunk", arguments->chunk,
                                 "Span of one partition: hour, day, month or year (default: day)")
                    ->type_name("SPAN");
  Restrict(chunk, "hour, day, month, year");
  AddRepeated(
      command, "--partition-by", &arguments->partition_by,
      "Partitions beside the time: \"bucket(16, device)\" or \"identity(site)\"; may be given "
      "several times")
      ->type_name("FIELD");
  auto* expected =
      command->add_option("--expected-rows-per-day", arguments->expected_rows_per_day,
                          "Choose the span, and buckets for very many rows, by what is to come");
  RequireAtLeast(1, expected->type_name("ROWS"));
  expected->excludes(chunk);
  command
      ->add_option("--retention", arguments->retention,
                   "How long rows are kept, e.g. 90d (default: for ever)")
      ->type_name("DURATION");
  command->add_flag("--no-dedup", arguments->no_dedup,
                    "Keep all rows of equal series and time (default: the last written)");
  command->add_flag("--ingest-time", arguments->ingest_time,
                    "Add the column _ingest_ts, the time of the append");
  AddRepeated(command, "--prop", &arguments->properties,
              "A setting or property of the table; may be given several times")
      ->type_name("NAME=VALUE");
  command->add_flag("--if-not-exists", arguments->if_not_exists,
                    "Leave a table of that name as it is");
}

Result<TableOptions> ToTableOptions(const TableArguments& arguments) {
  TableOptions options;
  options.time_column = arguments.time_column;
  if (!arguments.series_key.empty()) options.series_key = SplitList(arguments.series_key);
  if (arguments.chunk == "hour") options.chunk = Chunk::kHour;
  if (arguments.chunk == "month") options.chunk = Chunk::kMonth;
  if (arguments.chunk == "year") options.chunk = Chunk::kYear;
  options.partition_by = arguments.partition_by;
  if (arguments.expected_rows_per_day > 0) {
    options = WithExpectedRows(std::move(options), arguments.expected_rows_per_day);
  }
  options.retention = arguments.retention;
  if (arguments.no_dedup) options.dedup = false;
  options.ingest_time = arguments.ingest_time;
  ARROW_ASSIGN_OR_RAISE(options.properties, ParsePairs(arguments.properties, "--prop"));
  options.if_not_exists = arguments.if_not_exists;
  return options;
}

void AddAppendOptions(CLI::App* command, AppendArguments* arguments) {
  command
      ->add_option("--batch-id", arguments->batch_id,
                   "Name of this load: repeating it changes nothing")
      ->type_name("NAME");
  auto* rows_per_commit =
      command->add_option("--rows-per-commit", arguments->rows_per_commit,
                          "A commit ends with the file in which it has so many rows "
                          "(default: 10000000; 0: a commit for each file)");
  RequireAtLeast(0, rows_per_commit->type_name("ROWS"));
  Restrict(command
               ->add_option("--on-future", arguments->on_future,
                            "Rows later than now plus the setting max-future: error or skip "
                            "(default: error)")
               ->type_name("ACTION"),
           "error, skip");
  AddRepeated(command, "--set", &arguments->settings,
              "A setting for this load only; may be given several times")
      ->type_name("NAME=VALUE");
}

Result<ImportOptions> ToImportOptions(const AppendArguments& append, const ReadArguments& read) {
  ImportOptions options;
  ARROW_ASSIGN_OR_RAISE(options.read, ToReadOptions(read));
  options.append.batch_id = append.batch_id;
  ARROW_ASSIGN_OR_RAISE(options.append.settings, ParsePairs(append.settings, "--set"));
  if (append.on_future == "error") options.append.on_future = OnFuture::kError;
  if (append.on_future == "skip") options.append.on_future = OnFuture::kSkip;
  options.rows_per_commit = append.rows_per_commit;
  return options;
}

void AddOutputOptions(CLI::App* command, OutputArguments* arguments) {
  CLI::Option* format = command->add_option("--format", arguments->format,
                                            fmt::format("{} (default: table)", kOutputFormats));
  Restrict(format->type_name("FORMAT"), kOutputFormats);
  command->add_flag("--json", arguments->json, "The same as --format json");
  command
      ->add_option("--output", arguments->file,
                   "File to write instead of standard output; appears when it is complete")
      ->type_name("FILE");
}

Result<OutputFormat> ToOutputFormat(const OutputArguments& arguments) {
  if (arguments.json && !arguments.format.empty()) {
    return UsageError("the format is given twice: --format and --json");
  }
  OutputFormat format = arguments.json ? OutputFormat::kJson : OutputFormat::kTable;
  ParseOutputFormat(arguments.format, &format);
  const bool to_stdout = arguments.file.empty() || arguments.file == "-";
  if (IsBinary(format) && to_stdout && ::isatty(STDOUT_FILENO) == 1) {
    return UsageError(fmt::format(
        "--format {} is not for a terminal: redirect standard output or give --output FILE",
        arguments.format));
  }
  return format;
}

}  // namespace timelake::cli
