#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/catalog.h"
#include "table/settings.h"

namespace timelake::table {

// A table knows its rollups by a property, so that queries and appends find them.

// Adds a rollup's name to the table's list, or takes it off both. One commit without a snapshot;
// none if nothing changes.
Status LinkRollup(Handle& source, const std::string& rollup, bool fits_peer);
Status UnlinkRollup(Handle& source, const std::string& rollup);

// Of the rollups that a version of the table lists, the handles of those that are there and say
// that they are made from it.
Result<std::vector<std::shared_ptr<Handle>>> OpenRollups(Catalog& catalog,
                                                         const std::string& source,
                                                         const iceberg::TableMetadata& metadata);

// The settings rollup-routing of a table, and rollup-refresh-interval of a rollup (microseconds;
// nullopt: off). Stored texts that do not parse count as not set.
bool RollupRouting(const iceberg::TableMetadata& metadata, const SettingMap& session);
std::optional<int64_t> RollupRefreshInterval(const iceberg::TableMetadata& metadata);

// Drops a table. One that rollups are made from goes only with them (`cascade`); else
// kInvalidArgument, with their names. A rollup is taken off its source's list.
Status DropWithRollups(Catalog& catalog, const TableName& name, bool if_exists, bool purge,
                       bool cascade);

// kUnsupported: the table is a rollup, which only its refresh writes to.
Status CheckNoRollup(const std::string& table, const iceberg::TableMetadata& metadata,
                     std::string_view what);

}  // namespace timelake::table
