#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "human.h"
#include "interrupt.h"
#include "report.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  std::string where;
  DeleteOptions options;
  bool json = false;
};

std::string Text(const std::string& table, const DeleteResult& done, bool dry_run) {
  if (done.rows == 0) return table + ": no row matches";
  if (dry_run) return fmt::format("{}: would delete {}", table, Counted(done.rows, "row"));
  std::string text = fmt::format("{}: {} deleted", table, Counted(done.rows, "row"));
  if (done.files_dropped > 0)
    text += fmt::format(", {} dropped", Counted(done.files_dropped, "file"));
  if (done.files_rewritten > 0) {
    text += fmt::format(", {} rewritten", Counted(done.files_rewritten, "file"));
  }
  return fmt::format("{}, version {}", text, done.version);
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  DeleteOptions options = arguments.options;
  options.cancelled = [] { return Stopping(); };
  ARROW_ASSIGN_OR_RAISE(const DeleteResult done, table.Delete(arguments.where, options));
  const Json json = {{"table", table.name()},
                     {"rows", done.rows},
                     {"files_dropped", done.files_dropped},
                     {"files_rewritten", done.files_rewritten},
                     {"files_written", done.files_written},
                     {"version", done.version},
                     {"snapshot_id", fmt::format("{}", done.snapshot_id)}};
  return PrintReport(arguments.json, json, Text(table.name(), done, options.dry_run));
}

}  // namespace

void AddDelete(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("delete", "Delete rows of a table");
  AddTableName(command, &arguments->table);
  command
      ->add_option("--where", arguments->where,
                   "A condition in SQL; rows for which it is true are deleted (\"true\": all)")
      ->type_name("SQL")
      ->required();
  command->add_flag("--dry-run", arguments->options.dry_run, "Only count the rows");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake delete cpu --where \"hostname = 'host_7'\" --dry-run\n"
              "  timelake delete cpu --where \"hostname = 'host_7' AND time < '2026-02-01'\"\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
