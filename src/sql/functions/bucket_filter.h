#pragma once

#include <duckdb/common/unique_ptr.hpp>
#include <duckdb/common/vector.hpp>
#include <duckdb/planner/expression.hpp>

namespace duckdb {
class ClientContext;
}

namespace timelake::sql {

// What a condition on time_bucket(width, time, ...) says of the time itself, for pruning: `time >=
// constant` and `time < constant`, each at most once. `filter` compares the call with a constant
// (=, <, <=, >, >=, BETWEEN), and so are its other arguments; anything else says nothing. Rows that
// satisfy `filter` satisfy these, but not always the other way round.
duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> ImpliedByBucket(
    duckdb::ClientContext& context, const duckdb::Expression& filter);

}  // namespace timelake::sql
