#include "table/rollup_properties.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/civil_time.h"
#include "base/duration.h"
#include "base/text.h"
#include "table/contract.h"

namespace timelake::table {
namespace {

using nlohmann::json;

const std::string* Find(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// --- our own property ---

json ToJson(const RollupDefinition& definition) {
  json width = json::object();
  if (definition.width.months > 0) width["months"] = definition.width.months;
  if (definition.width.micros > 0) width["us"] = definition.width.micros;
  if (!definition.width.zone.empty()) width["zone"] = definition.width.zone;
  if (definition.width.origin_us) width["origin-us"] = *definition.width.origin_us;
  json aggregates = json::array();
  for (const auto& aggregate : definition.aggregates) {
    json item = {{"name", aggregate.name},
                 {"function", std::string(RollupKindName(aggregate.kind))},
                 {"type", aggregate.type},
                 {"state", aggregate.state}};
    if (!aggregate.argument.empty()) item["argument"] = aggregate.argument;
    aggregates.push_back(std::move(item));
  }
  return {{"source", definition.source}, {"time", definition.time},
          {"bucket", definition.bucket}, {"width", width},
          {"keys", definition.keys},     {"filter", definition.filter},
          {"aggregates", aggregates}};
}

std::optional<RollupDefinition> FromJson(const json& object) {
  RollupDefinition definition;
  try {
    definition.source = object.at("source").get<std::string>();
    definition.time = object.at("time").get<std::string>();
    definition.bucket = object.at("bucket").get<std::string>();
    definition.keys = object.at("keys").get<std::vector<std::string>>();
    definition.filter = object.at("filter").get<std::vector<std::string>>();
    const json& width = object.at("width");
    definition.width.months = width.value("months", int64_t{0});
    definition.width.micros = width.value("us", int64_t{0});
    definition.width.zone = width.value("zone", std::string());
    if (width.contains("origin-us"))
      definition.width.origin_us = width.at("origin-us").get<int64_t>();
    for (const json& item : object.at("aggregates")) {
      RollupAggregate aggregate;
      aggregate.name = item.at("name").get<std::string>();
      const auto kind = FindRollupKind(item.at("function").get<std::string>());
      if (!kind) return std::nullopt;
      aggregate.kind = *kind;
      aggregate.argument = item.value("argument", std::string());
      aggregate.type = item.at("type").get<std::string>();
      aggregate.state = item.at("state").get<std::vector<std::string>>();
      definition.aggregates.push_back(std::move(aggregate));
    }
  } catch (const json::exception&) {
    return std::nullopt;
  }
  if ((definition.width.months > 0) == (definition.width.micros > 0)) return std::nullopt;
  auto named = definition.aggregates;
  NameStates(&named);
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i].state.size() != definition.aggregates[i].state.size()) return std::nullopt;
  }
  return definition;
}

// --- the peer's properties ---

std::string QuoteSql(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string(2, c) : std::string(1, c);
  return quoted + "\"";
}

// The column that a plain argument is; SQL quotes it or not.
std::string PlainColumn(const std::string& argument) {
  if (argument.size() < 2 || argument.front() != '"') return argument;
  std::string name;
  for (size_t i = 1; i + 1 < argument.size(); ++i) {
    name += argument[i];
    if (argument[i] == '"') ++i;
  }
  return name;
}

bool IsPlain(const std::string& argument) {
  const std::string name = PlainColumn(argument);
  if (QuoteSql(name) == argument) return true;
  return !argument.empty() && std::all_of(argument.begin(), argument.end(), [](unsigned char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::optional<RollupKind> PeerKind(const std::string& function) {
  constexpr std::string_view kPeer[] = {"count", "sum", "min", "max", "avg"};
  if (std::find(std::begin(kPeer), std::end(kPeer), function) == std::end(kPeer)) {
    return std::nullopt;
  }
  return FindRollupKind(function);
}

std::optional<RollupDefinition> FromPeer(const iceberg::TableMetadata& metadata,
                                         const std::string& source) {
  const auto* bucket = Find(metadata.properties, kRollupBucket);
  const auto* text = Find(metadata.properties, kRollupAggregates);
  if (!bucket || !text) return std::nullopt;
  const auto width = ParseDuration(*bucket);
  const auto contract = ReadContract(metadata);
  if (!width.ok() || *width <= 0 || !contract.ok() || !contract->is_time_series()) {
    return std::nullopt;
  }
  RollupDefinition definition;
  definition.source = source;
  definition.bucket = contract->time_name;
  definition.keys = contract->key_names;
  definition.width.micros = *width;
  // The peer's buckets count from 1970, ours from a Monday.
  if (kMicrosPerDay % *width != 0) definition.width.origin_us = 0;
  const json items = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!items.is_array()) return std::nullopt;
  for (const json& item : items) {
    if (!item.is_object()) return std::nullopt;
    RollupAggregate aggregate;
    try {
      aggregate.name = item.at("name").get<std::string>();
      const auto kind = PeerKind(item.at("function").get<std::string>());
      if (!kind) return std::nullopt;
      aggregate.kind = *kind;
      if (item.contains("column"))
        aggregate.argument = QuoteSql(item.at("column").get<std::string>());
    } catch (const json::exception&) {
      return std::nullopt;
    }
    if (aggregate.argument.empty() && aggregate.kind != RollupKind::kCount) return std::nullopt;
    definition.aggregates.push_back(std::move(aggregate));
  }
  for (auto& aggregate : definition.aggregates) {
    if (aggregate.kind != RollupKind::kAvg) {
      aggregate.state = {aggregate.name};
      continue;
    }
    // Without the columns beside it an average is only that: nothing can be made of it.
    const auto* sum = SameArgument(definition.aggregates, RollupKind::kSum, aggregate.argument);
    const auto* count = SameArgument(definition.aggregates, RollupKind::kCount, aggregate.argument);
    if (sum && count) aggregate.state = {sum->name, count->name};
  }
  return definition;
}

}  // namespace

bool FitsPeer(const RollupDefinition& definition,
              const std::map<std::string, std::string>& sum_types,
              const std::vector<std::string>& series_key) {
  const RollupWidth& width = definition.width;
  if (width.micros == 0 || !width.zone.empty() || width.origin_us || !definition.filter.empty() ||
      kMicrosPerDay % width.micros != 0 || width.micros % kMicrosPerSecond != 0) {
    return false;
  }
  for (const auto& key : definition.keys) {
    if (std::find(series_key.begin(), series_key.end(), key) == series_key.end()) return false;
  }
  std::set<std::string> names;
  for (const auto& aggregate : definition.aggregates) names.insert(aggregate.name);
  for (const auto& aggregate : definition.aggregates) {
    if (!PeerKind(std::string(RollupKindName(aggregate.kind)))) return false;
    if (!aggregate.argument.empty() && !IsPlain(aggregate.argument)) return false;
    for (const auto& column : aggregate.state) {
      if (!names.contains(column)) return false;
    }
    if (aggregate.kind == RollupKind::kSum || aggregate.kind == RollupKind::kAvg) {
      const auto type = sum_types.find(aggregate.state[0]);
      if (type == sum_types.end() || type->second != "double") return false;
    }
  }
  return true;
}

std::map<std::string, std::string> ToProperties(const RollupDefinition& definition,
                                                bool fits_peer) {
  if (!fits_peer) return {{kRollupDefinition, ToJson(definition).dump()}};
  nlohmann::ordered_json aggregates = nlohmann::ordered_json::array();
  for (const auto& aggregate : definition.aggregates) {
    nlohmann::ordered_json item;
    item["name"] = aggregate.name;
    item["function"] = std::string(RollupKindName(aggregate.kind));
    if (!aggregate.argument.empty()) item["column"] = PlainColumn(aggregate.argument);
    aggregates.push_back(std::move(item));
  }
  return {{kRollupSource, definition.source},
          {kRollupBucket, WidthText(definition.width)},
          {kRollupAggregates, aggregates.dump()}};
}

Result<std::optional<RollupDefinition>> ReadRollup(const iceberg::TableMetadata& metadata) {
  if (const auto* own = Find(metadata.properties, kRollupDefinition)) {
    auto definition = FromJson(json::parse(*own, nullptr, /*allow_exceptions=*/false));
    if (definition) return definition;
    return Corrupt("the property {} of the rollup in {} cannot be read: {}", kRollupDefinition,
                   metadata.location, Quote(*own));
  }
  if (const auto* source = Find(metadata.properties, kRollupSource)) {
    return FromPeer(metadata, *source);
  }
  return std::nullopt;
}

std::string RollupSource(const std::map<std::string, std::string>& properties) {
  if (const auto* own = Find(properties, kRollupDefinition)) {
    const auto definition = FromJson(json::parse(*own, nullptr, /*allow_exceptions=*/false));
    return definition ? definition->source : "";
  }
  const auto* source = Find(properties, kRollupSource);
  return source ? *source : "";
}

std::vector<std::string> RollupsOf(const std::map<std::string, std::string>& properties) {
  std::set<std::string> names;
  for (const char* key : {kRollups, kRollupTables}) {
    const auto* list = Find(properties, key);
    if (!list) continue;
    const auto split = SplitNames(*list);
    if (split.ok()) names.insert(split->begin(), split->end());
  }
  return {names.begin(), names.end()};
}

}  // namespace timelake::table
