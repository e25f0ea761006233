#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "maintain/rollup_plan.h"
#include "scan/predicate.h"
#include "table/contract.h"
#include "table/env.h"
#include "table/rollup_position.h"

namespace timelake::maintain {

// What has happened to a table since a rollup of it was refreshed.
struct SourceChanges {
  // False: the table was rolled back, or snapshots in between have expired that may have deleted
  // rows; anything may have happened.
  bool known = false;
  std::vector<Span> touched;  // times of rows that came, or went otherwise than by retention
  bool removed = false;       // some went
  // Rows before it have gone by retention.
  int64_t floor_us = std::numeric_limits<int64_t>::min();
};

// Since the snapshot that `position` names, up to the current one. Rows came with files of a higher
// data sequence number (Iceberg specification, "Sequence Numbers"); they went by snapshots that
// delete or overwrite: of those that have expired the oldest one left tells (RollupHistory).
// Merging changes no row.
Result<SourceChanges> ReadSourceChanges(const table::Env& env,
                                        const iceberg::TableMetadata& metadata,
                                        const table::Contract& contract,
                                        const table::RollupPosition& position);

// Whether a refresh of the rollup would find something to do.
Result<bool> IsBehind(const table::Env& env, const iceberg::TableMetadata& source,
                      const iceberg::TableMetadata& rollup);

// Rows whose time lies in the range; open at the ends of int64.
scan::Predicate Within(int32_t time_id, table::TimeRange range);

// Times of the live data files that may have rows of the range, with their bytes.
Result<std::vector<Span>> LiveSpans(const table::Env& env, const iceberg::TableMetadata& metadata,
                                    const table::Contract& contract, table::TimeRange range);

}  // namespace timelake::maintain
