#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "console.h"
#include "human.h"
#include "output_stream.h"
#include "report.h"
#include "text_table.h"

namespace timelake::cli {
namespace {

Status Run(Context* context, bool json) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  ARROW_ASSIGN_OR_RAISE(const PublishReport report, lake.Publish());
  if (json) {
    Json tables = Json::array();
    for (const auto& table : report.tables) {
      tables.push_back(
          {{"table", table.name}, {"version", table.version}, {"metadata", table.metadata}});
    }
    return PrintJson({{"index", report.index}, {"tables", std::move(tables)}});
  }
  return PrintOut(fmt::format("{}: {}\n", ForTerminal(report.index),
                              Counted(static_cast<int64_t>(report.tables.size()), "table")));
}

}  // namespace

void AddPublish(CLI::App* app, Context* context) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app->add_subcommand(
      "publish", "Write the index by which the warehouse can be read from a plain web server");
  AddJsonFlag(command, json.get());
  SetExamples(command,
              "  timelake -w /srv/www/lake publish && timelake -w https://host/lake ls\n"
              "  timelake -w s3://bucket/lake publish --json\n");
  command->callback(
      [context, json] { context->action = [context, json] { return Run(context, *json); }; });
}

}  // namespace timelake::cli
