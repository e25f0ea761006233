#pragma once

#include <memory>
#include <optional>
#include <string>

#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>

#include "sql/metadata_rows.h"
#include "sql/table_version.h"

namespace timelake::sql {

class LakeSchema;

// `t$files` and its like: what a table's metadata says, as tables that SQL reads
// (docs/sql-tables.md has the columns).

// "t$files" -> "t" and kFiles; nothing if the name is not that of a metadata table.
struct MetadataName {
  std::string table;
  MetadataKind kind;
};
std::optional<MetadataName> ParseMetadataName(const std::string& name);

// The catalog entry. It shows all that the version knows, or for a version of AT that snapshot;
// throws where AT has no meaning.
std::unique_ptr<duckdb::TableCatalogEntry> MakeMetadataTable(
    LakeSchema& schema, const MetadataName& name, std::shared_ptr<const TableVersion> version);

}  // namespace timelake::sql
