#pragma once

#include "sql/lake_context.h"

namespace duckdb {
class ClientContext;
class LogicalDelete;
class PhysicalOperator;
class PhysicalPlanGenerator;
}  // namespace duckdb

namespace timelake::sql {

// DELETE and TRUNCATE: the operator takes row ids from `source`, deletes those rows in one commit
// and returns their number. Throws for what cannot be deleted from.
duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalDelete& logical,
                                     duckdb::PhysicalOperator& source, LakeContext& lake);

}  // namespace timelake::sql
