#include <memory>
#include <string>
#include <utility>
#include <vector>

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

struct Arguments {
  std::string name_space;
  bool details = false;
  bool json = false;
};

Status PrintNames(const std::vector<std::string>& names, bool json) {
  if (json) return PrintJson(Json(names));
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return PrintOut(text);
}

// A table that cannot be read is reported and left out, and fails the command in the end.
Status PrintDetails(Lake* lake, const std::vector<std::string>& names, bool json) {
  std::vector<std::vector<std::string>> rows;
  Json list = Json::array();
  Status first_error;
  for (const std::string& name : names) {
    auto info = [&]() -> Result<TableInfo> {
      ARROW_ASSIGN_OR_RAISE(Table table, lake->OpenTable(name));
      return table.Info();
    }();
    if (!info.ok()) {
      if (!first_error.ok()) Say("error", first_error.message());
      first_error = info.status();
      continue;
    }
    const std::string source = RollupSourceOf(info->properties);
    rows.push_back({name, Count(info->rows), Count(info->files), Bytes(info->bytes),
                    Count(info->version), info->time_column.empty() ? "-" : info->chunk,
                    source.empty() ? "-" : source});
    list.push_back({{"table", name},
                    {"rows", info->rows},
                    {"files", info->files},
                    {"bytes", info->bytes},
                    {"version", info->version},
                    {"chunk", info->chunk.empty() ? Json() : Json(info->chunk)},
                    {"rollup_of", source.empty() ? Json() : Json(source)}});
  }
  if (json) {
    ARROW_RETURN_NOT_OK(PrintJson(list));
  } else {
    ARROW_RETURN_NOT_OK(PrintOut(RenderTable({{"table"},
                                              {"rows", true},
                                              {"files", true},
                                              {"size", true},
                                              {"version", true},
                                              {"chunk"},
                                              {"rollup_of"}},
                                             rows)));
  }
  return first_error;
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  ARROW_ASSIGN_OR_RAISE(const auto names, lake.ListTables(arguments.name_space));
  return arguments.details ? PrintDetails(&lake, names, arguments.json)
                           : PrintNames(names, arguments.json);
}

}  // namespace

void AddLs(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("ls", "List the tables");
  command->add_option("NAMESPACE", arguments->name_space, "Only tables of this namespace")
      ->type_name("");
  command->add_flag("-l,--long", arguments->details, "With rows, files, size and version");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake ls\n"
              "  timelake ls iot --long\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
