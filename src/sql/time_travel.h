#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sql/table_version.h"

namespace duckdb {
class BoundAtClause;
class ClientContext;
}  // namespace duckdb

namespace timelake::sql {

// `AT (VERSION => ...)`: a snapshot id, or the name of a branch or tag. Null metadata snapshots are
// never returned; kNotFound names the table, what was asked for and what there is.
Result<const iceberg::Snapshot*> SnapshotOfVersion(const std::string& table,
                                                   const iceberg::TableMetadata& metadata,
                                                   const std::string& version);

// `AT (TIMESTAMP => ...)`: the snapshot that was current then, by the metadata's log.
Result<const iceberg::Snapshot*> SnapshotOfTime(const std::string& table,
                                                const iceberg::TableMetadata& metadata,
                                                int64_t time_us);

// Either, as DuckDB bound it. A text without a time zone is in the session's. Throws.
const iceberg::Snapshot& SnapshotOf(duckdb::ClientContext& context, const TableVersion& table,
                                    const duckdb::BoundAtClause& at);

// `table` as it was with one of its snapshots: that snapshot's schema, and dedup of its rows alone.
std::shared_ptr<const TableVersion> AtSnapshot(const TableVersion& table,
                                               const iceberg::Snapshot& snapshot);

}  // namespace timelake::sql
