#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "iceberg/metadata.h"

namespace timelake::table {

// What the snapshots of a table with rollups say of the ones before them, which may expire: what
// came since a refresh is told by sequence numbers, but not what went (docs/format.md, "Rollups").

inline constexpr char kRowsKeptSince[] = "timelake.rows-kept-since";
inline constexpr char kRowsDroppedBefore[] = "timelake.rows-dropped-before";

struct RollupHistory {
  // A sequence number. A snapshot with this one or a higher one that was once the current one is an
  // ancestor of the one that says so; what came behind it has only added rows, merged files, and
  // dropped rows by retention.
  int64_t kept_since = 0;
  // Microseconds: the rows that retention dropped behind it were earlier.
  int64_t dropped_before = std::numeric_limits<int64_t>::min();

  bool operator==(const RollupHistory&) const = default;
};

// Of a snapshot; nullopt: it does not say.
std::optional<RollupHistory> HistoryOf(const iceberg::Snapshot& snapshot);

// Writes it into the summary of a snapshot that is to follow the current one of `base`, where the
// table has rollups. Its operation is there, and all else of the summary that is its own.
void CarryHistory(const iceberg::TableMetadata& base, iceberg::Snapshot* snapshot);

}  // namespace timelake::table
