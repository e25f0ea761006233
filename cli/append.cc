#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "follow.h"
#include "input_files.h"
#include "run_import.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  std::vector<std::string> files;
  ReadArguments read;
  AppendArguments append;
  bool json = false;
  bool follow = false;
  int64_t flush_rows = 100'000;
  int64_t flush_ms = 1000;
  std::string write_ahead;
};

Status RunFollow(Context* context, const Arguments& arguments) {
  if (arguments.files != std::vector<std::string>{"-"}) {
    return UsageError("--follow reads standard input: give - as the only file");
  }
  FollowOptions options;
  ARROW_ASSIGN_OR_RAISE(options.import, ToImportOptions(arguments.append, arguments.read));
  const FileFormat format = options.import.read.format;
  if (format != FileFormat::kCsv && format != FileFormat::kTsv) {
    return UsageError("--follow reads delimited text: give --input-format csv or tsv");
  }
  options.flush_rows = arguments.flush_rows;
  options.flush_interval_ms = arguments.flush_ms;
  options.write_ahead = arguments.write_ahead;
  options.json = arguments.json;
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  return Follow(context, std::move(table), options);
}

Status Run(Context* context, const Arguments& arguments) {
  if (arguments.follow) return RunFollow(context, arguments);
  if (!arguments.write_ahead.empty()) return UsageError("--write-ahead goes with --follow");
  ARROW_ASSIGN_OR_RAISE(auto options, ToImportOptions(arguments.append, arguments.read));
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(auto files, InputFiles::Expand(arguments.files, options.read.format));
  return RunImport(context, table.name(), arguments.json, files, options,
                   [&](const ImportOptions& with, ImportResult* committed) {
                     return ImportFiles(table, files.paths(), with, committed);
                   });
}

}  // namespace

void AddAppend(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("append", "Append files to a table");
  AddTableName(command, &arguments->table);
  command
      ->add_option("FILES", arguments->files,
                   "Parquet, CSV or TSV files (.gz too), folders, globs; - is standard input")
      ->type_name("")
      ->required();
  AddReadOptions(command, &arguments->read);
  AddAppendOptions(command, &arguments->append);
  command->add_flag("--follow", arguments->follow,
                    "Append what standard input gives as it comes, in few commits");
  RequireAtLeast(1, command
                        ->add_option("--flush-rows", arguments->flush_rows,
                                     "With --follow: rows of one commit (default: 100000)")
                        ->type_name("ROWS"));
  RequireAtLeast(1, command
                        ->add_option("--flush-ms", arguments->flush_ms,
                                     "With --follow: milliseconds that a row waits for its commit, "
                                     "at most (default: 1000)")
                        ->type_name("MS"));
  command
      ->add_option("--write-ahead", arguments->write_ahead,
                   "With --follow: a local file where rows are durable before their commit; what "
                   "an earlier run left there is appended first, once")
      ->type_name("FILE");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake append cpu 'day1/*.csv.gz' day2.parquet\n"
              "  timelake append cpu readings.csv --batch-id 2026-01-03\n"
              "  zcat readings.tsv.gz | timelake append cpu - --input-format tsv\n"
              "  sensors | timelake append cpu - --input-format csv --follow\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
