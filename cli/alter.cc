#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
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
  std::vector<std::string> add, rename, drop, widen;
  std::string after;
  bool json = false;
};

// Drops first: they make room for a new column of the same name. Additions last, so that they may
// come behind a renamed column.
Result<std::vector<SchemaChange>> ToSchemaChanges(const Arguments& arguments) {
  using Kind = SchemaChange::Kind;
  std::vector<SchemaChange> changes;
  for (const std::string& name : arguments.drop) changes.push_back({Kind::kDrop, name, "", ""});
  const auto pairs = [&](const std::vector<std::string>& given, const char* flag,
                         Kind kind) -> Status {
    for (const std::string& pair : given) {
      const size_t at = pair.find('=');
      if (at == 0 || at == std::string::npos || at + 1 == pair.size()) {
        return UsageError(fmt::format("{}: \"{}\" is not NAME={}", flag, pair,
                                      kind == Kind::kRename ? "NAME" : "TYPE"));
      }
      changes.push_back({kind, pair.substr(0, at), pair.substr(at + 1), ""});
    }
    return Status::OK();
  };
  ARROW_RETURN_NOT_OK(pairs(arguments.rename, "--rename-column", Kind::kRename));
  ARROW_RETURN_NOT_OK(pairs(arguments.widen, "--widen-column", Kind::kWiden));
  ARROW_RETURN_NOT_OK(pairs(arguments.add, "--add-column", Kind::kAdd));
  if (!arguments.after.empty() && arguments.add.empty()) {
    return UsageError("--after is the place of columns that --add-column adds");
  }
  std::string after = arguments.after;
  for (SchemaChange& change : changes) {
    if (change.kind != Kind::kAdd || after.empty()) continue;
    change.after = std::exchange(after, change.column);
  }
  return changes;
}

Status RunColumns(Context* context, const Arguments& arguments,
                  const std::vector<SchemaChange>& changes) {
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_RETURN_NOT_OK(table.ChangeSchema(changes));
  const Json json = {{"table", table.name()},
                     {"version", table.version()},
                     {"columns", table.schema()->field_names()}};
  return PrintReport(arguments.json, json,
                     fmt::format("{}: columns {}, version {}", table.name(),
                                 fmt::join(table.schema()->field_names(), ", "), table.version()));
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(const auto columns, ToSchemaChanges(arguments));
  const bool settings = !arguments.set.empty() || !arguments.unset.empty();
  if (!columns.empty() && settings) {
    return UsageError("settings and columns are changed by separate commands: two commits");
  }
  if (!columns.empty()) return RunColumns(context, arguments, columns);
  ARROW_ASSIGN_OR_RAISE(const auto values, ParsePairs(arguments.set, "--set"));
  std::map<std::string, std::optional<std::string>> changes(values.begin(), values.end());
  for (const std::string& name : arguments.unset) {
    if (!changes.emplace(name, std::nullopt).second) {
      return UsageError(fmt::format("--unset: \"{}\" is given twice", name));
    }
  }
  if (changes.empty())
    return UsageError(
        "nothing to change: give --set name=value, --unset name or a change of columns");
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
  CLI::App* command =
      app->add_subcommand("alter", "Change the settings or the columns of a table, in one commit");
  AddTableName(command, &arguments->table);
  AddRepeated(command, "--set", &arguments->set,
              "A value for a setting (timelake settings lists them); may be given several times")
      ->type_name("NAME=VALUE");
  AddRepeated(command, "--unset", &arguments->unset,
              "A setting to put back to its default; may be given several times")
      ->type_name("NAME");
  AddRepeated(command, "--add-column", &arguments->add,
              "A new column, NULL in the rows before; may be given several times")
      ->type_name("NAME=TYPE");
  command
      ->add_option("--after", arguments->after,
                   "The column that new ones come behind (default: the last)")
      ->type_name("NAME");
  AddRepeated(command, "--rename-column", &arguments->rename,
              "A new name for a column; may be given several times")
      ->type_name("NAME=NAME");
  AddRepeated(command, "--drop-column", &arguments->drop,
              "A column to leave out; may be given several times")
      ->type_name("NAME");
  AddRepeated(command, "--widen-column", &arguments->widen,
              "A larger type: int to long, float to double, more digits of a decimal")
      ->type_name("NAME=TYPE");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake alter cpu --set retention=30d --set row-group-rows=500000\n"
              "  timelake alter cpu --unset retention\n"
              "  timelake alter cpu --add-column pressure=double --rename-column v=voltage\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
