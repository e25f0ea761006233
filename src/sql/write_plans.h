#pragma once

#include <duckdb/common/optional_ptr.hpp>

#include "sql/lake_context.h"

namespace duckdb {
class ClientContext;
class LogicalCreateTable;
class LogicalInsert;
class PhysicalOperator;
class PhysicalPlanGenerator;
}  // namespace duckdb

namespace timelake::sql {

// INSERT and CREATE TABLE AS as plans. Both throw for what cannot be written.
duckdb::PhysicalOperator& PlanInsert(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalInsert& logical,
                                     duckdb::optional_ptr<duckdb::PhysicalOperator> source,
                                     LakeContext& lake);
duckdb::PhysicalOperator& PlanCreate(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalCreateTable& logical,
                                     duckdb::PhysicalOperator& source, LakeContext& lake);

}  // namespace timelake::sql
