#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "console.h"
#include "report.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  DropOptions options;
  bool json = false;
};

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  if (arguments.options.purge) {
    Say("warning", fmt::format("--purge deletes the files of {} now; queries that read them fail",
                               arguments.table));
  }
  // Asked of the library without `if_exists`: the report says whether there was one.
  DropOptions options = arguments.options;
  options.if_exists = false;
  const Status status = lake.DropTable(arguments.table, options);
  const bool missing = KindOf(status) == ErrorKind::kNotFound && arguments.options.if_exists;
  if (!status.ok() && !missing) return status;
  const Json json = {{"table", arguments.table},
                     {"dropped", status.ok()},
                     {"purged", status.ok() && options.purge}};
  const char* done = missing ? "does not exist" : options.purge ? "dropped and purged" : "dropped";
  return PrintReport(arguments.json, json, fmt::format("{}: {}", arguments.table, done));
}

}  // namespace

void AddDrop(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("drop", "Drop a table; its name can be created again");
  AddTableName(command, &arguments->table);
  command->add_flag("--if-exists", arguments->options.if_exists,
                    "A table that does not exist is no error");
  command->add_flag("--cascade", arguments->options.cascade,
                    "Drop its rollups, too; else they keep it");
  command->add_flag("--purge", arguments->options.purge,
                    "Delete its files at once; queries that still read them fail");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake drop cpu\n"
              "  timelake drop iot.readings --purge --if-exists\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
