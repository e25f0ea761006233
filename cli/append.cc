#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
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
};

Status Run(Context* context, const Arguments& arguments) {
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
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake append cpu 'day1/*.csv.gz' day2.parquet\n"
              "  timelake append cpu readings.csv --batch-id 2026-01-03\n"
              "  zcat readings.tsv.gz | timelake append cpu - --input-format tsv\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
