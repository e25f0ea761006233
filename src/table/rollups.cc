#include "table/rollups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/duration.h"
#include "base/text.h"
#include "table/commit.h"
#include "table/load.h"
#include "table/next_metadata.h"
#include "table/rollup_properties.h"

namespace timelake::table {
namespace {

using Properties = std::map<std::string, std::string>;

// True: the list has changed.
bool Edit(Properties* properties, const char* key, const std::string& rollup, bool listed) {
  const auto found = properties->find(key);
  auto names = SplitNames(found == properties->end() ? "" : found->second)
                   .ValueOr(std::vector<std::string>());
  const auto name = std::find(names.begin(), names.end(), rollup);
  if ((name != names.end()) == listed) return false;
  if (listed) {
    names.push_back(rollup);
    std::sort(names.begin(), names.end());
  } else {
    names.erase(name);
  }
  if (names.empty()) {
    properties->erase(key);
  } else {
    (*properties)[key] = JoinNames(names);
  }
  return true;
}

Status CommitLists(Handle& source, const std::function<bool(Properties*)>& edit) {
  return Commit(source,
                [&](const Version& base, const std::set<int64_t>&) -> Result<BuildResult> {
                  Attempt attempt;
                  attempt.metadata = Following(source, base);
                  if (!edit(&attempt.metadata.properties)) return Settled{};
                  StampCommit(source.env(), &attempt.metadata);
                  return attempt;
                })
      .status();
}

}  // namespace

Status LinkRollup(Handle& source, const std::string& rollup, bool fits_peer) {
  return CommitLists(source, [&](Properties* properties) {
    const bool one = Edit(properties, kRollups, rollup, fits_peer);
    const bool two = Edit(properties, kRollupTables, rollup, !fits_peer);
    return one || two;
  });
}

Status UnlinkRollup(Handle& source, const std::string& rollup) {
  return CommitLists(source, [&](Properties* properties) {
    const bool one = Edit(properties, kRollups, rollup, false);
    const bool two = Edit(properties, kRollupTables, rollup, false);
    return one || two;
  });
}

Result<std::vector<std::shared_ptr<Handle>>> OpenRollups(Catalog& catalog,
                                                         const std::string& source,
                                                         const iceberg::TableMetadata& metadata) {
  std::vector<std::shared_ptr<Handle>> rollups;
  for (const auto& name : RollupsOf(metadata.properties)) {
    const auto parsed = ParseTableName(name);
    if (!parsed.ok()) continue;
    auto handle = catalog.Open(*parsed);
    if (KindOf(handle.status()) == ErrorKind::kNotFound) continue;  // dropped
    TL_RETURN_NOT_OK(handle.status());
    const auto& properties = (*handle)->known().metadata->properties;
    // Of a definition that we do not understand, too: it would lose its source.
    const auto foreign = properties.find(kRollupSource);
    TL_ASSIGN_OR_RAISE(const auto definition, ReadRollup(*(*handle)->known().metadata));
    const bool ours = definition ? definition->source == source
                                 : foreign != properties.end() && foreign->second == source;
    if (ours) rollups.push_back(*std::move(handle));
  }
  return rollups;
}

bool RollupRouting(const iceberg::TableMetadata& metadata, const SettingMap& session) {
  const SettingDef* def = FindSetting("rollup-routing");
  const auto stored = metadata.properties.find(std::string(def->property));
  const auto given = session.find(std::string(def->name));
  if (given != session.end()) return given->second != "false";
  return stored == metadata.properties.end() || stored->second != "false";
}

std::optional<int64_t> RollupRefreshInterval(const iceberg::TableMetadata& metadata) {
  const SettingDef* def = FindSetting("rollup-refresh-interval");
  const auto stored = metadata.properties.find(std::string(def->property));
  if (stored != metadata.properties.end()) {
    if (stored->second == "off") return std::nullopt;
    const auto interval = ParseDuration(stored->second);
    if (interval.ok()) return *interval;
  }
  return ParseDuration(def->default_value).ValueOr(0);
}

namespace {

Status DropRollups(Catalog& catalog, const TableName& name, const iceberg::TableMetadata& metadata,
                   bool purge, bool cascade) {
  TL_ASSIGN_OR_RAISE(const auto rollups, OpenRollups(catalog, name.full(), metadata));
  std::vector<std::string> names;
  for (const auto& rollup : rollups) names.push_back(rollup->name());
  if (!names.empty() && !cascade) {
    return InvalidArgument(
        "table {} has rollups: {}; drop them first, or with it (cascade in every interface)",
        name.full(), Join(names, ", "));
  }
  for (const auto& rollup : names) {
    TL_ASSIGN_OR_RAISE(const TableName parsed, ParseTableName(rollup));
    TL_RETURN_NOT_OK(DropWithRollups(catalog, parsed, /*if_exists=*/true, purge, cascade));
  }
  return Status::OK();
}

// A list that names what is gone does no harm.
void Unlist(Catalog& catalog, const std::string& rollup, const iceberg::TableMetadata& metadata) {
  const auto definition = ReadRollup(metadata);
  if (!definition.ok() || !*definition) return;
  const auto source = ParseTableName((*definition)->source);
  if (!source.ok()) return;
  const auto handle = catalog.Open(*source);
  if (!handle.ok()) return;
  const Status status = UnlinkRollup(**handle, rollup);
  if (!status.ok()) {
    catalog.env().Log(LogLevel::kWarning, (*definition)->source + " still lists the rollup " +
                                              rollup + ": " + MessageOf(status));
  }
}

}  // namespace

Status DropWithRollups(Catalog& catalog, const TableName& name, bool if_exists, bool purge,
                       bool cascade) {
  const auto opened = catalog.Open(name);
  if (!opened.ok()) {
    const bool missing = KindOf(opened.status()) == ErrorKind::kNotFound;
    return missing && if_exists ? Status::OK() : opened.status();
  }
  const auto metadata = (*opened)->known().metadata;
  TL_RETURN_NOT_OK(DropRollups(catalog, name, *metadata, purge, cascade));
  TL_RETURN_NOT_OK(catalog.Drop(name, if_exists, purge));
  Unlist(catalog, name.full(), *metadata);
  return Status::OK();
}

Status CheckNoRollup(const std::string& table, const iceberg::TableMetadata& metadata,
                     std::string_view what) {
  TL_ASSIGN_OR_RAISE(const auto definition, ReadRollup(metadata));
  if (!definition) return Status::OK();
  return Unsupported(
      "{} {}: it is a rollup of {}, and has what that has; write there, or copy its rows to a "
      "table of their own",
      what, table, definition->source);
}

}  // namespace timelake::table
