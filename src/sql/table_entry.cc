#include "sql/table_entry.h"

#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/function/table_function.hpp>
#include <duckdb/parser/constraints/not_null_constraint.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/storage/statistics/base_statistics.hpp>
#include <duckdb/storage/table_storage_info.hpp>

#include "sql/scan_function.h"
#include "sql/schema_entry.h"
#include "sql/types.h"

namespace timelake::sql {

std::unique_ptr<LakeTable> LakeTable::Make(LakeSchema& schema, const std::string& name,
                                           std::shared_ptr<const TableVersion> version) {
  duckdb::CreateTableInfo info(schema, name);
  duckdb::idx_t index = 0;
  for (const iceberg::Field& field : version->schema->fields) {
    duckdb::ColumnDefinition column(field.name, ToLogicalType(field.type));
    if (field.doc) column.SetComment(duckdb::Value(*field.doc));
    info.columns.AddColumn(std::move(column));
    if (field.required) {
      info.constraints.push_back(
          duckdb::make_uniq<duckdb::NotNullConstraint>(duckdb::LogicalIndex(index)));
    }
    ++index;
  }
  return std::make_unique<LakeTable>(schema, info, std::move(version));
}

LakeTable::LakeTable(LakeSchema& schema, duckdb::CreateTableInfo& info,
                     std::shared_ptr<const TableVersion> version)
    : duckdb::TableCatalogEntry(schema.catalog, schema, info), version_(std::move(version)) {}

duckdb::unique_ptr<duckdb::BaseStatistics> LakeTable::GetStatistics(duckdb::ClientContext&,
                                                                    duckdb::column_t) {
  return nullptr;
}

duckdb::TableFunction LakeTable::GetScanFunction(
    duckdb::ClientContext&, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  bind_data = MakeScanBindData(version_, this);
  return MakeScanFunction();
}

duckdb::TableStorageInfo LakeTable::GetStorageInfo(duckdb::ClientContext&) {
  duckdb::TableStorageInfo info;
  info.cardinality = static_cast<duckdb::idx_t>(DeclaredRows(*version_));
  return info;
}

duckdb::virtual_column_map_t LakeTable::GetVirtualColumns() const {
  duckdb::virtual_column_map_t columns;
  columns.insert(
      {duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", duckdb::LogicalType::BOOLEAN)});
  columns.insert({RowIdColumn(), duckdb::TableColumn("", duckdb::LogicalType::BIGINT)});
  return columns;
}

duckdb::vector<duckdb::column_t> LakeTable::GetRowIdColumns() const { return {RowIdColumn()}; }

}  // namespace timelake::sql
