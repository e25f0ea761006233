#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "output_stream.h"
#include "report.h"
#include "text_table.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  bool json = false;
};

Json RegistryJson() {
  Json list = Json::array();
  for (const SettingInfo& setting : AllSettings()) {
    list.push_back({{"name", setting.name},
                    {"default", setting.default_value},
                    {"levels", setting.levels},
                    {"accepted", setting.accepted},
                    {"description", setting.description}});
  }
  return list;
}

std::string RegistryText() {
  std::string text;
  for (const SettingInfo& setting : AllSettings()) {
    const std::string value = setting.default_value.empty() ? "none" : setting.default_value;
    text += fmt::format("{}{}\n    {}\n    default {}; set at {}", text.empty() ? "" : "\n",
                        setting.name, setting.description, value, setting.levels);
    if (!setting.accepted.empty()) text += fmt::format("; accepts {}", setting.accepted);
    text.push_back('\n');
  }
  return text;
}

struct Value {
  std::string name;
  std::string text;
  bool is_default = false;
};

// The settings that count for appends and queries, in the registry's order, then foreign
// properties.
std::vector<Value> ValuesOf(const TableInfo& info) {
  std::vector<Value> values;
  std::set<std::string> known;
  for (const SettingInfo& setting : AllSettings()) {
    auto stored = info.properties.find("timelake." + setting.name);
    if (stored == info.properties.end()) stored = info.properties.find(setting.name);
    const bool is_default = stored == info.properties.end();
    if (!is_default) known.insert(stored->first);
    if (is_default && setting.levels == "managed") continue;
    values.push_back(
        {setting.name, is_default ? setting.default_value : stored->second, is_default});
  }
  for (const auto& [name, text] : info.properties) {
    if (!known.contains(name)) values.push_back({name, text, false});
  }
  return values;
}

Status PrintValues(const TableInfo& info, bool json) {
  std::vector<std::vector<std::string>> rows;
  Json list = Json::array();
  for (const Value& value : ValuesOf(info)) {
    rows.push_back(
        {ForTerminal(value.name), ForTerminal(value.text), value.is_default ? "default" : ""});
    list.push_back({{"name", value.name}, {"value", value.text}, {"is_default", value.is_default}});
  }
  return json ? PrintJson(list) : PrintOut(RenderTable({{"setting"}, {"value"}, {""}}, rows));
}

Status Run(Context* context, const Arguments& arguments) {
  if (arguments.table.empty()) {
    return arguments.json ? PrintJson(RegistryJson()) : PrintOut(RegistryText());
  }
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const TableInfo info, table.Info());
  return PrintValues(info, arguments.json);
}

}  // namespace

void AddSettings(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app->add_subcommand("settings", "List all settings, or the values that a table has for them");
  command->add_option("TABLE", arguments->table, "[namespace.]table whose values to show")
      ->type_name("");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake settings\n"
              "  timelake settings cpu\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
