#include <memory>
#include <string>

#include <arrow/table.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "result_writer.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  OutputArguments output;
};

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(const OutputFormat format, ToOutputFormat(arguments.output));
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(auto rows, table.Latest());
  ARROW_ASSIGN_OR_RAISE(auto stream, ResultStream::Open(arguments.output.file));
  const auto writer = MakeResultWriter(format, stream);
  arrow::TableBatchReader reader(rows);
  ARROW_RETURN_NOT_OK(WriteResult(&reader, writer.get()).status());
  return stream->Commit();
}

}  // namespace

void AddLatest(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("latest", "Print the newest row of every series");
  AddTableName(command, &arguments->table);
  AddOutputOptions(command, &arguments->output);
  SetExamples(command,
              "  timelake latest cpu\n"
              "  timelake latest iot.readings --format csv\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
