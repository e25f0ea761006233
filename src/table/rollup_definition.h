#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/metadata.h"

namespace timelake::table {

// A rollup is a table whose rows are aggregates of another table's, one a group and time bucket.
// What it is stands in its properties (docs/format.md, "Rollups").

// Of the rollup. A definition that the Rust timelake can hold stands in its three properties, any
// other in one of our own, which it does not know.
inline constexpr char kRollupSource[] = "timelake.rollup-source";
inline constexpr char kRollupBucket[] = "timelake.rollup-bucket";
inline constexpr char kRollupAggregates[] = "timelake.rollup-aggregates";
inline constexpr char kRollupDefinition[] = "timelake.rollup-definition";
// Of the table that it is made from: the names of its rollups, of either kind.
inline constexpr char kRollups[] = "timelake.rollups";
inline constexpr char kRollupTables[] = "timelake.rollup-tables";
// Of the rollup's snapshots.
inline constexpr char kRollupSourceSnapshot[] = "timelake.rollup-source-snapshot";
inline constexpr char kRollupSourceSequence[] = "timelake.rollup-source-sequence";
inline constexpr char kRollupFloor[] = "timelake.rollup-floor";
inline constexpr char kRollupPartial[] = "timelake.rollup-partial";

// Of a snapshot of retention: microseconds; what went was earlier.
inline constexpr char kRetentionCutoff[] = "timelake.retention-cutoff";

enum class RollupKind {
  kCount,
  kSum,
  kMin,
  kMax,
  kAvg,
  kStddevSamp,
  kStddevPop,
  kVarSamp,
  kVarPop,
  kFirst,
  kLast,
  kM4,
};

// The place of the time among the arguments; nullopt: it is none of them.
std::optional<size_t> TimeArgument(RollupKind kind);

// One aggregate, and the columns of which it can be merged: of kCount, kSum, kMin and kMax its own;
// of kM4 likewise; of kAvg sum and count; of the deviations count, mean and sum of squared
// differences; of kFirst and kLast its own and the time.
struct RollupAggregate {
  std::string name;  // of its column
  RollupKind kind = RollupKind::kCount;
  std::string argument;  // SQL; empty: count(*)
  std::string type;      // of the result, as SQL has it
  std::vector<std::string> state;

  bool operator==(const RollupAggregate&) const = default;
};

// Width of the buckets: exactly one of the two is > 0. As the function time_bucket takes them.
struct RollupWidth {
  int64_t months = 0;
  int64_t micros = 0;
  std::string zone;                  // empty: UTC
  std::optional<int64_t> origin_us;  // absent: the function's own

  bool operator==(const RollupWidth&) const = default;
};

struct RollupDefinition {
  std::string source;  // "namespace.table"
  std::string time;    // its time column
  std::string bucket;  // the column of bucket starts, time column of the rollup
  RollupWidth width;
  std::vector<std::string> keys;    // columns, the same in both tables
  std::vector<std::string> filter;  // SQL; rows count for which all are true
  std::vector<RollupAggregate> aggregates;

  bool operator==(const RollupDefinition&) const = default;
};

// What a definition can hold, for messages.
std::string RollupKindsText();
// "sum", "stddev_samp", ...
std::string_view RollupKindName(RollupKind kind);
// By the name of an aggregate function, in lower case; synonyms, too.
std::optional<RollupKind> FindRollupKind(std::string_view function);

// The state columns of an aggregate that have no column in `aggregates` yet, named after it.
void NameStates(std::vector<RollupAggregate>* aggregates);

// "1h", "90s", "7d": one unit.
std::string WidthText(const RollupWidth& width);

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

// Times [first, end).
struct TimeRange {
  int64_t first = 0;
  int64_t end = 0;

  bool operator==(const TimeRange&) const = default;
};

// Up to where a rollup has got: it says what its source said at `snapshot`, for all buckets but
// those in `todo` and those before `floor_us`, of which the source or the rollup has dropped rows.
struct RollupPosition {
  int64_t snapshot = 0;
  int64_t sequence = 0;
  int64_t floor_us = std::numeric_limits<int64_t>::min();
  std::vector<TimeRange> todo;

  bool operator==(const RollupPosition&) const = default;
};

// What a snapshot that brings a rollup there says in its summary. `before`: where it was.
std::map<std::string, std::string> ToSummary(const RollupPosition& position,
                                             const std::optional<RollupPosition>& before);

// Of the current snapshot, or of the last one before it if only merges lie between. nullopt: none
// is known, or somebody else has written to the rollup since.
std::optional<RollupPosition> ReadPosition(const iceberg::TableMetadata& metadata);

// What a new snapshot that is no refresh says of it: the same as the one before, but for what
// retention takes. Nothing in tables that are no rollups.
void CarryPosition(const iceberg::TableMetadata& base, iceberg::Summary* summary);

}  // namespace timelake::table
