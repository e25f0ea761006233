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
#include "timelake/maintain.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::vector<std::string> tables;
  bool deep = false;
  bool json = false;
};

Json ToJson(const std::string& table, const VerifyReport& report) {
  Json findings = Json::array();
  for (const VerifyFinding& finding : report.findings) {
    findings.push_back({{"file", finding.file}, {"what", finding.what}});
  }
  return {{"table", table},
          {"findings", std::move(findings)},
          {"version", report.version},
          {"snapshots", report.snapshots},
          {"manifests", report.manifests},
          {"data_files", report.data_files},
          {"delete_files", report.delete_files},
          {"bytes", report.bytes},
          {"rows_read", report.rows_read},
          {"unreferenced_objects", report.unreferenced_objects},
          {"unreferenced_bytes", report.unreferenced_bytes},
          {"seconds", report.seconds}};
}

std::string ToText(const std::string& table, const VerifyReport& report) {
  std::string text;
  for (const VerifyFinding& finding : report.findings) {
    text += fmt::format("{}: {}: {}\n", table, finding.file, finding.what);
  }
  text +=
      fmt::format("{}: {} in {}, {} in {}", table,
                  report.findings.empty() ? "all well" : Counted(report.findings.size(), "fault"),
                  Counted(report.snapshots, "snapshot"),
                  Counted(report.data_files + report.delete_files, "file"), Bytes(report.bytes));
  if (report.unreferenced_objects > 0) {
    text += fmt::format("; {} unreferenced ({})", Counted(report.unreferenced_objects, "object"),
                        Bytes(report.unreferenced_bytes));
  }
  return text + ", " + Seconds(report.seconds) + "\n";
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  std::vector<std::string> names = arguments.tables;
  if (names.empty()) {
    ARROW_ASSIGN_OR_RAISE(names, lake.ListTables());
  }
  const VerifyOptions options{arguments.deep, [] { return Stopping(); }};
  Json list = Json::array();
  int64_t faults = 0;
  Status first_error;
  for (const std::string& name : names) {
    auto report = [&]() -> Result<VerifyReport> {
      ARROW_ASSIGN_OR_RAISE(Table table, lake.OpenTable(name));
      return Verify(table, options);
    }();
    if (!report.ok()) {
      if (!first_error.ok()) Say("error", first_error.message());
      first_error = report.status();
      if (Stopping()) break;
      continue;
    }
    faults += static_cast<int64_t>(report->findings.size());
    list.push_back(ToJson(name, *report));
    if (!arguments.json) ARROW_RETURN_NOT_OK(PrintOut(ToText(name, *report)));
  }
  if (arguments.json) ARROW_RETURN_NOT_OK(PrintJson(list));
  if (first_error.ok() && faults > 0) {
    return Status::Invalid(Counted(faults, "fault"), faults == 1 ? " was" : " were", " found");
  }
  return first_error;
}

}  // namespace

void AddVerify(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand(
      "verify", "Look whether all files of the tables are there and as they are recorded");
  command->add_option("TABLES", arguments->tables, "Tables (default: all)")->type_name("");
  command->add_flag("--deep", arguments->deep, "Read the data, too");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake verify\n"
              "  timelake verify cpu --deep\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
