#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/metadata.h"

namespace timelake::table {

// Up to where a rollup has got, as its snapshots say it (docs/format.md, "Rollups").

// Of the rollup's snapshots.
inline constexpr char kRollupSourceSnapshot[] = "timelake.rollup-source-snapshot";
inline constexpr char kRollupSourceSequence[] = "timelake.rollup-source-sequence";
inline constexpr char kRollupSourceTable[] = "timelake.rollup-source-table";
inline constexpr char kRollupFloor[] = "timelake.rollup-floor";
inline constexpr char kRollupPartial[] = "timelake.rollup-partial";

// Of a snapshot of retention: microseconds; what went was earlier.
inline constexpr char kRetentionCutoff[] = "timelake.retention-cutoff";

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
  std::string table;  // uuid of the source; empty: the Rust timelake does not say
  int64_t floor_us = std::numeric_limits<int64_t>::min();
  std::vector<TimeRange> todo;  // the first one is the next; they may go on from the lowest

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
