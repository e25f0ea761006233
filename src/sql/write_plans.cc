#include "sql/write_plans.h"

#include <utility>

#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/execution/physical_operator.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/planner/operator/logical_create_table.hpp>
#include <duckdb/planner/operator/logical_insert.hpp>
#include <duckdb/planner/parsed_data/bound_create_table_info.hpp>

#include "base/text.h"
#include "sql/error.h"
#include "sql/insert_operator.h"
#include "sql/metadata_tables.h"
#include "sql/new_table.h"
#include "sql/plain_casts.h"

namespace timelake::sql {

duckdb::PhysicalOperator& PlanInsert(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalInsert& logical,
                                     duckdb::optional_ptr<duckdb::PhysicalOperator> source,
                                     LakeContext& lake) {
  const table::TableName name{logical.table.ParentSchema().name, logical.table.name};
  if (ParseMetadataName(name.table)) {
    Throw(Unsupported("INSERT INTO {}: metadata tables are only read", name.full()));
  }
  if (logical.return_chunk) Throw(Unsupported("INSERT ... RETURNING is not supported"));
  if (logical.on_conflict_info.action_type != duckdb::OnConflictAction::THROW || !source) {
    Throw(Unsupported(
        "INSERT ... ON CONFLICT is not supported: in a table with dedup a row replaces that of the "
        "same series and time"));
  }
  if (!PlainCastsRun(context)) {
    Throw(Unsupported("INSERT needs the optimizer: values would be rounded to fit their columns"));
  }
  RefuseInTransaction(context, "INSERT");
  InsertTarget target;
  target.table = name.full();
  duckdb::idx_t position = 0;
  for (const auto& column : logical.table.GetColumns().Physical()) {
    duckdb::idx_t from = position++;
    if (!logical.column_index_map.empty()) from = logical.column_index_map[column.Physical()];
    // What is not named is left to the append: NULL, the time of the append, or an error.
    if (from == duckdb::DConstants::INVALID_INDEX) continue;
    target.columns.push_back(column.Name());
    target.sources.push_back(from);
  }
  target.open = [&lake, name] { return lake.catalog().Open(name); };
  return PlanAppend(context, planner, logical, *source, lake, std::move(target));
}

duckdb::PhysicalOperator& PlanCreate(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalCreateTable& logical,
                                     duckdb::PhysicalOperator& source, LakeContext& lake) {
  const auto& info = logical.info->Base();
  const table::TableName name{logical.schema.name, info.table};
  ThrowIfError(table::ParseTableName(name.full()).status());
  RefuseInTransaction(context, "CREATE TABLE AS");
  auto table = ValueOrThrow(ToNewTable(info));
  InsertTarget target;
  target.table = name.full();
  for (const auto& column : info.columns.Logical()) {
    target.sources.push_back(target.columns.size());
    target.columns.push_back(column.Name());
  }
  auto draft = ValueOrThrow(lake.catalog().MakeDraft(name, table.schema, table.options));
  target.create = std::make_shared<const iceberg::TableMetadata>(std::move(draft.metadata));
  target.open = [handle = draft.handle]() -> Result<std::shared_ptr<table::Handle>> {
    return handle;
  };
  target.made = [&lake, name, handle = draft.handle] { lake.catalog().Keep(name, handle); };
  return PlanAppend(context, planner, logical, source, lake, std::move(target));
}

}  // namespace timelake::sql
