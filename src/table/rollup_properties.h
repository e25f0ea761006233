#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/metadata.h"
#include "table/rollup_definition.h"

namespace timelake::table {

// What a rollup is stands in its table's properties (docs/format.md, "Rollups").

// Of the rollup. A definition that the Rust timelake can hold stands in its three properties, any
// other in one of our own, which it does not know.
inline constexpr char kRollupSource[] = "timelake.rollup-source";
inline constexpr char kRollupBucket[] = "timelake.rollup-bucket";
inline constexpr char kRollupAggregates[] = "timelake.rollup-aggregates";
inline constexpr char kRollupDefinition[] = "timelake.rollup-definition";
// Of the table that it is made from: the names of its rollups, of either kind.
inline constexpr char kRollups[] = "timelake.rollups";
inline constexpr char kRollupTables[] = "timelake.rollup-tables";

// Whether the Rust timelake refreshes and reads such a table as we do. `sum_types`: of the columns
// that hold sums, by name, e.g. "double"; `series_key`: of the source.
bool FitsPeer(const RollupDefinition& definition,
              const std::map<std::string, std::string>& sum_types,
              const std::vector<std::string>& series_key);

std::map<std::string, std::string> ToProperties(const RollupDefinition& definition, bool fits_peer);

// Of a table's metadata; nullopt: it is no rollup, or one of the Rust timelake that is more than we
// understand. kCorrupt: properties of our own that do not parse.
Result<std::optional<RollupDefinition>> ReadRollup(const iceberg::TableMetadata& metadata);

// The table that one is a rollup of, by its properties; empty: it is none.
std::string RollupSource(const std::map<std::string, std::string>& properties);

// Names of the rollups of a table, by its properties, sorted.
std::vector<std::string> RollupsOf(const std::map<std::string, std::string>& properties);

}  // namespace timelake::table
