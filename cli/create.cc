#include <memory>
#include <string>

#include <arrow/type.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "report.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  std::string from;
  std::string schema;
  TableArguments contract;
  ReadArguments read;
  bool json = false;
};

Result<Table> Create(Lake* lake, const Arguments& arguments, const TableOptions& options) {
  if (arguments.from.empty()) return lake->CreateTable(arguments.table, arguments.schema, options);
  ARROW_ASSIGN_OR_RAISE(auto read, ToReadOptions(arguments.read));
  ARROW_ASSIGN_OR_RAISE(auto schema, InferSchema(arguments.from, read));
  return lake->CreateTable(arguments.table, schema, options);
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto options, ToTableOptions(arguments.contract));
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  // Asked of the library without `if_not_exists`: the report says which of the two happened.
  options.if_not_exists = false;
  auto created = Create(&lake, arguments, options);
  const bool existed = !created.ok() && arguments.contract.if_not_exists &&
                       KindOf(created.status()) == ErrorKind::kAlreadyExists;
  ARROW_ASSIGN_OR_RAISE(Table table, existed ? lake.OpenTable(arguments.table) : created);
  const Json json = {{"table", table.name()},
                     {"location", table.location()},
                     {"version", table.version()},
                     {"created", !existed}};
  return PrintReport(
      arguments.json, json,
      fmt::format("{}: {} at {}", table.name(), existed ? "exists" : "created", table.location()));
}

}  // namespace

void AddCreate(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("create", "Create an empty table");
  AddTableName(command, &arguments->table);
  auto* schema =
      command->add_option("--schema", arguments->schema,
                          "The columns as \"name:type, ...\"; ! behind a type: never NULL");
  auto* from = command->add_option("--from", arguments->from,
                                   "A file that has the columns; its rows are not appended");
  schema->type_name("TEXT");
  from->type_name("FILE");
  AddTableOptions(command, &arguments->contract);
  AddReadOptions(command, &arguments->read);
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake create cpu --schema \"time:timestamptz, host:string!, usage:double\" \\\n"
              "      --time-column time --series-key host --chunk hour --retention 90d\n"
              "  timelake create weather --from weather.csv.gz --time-column time\n");
  command->callback([context, arguments, schema, from] {
    if (schema->empty() == from->empty()) {
      throw CLI::ValidationError("give the columns of the table once: by --schema or --from");
    }
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
