#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "report.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  std::vector<std::string> set;
  std::vector<std::string> unset;
  bool json = false;
};

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(const auto values, ParsePairs(arguments.set, "--set"));
  std::map<std::string, std::optional<std::string>> changes(values.begin(), values.end());
  for (const std::string& name : arguments.unset) {
    if (!changes.emplace(name, std::nullopt).second) {
      return UsageError(fmt::format("--unset: \"{}\" is given twice", name));
    }
  }
  if (changes.empty())
    return UsageError("nothing to change: give --set name=value or --unset name");
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_RETURN_NOT_OK(table.SetProperties(changes));
  const Json json = {{"table", table.name()},
                     {"version", table.version()},
                     {"set", values},
                     {"unset", arguments.unset}};
  return PrintReport(arguments.json, json,
                     fmt::format("{}: {} set, {} unset, version {}", table.name(), values.size(),
                                 arguments.unset.size(), table.version()));
}

}  // namespace

void AddAlter(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("alter", "Change the settings of a table, in one commit");
  AddTableName(command, &arguments->table);
  AddRepeated(command, "--set", &arguments->set,
              "A value for a setting (timelake settings lists them); may be given several times")
      ->type_name("NAME=VALUE");
  AddRepeated(command, "--unset", &arguments->unset,
              "A setting to put back to its default; may be given several times")
      ->type_name("NAME");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake alter cpu --set retention=30d --set row-group-rows=500000\n"
              "  timelake alter cpu --unset retention\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
