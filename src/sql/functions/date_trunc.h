#pragma once

#include <optional>
#include <string>

#include "sql/time_floor.h"

namespace duckdb {
class ClientContext;
}

namespace timelake::sql {

// What date_trunc(part, time) rounds down to, where that is the same whatever DuckDB's ICU knows:
// of a time with a zone only while the session's zone is UTC. Nothing for other parts.
std::optional<TimeFloor> DateTruncGrid(duckdb::ClientContext& context, const std::string& part,
                                       bool zoned);

}  // namespace timelake::sql
