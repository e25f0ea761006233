#pragma once

#include <string>

#include "iceberg/schema.h"
#include "table/rollup_definition.h"

namespace duckdb {
class ClientContext;
}

namespace timelake::sql {

// The time zone of a session; empty: UTC.
std::string SessionZone(duckdb::ClientContext& context);

// Whether arguments and conditions of a rollup say the same in a session of any time zone: rollups
// are computed in UTC. `schema`: of its source. Throws on a syntax error.
bool IsZoneFree(const table::RollupDefinition& definition, const iceberg::Schema& schema);

}  // namespace timelake::sql
