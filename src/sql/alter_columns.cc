#include "sql/alter_columns.h"

#include <duckdb/common/string_util.hpp>
#include <duckdb/parser/expression/cast_expression.hpp>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/parsed_data/alter_table_info.hpp>
#include <duckdb/planner/binder.hpp>

#include "base/text.h"
#include "sql/new_table.h"

namespace timelake::sql {

namespace {

using duckdb::AlterTableType;
using Kind = SchemaChange::Kind;

const char* NameOf(AlterTableType type) {
  switch (type) {
    case AlterTableType::RENAME_TABLE: return "RENAME TO";
    case AlterTableType::SET_DEFAULT: return "ALTER COLUMN ... SET and DROP DEFAULT";
    case AlterTableType::SET_NOT_NULL: return "ALTER COLUMN ... SET NOT NULL";
    case AlterTableType::DROP_NOT_NULL: return "ALTER COLUMN ... DROP NOT NULL";
    case AlterTableType::ADD_CONSTRAINT:
    case AlterTableType::FOREIGN_KEY_CONSTRAINT: return "ADD CONSTRAINT";
    case AlterTableType::SET_PARTITIONED_BY: return "SET PARTITIONED BY";
    case AlterTableType::SET_SORTED_BY: return "SET SORTED BY";
    case AlterTableType::ADD_FIELD:
    case AlterTableType::REMOVE_FIELD:
    case AlterTableType::RENAME_FIELD: return "changing the members of a struct";
    default: return "this ALTER TABLE";
  }
}

// What the parser makes of ALTER COLUMN ... TYPE without USING, which may also be written out.
bool IsPlainCast(duckdb::ClientContext& context, const duckdb::ChangeColumnTypeInfo& info) {
  if (!info.expression) return true;
  if (info.expression->GetExpressionClass() != duckdb::ExpressionClass::CAST) return false;
  const auto& cast = info.expression->Cast<duckdb::CastExpression>();
  if (cast.try_cast) return false;
  // The binder has looked up the type of the column, but not that of the expression.
  duckdb::LogicalType type = cast.cast_type;
  duckdb::Binder::CreateBinder(context)->BindLogicalType(type);
  if (type != info.target_type) return false;
  if (cast.child->GetExpressionClass() != duckdb::ExpressionClass::COLUMN_REF) return false;
  const auto& column = cast.child->Cast<duckdb::ColumnRefExpression>();
  return duckdb::StringUtil::CIEquals(column.GetColumnName(), info.column_name);
}

Result<table::ColumnChange> ToWidening(duckdb::ClientContext& context,
                                       const duckdb::ChangeColumnTypeInfo& info) {
  if (!IsPlainCast(context, info)) {
    return Unsupported(
        "ALTER COLUMN {} TYPE ... USING {} is not supported: no data is rewritten, so a type can "
        "only become a larger one (INTEGER to BIGINT, FLOAT to DOUBLE, DECIMAL with more digits)",
        info.column_name, info.expression->ToString());
  }
  table::ColumnChange change;
  change.kind = Kind::kWiden;
  change.column = info.column_name;
  const duckdb::ColumnDefinition column(info.column_name, info.target_type);
  TL_ASSIGN_OR_RAISE(const iceberg::Field field, ToNewColumn(column));
  change.type = field.type;
  return change;
}

}  // namespace

Result<table::ColumnChange> ToColumnChange(duckdb::ClientContext& context,
                                           const duckdb::AlterTableInfo& alter) {
  table::ColumnChange change;
  switch (alter.alter_table_type) {
    case AlterTableType::ADD_COLUMN: {
      const auto& info = alter.Cast<duckdb::AddColumnInfo>();
      TL_ASSIGN_OR_RAISE(iceberg::Field field, ToNewColumn(info.new_column));
      change.kind = Kind::kAdd;
      change.column = field.name;
      change.type = std::move(field.type);
      change.if_needed = info.if_column_not_exists;
      break;
    }
    case AlterTableType::REMOVE_COLUMN: {
      const auto& info = alter.Cast<duckdb::RemoveColumnInfo>();
      change.kind = Kind::kDrop;
      change.column = info.removed_column;
      change.if_needed = info.if_column_exists;
      break;
    }
    case AlterTableType::RENAME_COLUMN: {
      const auto& info = alter.Cast<duckdb::RenameColumnInfo>();
      change.kind = Kind::kRename;
      change.column = info.old_name;
      change.new_name = info.new_name;
      break;
    }
    case AlterTableType::ALTER_COLUMN_TYPE: {
      TL_ASSIGN_OR_RAISE(change, ToWidening(context, alter.Cast<duckdb::ChangeColumnTypeInfo>()));
      break;
    }
    default:
      return Unsupported(
          "{} is not supported; ALTER TABLE has ADD COLUMN, DROP COLUMN, RENAME COLUMN, ALTER "
          "COLUMN ... TYPE, SET (setting = value, ...) and RESET (setting, ...)",
          NameOf(alter.alter_table_type));
  }
  change.any_case = true;
  return change;
}

}  // namespace timelake::sql
