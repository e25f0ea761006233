#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <duckdb/common/typedefs.hpp>

#include "sql/lake_context.h"

namespace duckdb {
class ClientContext;
class LogicalOperator;
class PhysicalOperator;
class PhysicalPlanGenerator;
}  // namespace duckdb

namespace timelake::sql {

// Where the rows of a query go.
struct InsertTarget {
  std::string table;                   // "namespace.table"
  std::vector<std::string> columns;    // of the table, by exact name
  std::vector<duckdb::idx_t> sources;  // for each of them its column of the query
  // The table to append to; called when the first rows are there.
  std::function<Result<std::shared_ptr<table::Handle>>()> open;
  // Of CREATE TABLE AS: the table that comes with its rows; `made` is called when it is there.
  std::shared_ptr<const iceberg::TableMetadata> create;
  std::function<void()> made;
};

// The operator that appends what `source` gives, as one commit, and returns the number of rows.
// Rows arrive in the query's order wherever that has one.
duckdb::PhysicalOperator& PlanAppend(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalOperator& logical,
                                     duckdb::PhysicalOperator& source, LakeContext& lake,
                                     InsertTarget target);

// A write inside of BEGIN ... COMMIT could not be rolled back: an error, in terms of `statement`.
void RefuseInTransaction(duckdb::ClientContext& context, const char* statement);

}  // namespace timelake::sql
