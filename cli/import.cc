#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "console.h"
#include "input_files.h"
#include "run_import.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  std::vector<std::string> files;
  TableArguments contract;
  ReadArguments read;
  AppendArguments append;
  bool json = false;
};

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto table_options, ToTableOptions(arguments.contract));
  ARROW_ASSIGN_OR_RAISE(auto options, ToImportOptions(arguments.append, arguments.read));
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  ARROW_ASSIGN_OR_RAISE(auto files, InputFiles::Expand(arguments.files, options.read.format));
  if (table_options.time_column.empty()) {
    Say("note", "without --time-column this is a plain table: no partitions, no latest rows");
  }
  return RunImport(context, arguments.table, arguments.json, files, options,
                   [&](const ImportOptions& with, ImportResult* committed) {
                     return CreateAndImport(lake, arguments.table, files.paths(), table_options,
                                            with, committed);
                   });
}

}  // namespace

void AddImport(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand(
      "import", "Create a table with the columns of the first file, then append the files");
  AddTableName(command, &arguments->table);
  command
      ->add_option("FILES", arguments->files,
                   "Parquet, CSV or TSV files (.gz too), folders, globs; - is standard input")
      ->type_name("")
      ->required();
  AddTableOptions(command, &arguments->contract);
  AddReadOptions(command, &arguments->read);
  AddAppendOptions(command, &arguments->append);
  AddJsonFlag(command, &arguments->json);
  SetExamples(
      command,
      "  timelake import weather weather.csv.gz --time-column time --series-key station\n"
      "  timelake import iot.readings readings/ --time-column ts --series-key site,device \\\n"
      "      --chunk hour --retention 90d\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
