#include "sql/schema_entry.h"

#include <map>
#include <optional>

#include <duckdb/catalog/similar_catalog_entry.hpp>
#include <duckdb/common/string_util.hpp>
#include <duckdb/parser/parsed_data/alter_table_info.hpp>
#include <duckdb/parser/parsed_data/create_schema_info.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/parser/parsed_data/drop_info.hpp>
#include <duckdb/planner/parsed_data/bound_create_table_info.hpp>

#include "sql/alter_columns.h"
#include "sql/error.h"
#include "sql/insert_operator.h"
#include "sql/metadata_tables.h"
#include "sql/new_table.h"
#include "sql/table_options.h"
#include "sql/transaction.h"
#include "table/changes.h"
#include "table/rollups.h"

namespace timelake::sql {

std::unique_ptr<LakeSchema> LakeSchema::Make(duckdb::Catalog& catalog, LakeContext& lake,
                                             const std::string& name) {
  duckdb::CreateSchemaInfo info;
  info.schema = name;
  return std::make_unique<LakeSchema>(catalog, lake, info);
}

LakeSchema::LakeSchema(duckdb::Catalog& catalog, LakeContext& lake, duckdb::CreateSchemaInfo& info)
    : duckdb::SchemaCatalogEntry(catalog, info), lake_(lake) {}

void LakeSchema::Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
                      const Callback& callback) {
  if (type != duckdb::CatalogType::TABLE_ENTRY) return;
  for (duckdb::CatalogEntry* entry : LakeTransaction::Get(context, catalog).AllTables(*this)) {
    callback(*entry);
  }
}

void LakeSchema::Scan(duckdb::CatalogType, const Callback&) {
  // Without a context there is no transaction that could hold entries. DuckDB calls this for its
  // own dependency checks only, and there is nothing to depend on.
}

LakeSchema::Entry LakeSchema::LookupEntry(duckdb::CatalogTransaction transaction,
                                          const duckdb::EntryLookupInfo& lookup) {
  // Functions, types and collations are looked for here too, several times a statement.
  if (lookup.GetCatalogType() != duckdb::CatalogType::TABLE_ENTRY) return nullptr;
  if (!transaction.HasContext()) return nullptr;
  return LakeTransaction::Get(transaction.GetContext(), catalog).Table(*this, lookup);
}

duckdb::SimilarCatalogEntry LakeSchema::GetSimilarEntry(duckdb::CatalogTransaction transaction,
                                                        const duckdb::EntryLookupInfo& lookup) {
  // The default opens every table just to compare names.
  duckdb::SimilarCatalogEntry best;
  if (lookup.GetCatalogType() != duckdb::CatalogType::TABLE_ENTRY) return best;
  if (!transaction.HasContext()) return best;
  auto& lake = LakeTransaction::Get(transaction.GetContext(), catalog);
  for (const std::string& candidate : lake.TableNames(name)) {
    const double score = duckdb::StringUtil::SimilarityRating(candidate, lookup.GetEntryName());
    if (score > best.score) {
      best.score = score;
      best.name = candidate;
    }
  }
  return best;
}

void ThrowReadOnly(const char* statement) {
  Throw(Unsupported(
      "{} is not supported: SQL reads the lake and changes it by CREATE TABLE, INSERT, ALTER TABLE "
      "and DROP TABLE; for intermediate results there are CREATE TEMP TABLE and CREATE "
      "TEMP VIEW",
      statement));
}

LakeSchema::Entry LakeSchema::CreateTable(duckdb::CatalogTransaction transaction,
                                          duckdb::BoundCreateTableInfo& info) {
  RefuseInTransaction(transaction.GetContext(), "CREATE TABLE");
  const auto& base = info.Base();
  const table::TableName table{name, base.table};
  ThrowIfError(table::ParseTableName(table.full()).status());
  const auto wanted = ValueOrThrow(ToNewTable(base));
  ThrowIfError(lake_.catalog().Create(table, wanted.schema, wanted.options).status());
  return nullptr;  // nobody asks: the next statement looks it up
}

void LakeSchema::DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) {
  if (info.type != duckdb::CatalogType::TABLE_ENTRY) ThrowReadOnly("DROP");
  if (ParseMetadataName(info.name)) {
    Throw(Unsupported("DROP TABLE {}: metadata tables are only read", info.name));
  }
  RefuseInTransaction(context, "DROP TABLE");
  const bool if_exists = info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL;
  const auto found = LakeTransaction::Get(context, catalog).FindTable(*this, info.name);
  const table::TableName table{name, found.value_or(info.name)};
  ThrowIfError(
      table::DropWithRollups(lake_.catalog(), table, if_exists, /*purge=*/false, info.cascade));
}

void LakeSchema::Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) {
  if (info.type != duckdb::AlterType::ALTER_TABLE) ThrowReadOnly("ALTER");
  std::map<std::string, std::optional<std::string>> settings;
  std::optional<table::ColumnChange> column;
  const auto& alter = info.Cast<duckdb::AlterTableInfo>();
  if (alter.alter_table_type == duckdb::AlterTableType::SET_TABLE_OPTIONS) {
    settings = ValueOrThrow(ToSettings(alter.Cast<duckdb::SetTableOptionsInfo>().table_options));
  } else if (alter.alter_table_type == duckdb::AlterTableType::RESET_TABLE_OPTIONS) {
    for (const auto& option : alter.Cast<duckdb::ResetTableOptionsInfo>().table_options) {
      settings[option] = std::nullopt;
    }
  } else {
    column = ValueOrThrow(ToColumnChange(transaction.GetContext(), alter));
  }
  if (ParseMetadataName(info.name)) {
    Throw(Unsupported("ALTER TABLE {}: metadata tables are only read", info.name));
  }
  RefuseInTransaction(transaction.GetContext(), "ALTER TABLE");
  const auto found =
      LakeTransaction::Get(transaction.GetContext(), catalog).FindTable(*this, info.name);
  const table::TableName table{name, found.value_or(info.name)};
  auto handle = lake_.catalog().Open(table);
  if (KindOf(handle.status()) == ErrorKind::kNotFound &&
      info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) {
    return;
  }
  table::Handle& opened = *ValueOrThrow(std::move(handle));
  ThrowIfError(column ? table::CommitSchema(opened, {*column}).status()
                      : table::CommitProperties(opened, settings).status());
}

LakeSchema::Entry LakeSchema::CreateIndex(duckdb::CatalogTransaction, duckdb::CreateIndexInfo&,
                                          duckdb::TableCatalogEntry&) {
  ThrowReadOnly("CREATE INDEX");
}

LakeSchema::Entry LakeSchema::CreateFunction(duckdb::CatalogTransaction,
                                             duckdb::CreateFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreateView(duckdb::CatalogTransaction, duckdb::CreateViewInfo&) {
  ThrowReadOnly("CREATE VIEW");
}

LakeSchema::Entry LakeSchema::CreateSequence(duckdb::CatalogTransaction,
                                             duckdb::CreateSequenceInfo&) {
  ThrowReadOnly("CREATE SEQUENCE");
}

LakeSchema::Entry LakeSchema::CreateTableFunction(duckdb::CatalogTransaction,
                                                  duckdb::CreateTableFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreateCopyFunction(duckdb::CatalogTransaction,
                                                 duckdb::CreateCopyFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreatePragmaFunction(duckdb::CatalogTransaction,
                                                   duckdb::CreatePragmaFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreateCollation(duckdb::CatalogTransaction,
                                              duckdb::CreateCollationInfo&) {
  ThrowReadOnly("CREATE COLLATION");
}

LakeSchema::Entry LakeSchema::CreateType(duckdb::CatalogTransaction, duckdb::CreateTypeInfo&) {
  ThrowReadOnly("CREATE TYPE");
}

}  // namespace timelake::sql
