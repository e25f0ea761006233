#pragma once

#include <memory>
#include <string>

#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>

#include "sql/table_version.h"

namespace duckdb {
struct CreateTableInfo;
}

namespace timelake::sql {

class LakeSchema;

// A table at one version, as DuckDB's catalog sees it.
class LakeTable : public duckdb::TableCatalogEntry {
 public:
  // Throws if SQL cannot show the schema (two columns that differ in case only).
  static std::unique_ptr<LakeTable> Make(LakeSchema& schema, const std::string& name,
                                         std::shared_ptr<const TableVersion> version);

  LakeTable(LakeSchema& schema, duckdb::CreateTableInfo& info,
            std::shared_ptr<const TableVersion> version);

  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext& context,
                                                           duckdb::column_t column) override;
  duckdb::TableFunction GetScanFunction(
      duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) override;
  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext& context) override;
  duckdb::virtual_column_map_t GetVirtualColumns() const override;
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override;

  const std::shared_ptr<const TableVersion>& version() const { return version_; }

 private:
  std::shared_ptr<const TableVersion> version_;
};

}  // namespace timelake::sql
