#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "console.h"
#include "human.h"
#include "interrupt.h"
#include "output_stream.h"
#include "report.h"
#include "text_table.h"
#include "timelake/maintain.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::vector<std::string> tables;
  bool json = false;
};

Json ToJson(const std::string& table, const RelocateReport& report) {
  return {{"table", table},
          {"from", report.from},
          {"to", report.to},
          {"relocated", report.relocated},
          {"version", report.version},
          {"snapshots", report.snapshots},
          {"manifests", report.manifests},
          {"files", report.files},
          {"delete_files", report.delete_files},
          {"seconds", report.seconds}};
}

std::string ToText(const std::string& table, const RelocateReport& report) {
  if (!report.relocated) {
    return fmt::format("{}: lies where it says, {}\n", table, ForTerminal(report.to));
  }
  return fmt::format("{}: from {} to {}, {} and {} in version {}, {}\n", table,
                     ForTerminal(report.from), ForTerminal(report.to),
                     Counted(report.snapshots, "snapshot"), Counted(report.files, "file"),
                     report.version, Seconds(report.seconds));
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  std::vector<std::string> names = arguments.tables;
  if (names.empty()) {
    ARROW_ASSIGN_OR_RAISE(names, lake.ListTables());
  }
  Json list = Json::array();
  Status first_error;
  for (const std::string& name : names) {
    if (Stopping()) break;
    const auto report = Relocate(lake, name);
    if (!report.ok()) {
      if (!first_error.ok()) Say("error", first_error.message());
      first_error = report.status();
      continue;
    }
    list.push_back(ToJson(name, *report));
    if (!arguments.json) ARROW_RETURN_NOT_OK(PrintOut(ToText(name, *report)));
  }
  if (arguments.json) ARROW_RETURN_NOT_OK(PrintJson(list));
  return first_error;
}

}  // namespace

void AddRelocate(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand(
      "relocate", "Make tables whose folders were moved or copied ones of their new place");
  command->add_option("TABLES", arguments->tables, "Tables (default: all)")->type_name("");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  mv old/warehouse /data/warehouse && timelake -w /data/warehouse relocate\n"
              "  timelake relocate cpu\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
