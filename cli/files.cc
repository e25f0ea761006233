#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "human.h"
#include "output_stream.h"
#include "report.h"
#include "text_table.h"
#include "time_text.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  bool json = false;
};

Json TimeOrNull(const std::optional<int64_t>& time) {
  return time ? Json(UtcFromMicros(*time)) : Json();
}

Json ToJson(const std::vector<FileInfo>& files) {
  Json list = Json::array();
  for (const FileInfo& file : files) {
    list.push_back({{"path", file.path},
                    {"content", file.content},
                    {"partition", file.partition},
                    {"rows", file.rows},
                    {"bytes", file.bytes},
                    {"sequence_number", file.sequence_number},
                    {"min_time", TimeOrNull(file.min_time_us)},
                    {"max_time", TimeOrNull(file.max_time_us)}});
  }
  return list;
}

// Below the table's folder where possible.
std::string ShortPath(const std::string& path, const std::string& location) {
  const std::string folder = location + "/";
  return ForTerminal(path.starts_with(folder) ? path.substr(folder.size()) : path);
}

std::string ToText(const std::vector<FileInfo>& files, const std::string& location) {
  std::vector<std::vector<std::string>> rows;
  const auto time = [](const std::optional<int64_t>& us) { return us ? UtcFromMicros(*us) : ""; };
  for (const FileInfo& file : files) {
    const std::string kind = file.content == "data" ? "" : " (" + file.content + ")";
    rows.push_back({Count(file.rows), Bytes(file.bytes), time(file.min_time_us),
                    time(file.max_time_us), ShortPath(file.path, location) + kind});
  }
  return RenderTable({{"rows", true}, {"size", true}, {"first"}, {"last"}, {"file"}}, rows);
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const auto files, table.Files());
  return arguments.json ? PrintJson(ToJson(files)) : PrintOut(ToText(files, table.location()));
}

}  // namespace

void AddFiles(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("files", "List the data files of the current snapshot");
  AddTableName(command, &arguments->table);
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake files cpu\n"
              "  timelake files cpu --json\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
