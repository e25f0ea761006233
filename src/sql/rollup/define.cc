#include "sql/rollup/define.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/expression/constant_expression.hpp>
#include <duckdb/parser/expression/function_expression.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/query_node/select_node.hpp>
#include <duckdb/parser/statement/select_statement.hpp>
#include <duckdb/parser/tableref/basetableref.hpp>

#include "base/text.h"
#include "sql/error.h"
#include "sql/names.h"
#include "sql/rollup/aggregate_call.h"
#include "sql/rollup/describe.h"
#include "sql/rollup/expressions.h"
#include "table/contract.h"

namespace timelake::sql {

namespace {

using duckdb::ExpressionClass;
using duckdb::ParsedExpression;
using table::RollupAggregate;
using table::RollupDefinition;
using table::RollupKind;

class Definer {
 public:
  Definer(Engine& engine, table::Catalog& catalog, const std::string& name,
          const std::string& name_space)
      : engine_(engine), catalog_(catalog), name_(name), name_space_(name_space) {}

  Result<NewRollup> Define(const std::string& select) {
    duckdb::Parser parser;
    parser.ParseQuery(select);
    if (parser.statements.size() != 1 ||
        parser.statements[0]->type != duckdb::StatementType::SELECT_STATEMENT) {
      return InvalidArgument("rollup {}: one SELECT is expected behind AS", name_);
    }
    auto& node = *parser.statements[0]->Cast<duckdb::SelectStatement>().node;
    if (node.type != duckdb::QueryNodeType::SELECT_NODE) {
      return Refuse("UNION and the like cannot be kept");
    }
    auto& query = node.Cast<duckdb::SelectNode>();
    TL_RETURN_NOT_OK(CheckShape(query));
    TL_RETURN_NOT_OK(FindSource(*query.from_table));
    for (auto& item : query.select_list) TL_RETURN_NOT_OK(AddItem(*item));
    if (definition_.bucket.empty()) {
      return Refuse("no time bucket: select time_bucket(width, " + definition_.time +
                    ") or date_trunc(unit, " + definition_.time + ")");
    }
    TL_RETURN_NOT_OK(CheckGroups(query));
    if (query.where_clause) TL_RETURN_NOT_OK(AddFilter(*query.where_clause));
    table::NameStates(&definition_.aggregates);
    TL_RETURN_NOT_OK(CheckNames());
    TL_RETURN_NOT_OK(CheckFunctions(engine_, name_, definition_));
    return DescribeRollup(engine_, name_, std::move(definition_), order_, *schema_, contract_);
  }

 private:
  Status Refuse(const std::string& why) const {
    return InvalidArgument("rollup {}: {}", name_, why);
  }
  Status NotKept(const std::string& what) const {
    return Unsupported("rollup {}: {} cannot be kept; what can is {}", name_, what,
                       table::RollupKindsText());
  }

  Status CheckShape(const duckdb::SelectNode& query) const {
    const char* extra = nullptr;
    if (!query.cte_map.map.empty()) extra = "WITH";
    if (query.having) extra = "HAVING";
    if (query.qualify) extra = "QUALIFY";
    if (query.sample) extra = "a sample";
    if (!query.modifiers.empty()) extra = "ORDER BY, LIMIT or DISTINCT";
    if (query.groups.grouping_sets.size() > 1) extra = "more than one set of groups";
    if (extra) {
      return Refuse(std::string(extra) +
                    " is not for rollups: the query is SELECT columns, time bucket, aggregates "
                    "FROM table [WHERE ...] GROUP BY columns, time bucket");
    }
    return Status::OK();
  }

  Status FindSource(const duckdb::TableRef& from) {
    if (from.type != duckdb::TableReferenceType::BASE_TABLE) {
      return Refuse("FROM one table is expected, without joins and sub-queries");
    }
    const auto& table = from.Cast<duckdb::BaseTableRef>();
    if (table.at_clause || table.sample) return Refuse("FROM one table is expected, without AT");
    std::string space = table.schema_name;
    const bool bare_lake = table.catalog_name.empty() && ToLowerAscii(space) == kLakeCatalog;
    if (space.empty() || bare_lake) space = name_space_;
    if (!table.catalog_name.empty() && ToLowerAscii(table.catalog_name) != kLakeCatalog) {
      return Refuse("table " + table.ToString() + " is not in the lake");
    }
    const table::TableName source{space, table.table_name};
    TL_RETURN_NOT_OK(table::ParseTableName(source.full()).status());
    TL_ASSIGN_OR_RAISE(const auto handle, catalog_.Open(source));
    definition_.source = source.full();
    if (definition_.source == name_) return Refuse("it cannot be made from itself");
    metadata_ = handle->known().metadata;
    TL_ASSIGN_OR_RAISE(contract_, table::ReadContract(*metadata_));
    if (!contract_.is_time_series()) {
      return Refuse("table " + definition_.source + " has no time column");
    }
    definition_.time = contract_.time_name;
    schema_ = iceberg::CurrentSchema(*metadata_);
    columns_.emplace(
        *schema_, std::vector<std::string>{table.alias.empty() ? table.table_name : table.alias});
    return Status::OK();
  }

  Evaluate Evaluator() {
    return [this](const std::string& sql) -> Result<std::optional<std::string>> {
      TL_ASSIGN_OR_RAISE(const auto reader, engine_.Query("SELECT CAST((" + sql + ") AS VARCHAR)"));
      TL_ASSIGN_OR_RAISE(const auto rows, reader->ToTable());
      TL_ASSIGN_OR_RAISE(const auto value, rows->column(0)->GetScalar(0));
      if (!value->is_valid) return std::nullopt;
      return value->ToString();
    };
  }

  Status Normalize(ParsedExpression* expression) const {
    const std::string text = expression->ToString();
    if (columns_->Normalize(expression)) return Status::OK();
    for (const auto& name : ColumnsOf(*expression)) {
      const duckdb::ColumnRefExpression column(name);
      if (!columns_->ColumnOf(column)) {
        return Refuse("table " + definition_.source + " has no column " + Quote(name) +
                      "; known are " + Join(iceberg::FieldNames(*schema_), ", "));
      }
    }
    return Refuse(text + ": queries, windows, parameters and * cannot be kept");
  }

  Status AddItem(ParsedExpression& item) {
    const std::string alias = item.GetAlias();
    if (item.GetExpressionClass() == ExpressionClass::STAR) return Refuse("* cannot be kept");
    TL_RETURN_NOT_OK(Normalize(&item));
    if (const std::string* column = columns_->ColumnOf(item)) {
      if (*column == definition_.time) {
        return Refuse("the time is kept in buckets: time_bucket(width, " + *column + ")");
      }
      if (!alias.empty() && alias != *column) {
        return Refuse("column " + Quote(*column) + " keeps its name, it cannot be called " +
                      Quote(alias));
      }
      definition_.keys.push_back(*column);
      order_.push_back(*column);
      return Status::OK();
    }
    if (item.GetExpressionClass() != ExpressionClass::FUNCTION) {
      return NotKept(item.ToString());
    }
    auto bucket = BucketsOf(item, definition_.time, Evaluator());
    if (!bucket.ok()) return WithContext(bucket.status(), "rollup " + name_);
    if (*bucket) {
      if (!definition_.bucket.empty()) return Refuse("there is more than one time bucket");
      definition_.width = **bucket;
      definition_.bucket = alias.empty() ? "bucket" : alias;
      bucket_sql_ = item.ToString();
      order_.push_back(definition_.bucket);
      return Status::OK();
    }
    return AddAggregate(item.Cast<duckdb::FunctionExpression>(), alias);
  }

  Status AddAggregate(const duckdb::FunctionExpression& call, const std::string& alias) {
    auto kept = AggregateOfCall(call, definition_.time);
    if (!kept) {
      const auto kind = table::FindRollupKind(ToLowerAscii(call.function_name));
      const bool by_time = kind && table::TimeArgument(*kind);
      return NotKept(call.ToString() + (by_time ? " (not by the time column)" : ""));
    }
    RollupAggregate& aggregate = *kept;
    aggregate.name = alias.empty() ? call.ToString() : alias;
    order_.push_back(aggregate.name);
    definition_.aggregates.push_back(*std::move(kept));
    return Status::OK();
  }

  // GROUP BY has to be all that is not an aggregate; by position, name or expression.
  Status CheckGroups(duckdb::SelectNode& query) {
    const std::string expected = "GROUP BY " + Join(definition_.keys, ", ") +
                                 (definition_.keys.empty() ? "" : ", ") + definition_.bucket +
                                 " is expected";
    if (query.aggregate_handling == duckdb::AggregateHandling::FORCE_AGGREGATES) {
      return Status::OK();
    }
    std::set<std::string> wanted(definition_.keys.begin(), definition_.keys.end());
    bool bucketed = false;
    for (auto& group : query.groups.group_expressions) {
      std::string column;
      if (group->GetExpressionClass() == ExpressionClass::CONSTANT) {
        const auto place = ParseInt64(group->ToString());
        if (!place.ok() || *place < 1 || *place > static_cast<int64_t>(order_.size())) {
          return Refuse(expected);
        }
        column = order_[static_cast<size_t>(*place) - 1];
        if (column == definition_.bucket) bucketed = true;
      } else if (const std::string* named = columns_->ColumnOf(*group)) {
        column = *named;
      } else if (group->GetExpressionClass() == ExpressionClass::COLUMN_REF) {
        column = group->Cast<duckdb::ColumnRefExpression>().column_names.back();
        if (ToLowerAscii(column) == ToLowerAscii(definition_.bucket)) bucketed = true;
      } else {
        TL_RETURN_NOT_OK(Normalize(group.get()));
        if (group->ToString() != bucket_sql_) return Refuse(expected);
        bucketed = true;
        column = definition_.bucket;
      }
      if (column == definition_.time && !bucketed) {
        return Refuse("GROUP BY " + column + " means the column, not the bucket: " + expected);
      }
      if (!wanted.erase(column) &&
          !(bucketed && ToLowerAscii(column) == ToLowerAscii(definition_.bucket))) {
        return Refuse(expected + ", each of them selected");
      }
    }
    if (!wanted.empty() || !bucketed) return Refuse(expected);
    return Status::OK();
  }

  Status AddFilter(ParsedExpression& where) {
    TL_RETURN_NOT_OK(Normalize(&where));
    for (const auto* part : Conjuncts(where)) definition_.filter.push_back(part->ToString());
    return Status::OK();
  }

  Status CheckNames() const {
    std::set<std::string> names;
    const auto add = [&](const std::string& name) {
      return names.insert(ToLowerAscii(name)).second;
    };
    for (const auto& name : order_) {
      if (!add(name)) return Refuse("two columns are called " + Quote(name));
    }
    for (const auto& aggregate : definition_.aggregates) {
      for (size_t i = 0; i < aggregate.state.size(); ++i) {
        const std::string& state = aggregate.state[i];
        if (state == aggregate.name || IsShared(aggregate, i) || add(state)) continue;
        return Refuse("a column " + Quote(state) + " is needed to keep " + aggregate.name +
                      ": call the other one something else");
      }
    }
    return Status::OK();
  }

  // Whether the query itself asks for what a state is.
  bool IsShared(const RollupAggregate& average, size_t place) const {
    if (average.kind != RollupKind::kAvg) return false;
    return std::any_of(definition_.aggregates.begin(), definition_.aggregates.end(),
                       [&](const RollupAggregate& other) {
                         return other.name == average.state[place] &&
                                other.argument == average.argument &&
                                other.kind == (place == 0 ? RollupKind::kSum : RollupKind::kCount);
                       });
  }

  Engine& engine_;
  table::Catalog& catalog_;
  const std::string name_;
  const std::string name_space_;
  RollupDefinition definition_;
  std::shared_ptr<const iceberg::TableMetadata> metadata_;
  const iceberg::Schema* schema_ = nullptr;
  table::Contract contract_;
  std::optional<SourceColumns> columns_;
  std::vector<std::string> order_;  // of the query's columns
  std::string bucket_sql_;
};

}  // namespace

Result<NewRollup> DefineRollup(Engine& engine, table::Catalog& catalog, const std::string& name,
                               const std::string& select, const std::string& name_space) {
  return Guard([&] { return Definer(engine, catalog, name, name_space).Define(select); });
}

Status CompleteDefinition(const iceberg::TableMetadata& source, RollupDefinition* definition) {
  return Guard([&]() -> Status {
    if (definition->time.empty()) {
      TL_ASSIGN_OR_RAISE(const auto contract, table::ReadContract(source));
      definition->time = contract.time_name;
    }
    for (auto& aggregate : definition->aggregates) {
      if (!aggregate.argument.empty()) aggregate.argument = Respell(aggregate.argument);
    }
    for (auto& condition : definition->filter) condition = Respell(condition);
    return Status::OK();
  });
}

Result<BucketGrid> GridOf(Engine& engine, const table::RollupWidth& width) {
  BucketGrid::Options options;
  options.width.months = width.months;
  options.width.micros = width.micros;
  options.origin = width.origin_us;
  if (!width.zone.empty()) {
    TL_ASSIGN_OR_RAISE(options.zone, engine.ClockOf(width.zone));
  }
  return BucketGrid::Make(options);
}

}  // namespace timelake::sql
