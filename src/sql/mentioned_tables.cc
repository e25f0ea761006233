#include "sql/mentioned_tables.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <set>

#include <duckdb/parser/expression/subquery_expression.hpp>
#include <duckdb/parser/parsed_data/copy_info.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/query_node.hpp>
#include <duckdb/parser/statement/copy_statement.hpp>
#include <duckdb/parser/statement/create_statement.hpp>
#include <duckdb/parser/statement/explain_statement.hpp>
#include <duckdb/parser/statement/select_statement.hpp>
#include <duckdb/parser/tableref/basetableref.hpp>
#include <duckdb/parser/tableref/subqueryref.hpp>

#include "base/text.h"
#include "sql/names.h"

namespace timelake::sql {

namespace {

class Collector {
 public:
  explicit Collector(const std::string& default_namespace)
      : default_namespace_(default_namespace) {}

  void Visit(duckdb::QueryNode& node) {
    AddCommonTables(node);
    duckdb::ParsedExpressionIterator::EnumerateQueryNodeChildren(
        node, [this](duckdb::unique_ptr<duckdb::ParsedExpression>& child) { Visit(*child); },
        [this](duckdb::TableRef& ref) { Visit(ref); });
  }

  std::vector<table::TableName> Take() {
    std::vector<table::TableName> result;
    for (const auto& [name, bare] : tables_) {
      if (bare && ctes_.count(ToLowerAscii(name.second)) > 0) continue;
      result.push_back({name.first, name.second});
    }
    return result;
  }

 private:
  void AddCommonTables(const duckdb::QueryNode& node) {
    for (const auto& entry : node.cte_map.map) ctes_.insert(ToLowerAscii(entry.first));
  }

  void Visit(duckdb::ParsedExpression& expression) {
    if (expression.GetExpressionClass() == duckdb::ExpressionClass::SUBQUERY) {
      auto& subquery = expression.Cast<duckdb::SubqueryExpression>();
      if (subquery.subquery) Visit(*subquery.subquery->node);
    }
    duckdb::ParsedExpressionIterator::EnumerateChildren(
        expression, [this](duckdb::unique_ptr<duckdb::ParsedExpression>& child) { Visit(*child); });
  }

  void Visit(duckdb::TableRef& ref) {
    if (ref.type == duckdb::TableReferenceType::SUBQUERY) {
      AddCommonTables(
          *ref.Cast<duckdb::SubqueryRef>().subquery->node);  // its tables come by themselves
      return;
    }
    if (ref.type != duckdb::TableReferenceType::BASE_TABLE) return;
    const auto& table = ref.Cast<duckdb::BaseTableRef>();
    std::string name_space = table.schema_name;
    bool bare = false;
    if (!table.catalog_name.empty()) {
      if (ToLowerAscii(table.catalog_name) != kLakeCatalog) return;
    } else if (ToLowerAscii(name_space) == kLakeCatalog) {
      name_space = default_namespace_;
    } else if (name_space.empty()) {
      name_space = default_namespace_;
      bare = true;
    }
    const table::TableName name{name_space, table.table_name};
    if (!table::ParseTableName(name.full()).ok()) return;
    tables_.emplace(std::pair(std::pair(name.name_space, name.table), bare));
  }

  const std::string& default_namespace_;
  std::map<std::pair<std::string, std::string>, bool> tables_;  // -> written without a namespace
  std::set<std::string> ctes_;
};

void VisitStatement(const duckdb::SQLStatement& statement, Collector* collector) {
  switch (statement.type) {
    case duckdb::StatementType::SELECT_STATEMENT:
      return collector->Visit(*statement.Cast<duckdb::SelectStatement>().node);
    case duckdb::StatementType::EXPLAIN_STATEMENT:
      return VisitStatement(*statement.Cast<duckdb::ExplainStatement>().stmt, collector);
    case duckdb::StatementType::COPY_STATEMENT: {
      const auto& info = statement.Cast<duckdb::CopyStatement>().info;
      if (info->select_statement) collector->Visit(*info->select_statement);
      return;
    }
    case duckdb::StatementType::CREATE_STATEMENT: {
      const auto& info = statement.Cast<duckdb::CreateStatement>().info;
      if (info->type != duckdb::CatalogType::TABLE_ENTRY) return;
      const auto& query = info->Cast<duckdb::CreateTableInfo>().query;
      if (query) collector->Visit(*query->node);
      return;
    }
    default: return;
  }
}

}  // namespace

std::vector<table::TableName> MentionedTables(const duckdb::SQLStatement& statement,
                                              const std::string& default_namespace) {
  Collector collector(default_namespace);
  try {
    VisitStatement(statement, &collector);
  } catch (const std::exception&) {
    // A kind of node that DuckDB's own walker does not know: what was found so far is still a hint.
  }
  return collector.Take();
}

}  // namespace timelake::sql
