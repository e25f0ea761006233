#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "maintain/rollup_plan.h"
#include "table/contract.h"
#include "table/env.h"

namespace timelake::maintain {

// What has happened to a table since a rollup of it was refreshed.
struct SourceChanges {
  // False: snapshots in between have expired, or are not those the table was at; anything may have
  // happened.
  bool known = false;
  std::vector<Span> touched;  // times of rows that came, or went otherwise than by retention
  bool removed = false;       // some went
  // Rows before it have gone by retention.
  int64_t floor_us = std::numeric_limits<int64_t>::min();
};

// Since the snapshot that `position` names, up to the current one. Rows came with files of a higher
// data sequence number (Iceberg specification, "Sequence Numbers"); they went by snapshots that
// delete or overwrite. Merging changes no row.
Result<SourceChanges> ReadSourceChanges(const table::Env& env,
                                        const iceberg::TableMetadata& metadata,
                                        const table::Contract& contract,
                                        const table::RollupPosition& position);

// Whether a refresh of the rollup would find something to do.
Result<bool> IsBehind(const table::Env& env, const iceberg::TableMetadata& source,
                      const iceberg::TableMetadata& rollup);

// Times of all live data files, with their bytes.
Result<std::vector<Span>> LiveSpans(const table::Env& env, const iceberg::TableMetadata& metadata,
                                    const table::Contract& contract);

}  // namespace timelake::maintain
