#include "store/web_index.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace timelake::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFormatVersion = 1;

bool IsName(std::string_view name) {
  const size_t dot = name.find('.');
  const auto plain = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    });
  };
  return dot != std::string_view::npos && plain(name.substr(0, dot)) && plain(name.substr(dot + 1));
}

}  // namespace

std::string WebIndex::Table::folder() const {
  std::string folder = name;
  folder[folder.find('.')] = '/';
  return folder;
}

std::string WriteWebIndex(const WebIndex& index) {
  Json tables = Json::array();
  for (const auto& table : index.tables) {
    tables.push_back(
        {{"name", table.name},
         {"folder", table.folder()},
         {"version", table.version},
         {"metadata", fmt::format("{}/metadata/v{}.metadata.json", table.folder(), table.version)},
         {"table-uuid", table.table_uuid}});
  }
  return Json{{"format-version", kFormatVersion}, {"tables", std::move(tables)}}.dump(1) + "\n";
}

std::string WriteNamesIndex(const WebIndex& index) {
  Json names = Json::array();
  for (const auto& table : index.tables) names.push_back(table.name);
  return names.dump(2) + "\n";
}

Result<WebIndex> ParseWebIndex(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const Json* tables = &json;
  if (json.is_object()) {
    const auto version = json.find("format-version");
    if (version == json.end() || !version->is_number_integer() ||
        version->get<int64_t>() != kFormatVersion) {
      return Unsupported("its format-version is not {}", kFormatVersion);
    }
    const auto found = json.find("tables");
    tables = found == json.end() ? nullptr : &*found;
  }
  if (tables == nullptr || !tables->is_array()) return Corrupt("it is no index of tables");
  WebIndex index;
  for (const Json& entry : *tables) {
    WebIndex::Table table;
    if (entry.is_string()) {
      table.name = entry.get<std::string>();
    } else if (entry.is_object()) {
      const auto name = entry.find("name");
      const auto version = entry.find("version");
      const auto uuid = entry.find("table-uuid");
      if (name != entry.end() && name->is_string()) table.name = name->get<std::string>();
      if (version != entry.end() && version->is_number_integer()) {
        table.version = std::max<int64_t>(0, version->get<int64_t>());
      }
      if (uuid != entry.end() && uuid->is_string()) table.table_uuid = uuid->get<std::string>();
    }
    if (!IsName(table.name)) return Corrupt("it names the table {}", Quote(table.name));
    index.tables.push_back(std::move(table));
  }
  return index;
}

}  // namespace timelake::store
