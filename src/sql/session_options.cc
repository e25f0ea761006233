#include "sql/session_options.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <duckdb/main/client_context.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>

#include "base/text.h"
#include "sql/error.h"

namespace timelake::sql {

namespace {

constexpr std::string_view kSettings[] = {"read-dedup", "latest-from-index",
                                          "aggregates-from-metadata", "rollup-routing"};
constexpr const char* kAsTable = "table";

std::string OptionName(std::string_view setting) {
  std::string name = "timelake_" + std::string(setting);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void Check(duckdb::ClientContext&, duckdb::SetScope, duckdb::Value& value) {
  const std::string text = value.IsNull() ? "" : ToLowerAscii(value.ToString());
  if (text == "on" || text == "true") {
    value = duckdb::Value("on");
  } else if (text == "off" || text == "false") {
    value = duckdb::Value("off");
  } else if (text == kAsTable) {
    value = duckdb::Value(kAsTable);
  } else {
    Throw(InvalidArgument("{} is not accepted: 'on', 'off' or 'table' (as the table says)",
                          Quote(value.ToString())));
  }
}

}  // namespace

void RegisterSessionOptions(duckdb::DatabaseInstance& database) {
  auto& config = duckdb::DBConfig::GetConfig(database);
  for (const std::string_view setting : kSettings) {
    const table::SettingDef* def = table::FindSetting(setting);
    config.AddExtensionOption(OptionName(setting),
                              std::string(def->description) + " on, off, or table: as it says",
                              duckdb::LogicalType::VARCHAR, duckdb::Value(kAsTable), Check);
  }
}

table::SettingMap SessionOptionsOf(duckdb::ClientContext& context) {
  table::SettingMap settings;
  for (const std::string_view setting : kSettings) {
    duckdb::Value value;
    if (!context.TryGetCurrentSetting(OptionName(setting), value) || value.IsNull()) continue;
    const std::string text = value.ToString();
    if (text != kAsTable) settings[std::string(setting)] = text == "on" ? "true" : "false";
  }
  return settings;
}

}  // namespace timelake::sql
