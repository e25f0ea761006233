#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "report.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  int64_t snapshot_id = 0;
  bool json = false;
};

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_RETURN_NOT_OK(table.Rollback(arguments.snapshot_id));
  const Json json = {{"table", table.name()},
                     {"snapshot_id", fmt::format("{}", arguments.snapshot_id)},
                     {"version", table.version()}};
  return PrintReport(arguments.json, json,
                     fmt::format("{}: snapshot {} is current again, version {}", table.name(),
                                 arguments.snapshot_id, table.version()));
}

}  // namespace

void AddRollback(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app->add_subcommand("rollback", "Make an earlier snapshot of a table current again");
  AddTableName(command, &arguments->table);
  command->add_option("SNAPSHOT", arguments->snapshot_id, "Its id, as timelake snapshots shows it")
      ->type_name("")
      ->required()
      ->check([](const std::string& text) -> std::string {
        const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
        return digits && text.size() <= 19 ? "" : fmt::format("\"{}\" is not a snapshot id", text);
      });
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake snapshots cpu\n"
              "  timelake rollback cpu 5184430069070270604\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
