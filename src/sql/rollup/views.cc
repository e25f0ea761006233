#include "sql/rollup/views.h"

#include <set>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/catalog/catalog_entry/view_catalog_entry.hpp>
#include <duckdb/parser/expression/conjunction_expression.hpp>
#include <duckdb/parser/expression/star_expression.hpp>
#include <duckdb/parser/expression/subquery_expression.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/query_node/select_node.hpp>
#include <duckdb/parser/query_node/set_operation_node.hpp>
#include <duckdb/parser/statement/select_statement.hpp>
#include <duckdb/parser/tableref/basetableref.hpp>
#include <duckdb/parser/tableref/joinref.hpp>
#include <duckdb/parser/tableref/subqueryref.hpp>

#include "base/text.h"
#include "sql/names.h"
#include "sql/rollup/expressions.h"
#include "sql/table_entry.h"

namespace timelake::sql {

namespace {

// Writes the full names of tables into the query of a view.
class Qualifier {
 public:
  Qualifier(duckdb::ClientContext& context, const duckdb::ViewCatalogEntry& view,
            const FindTable& find)
      : context_(context), view_(view), find_(find) {}

  // False: something is not a table of the lake.
  bool Visit(duckdb::QueryNode& node) {
    for (auto& [name, cte] : node.cte_map.map) {
      ctes_.insert(ToLowerAscii(name));
      if (cte->query && !Visit(*cte->query->node)) return false;
    }
    if (node.type == duckdb::QueryNodeType::SET_OPERATION_NODE) {
      for (auto& child : node.Cast<duckdb::SetOperationNode>().children) {
        if (!Visit(*child)) return false;
      }
      return true;
    }
    if (node.type != duckdb::QueryNodeType::SELECT_NODE) return false;
    auto& select = node.Cast<duckdb::SelectNode>();
    bool all = Visit(select.from_table.get());
    duckdb::ParsedExpressionIterator::EnumerateQueryNodeChildren(
        node,
        [&](duckdb::unique_ptr<duckdb::ParsedExpression>& child) { all = all && Visit(*child); },
        [](duckdb::TableRef&) {});
    return all;
  }

 private:
  bool Visit(duckdb::TableRef* ref) {
    if (!ref || ref->type == duckdb::TableReferenceType::EMPTY_FROM) return true;
    if (ref->type == duckdb::TableReferenceType::SUBQUERY) {
      return Visit(*ref->Cast<duckdb::SubqueryRef>().subquery->node);
    }
    if (ref->type == duckdb::TableReferenceType::JOIN) {
      auto& join = ref->Cast<duckdb::JoinRef>();
      return Visit(join.left.get()) && Visit(join.right.get()) &&
             (!join.condition || Visit(*join.condition));
    }
    if (ref->type != duckdb::TableReferenceType::BASE_TABLE) return false;
    auto& table = ref->Cast<duckdb::BaseTableRef>();
    const bool bare = table.catalog_name.empty() && table.schema_name.empty();
    if (bare && ctes_.contains(ToLowerAscii(table.table_name))) return true;
    return Qualify(&table);
  }

  bool Qualify(duckdb::BaseTableRef* table) {
    if (table->at_clause) return false;
    if (table->catalog_name.empty()) {
      // Where the view is, is looked first.
      const duckdb::EntryLookupInfo lookup(duckdb::CatalogType::TABLE_ENTRY, table->table_name);
      const auto beside = duckdb::Catalog::GetEntry(
          context_, view_.catalog.GetName(),
          table->schema_name.empty() ? view_.schema.name : table->schema_name, lookup,
          duckdb::OnEntryNotFound::RETURN_NULL);
      if (beside) return false;
    }
    const LakeTable* entry = find_(table->catalog_name, table->schema_name, table->table_name);
    if (!entry) return false;
    if (table->alias.empty()) table->alias = table->table_name;
    table->catalog_name = kLakeCatalog;
    table->schema_name = entry->schema.name;
    table->table_name = entry->name;
    return true;
  }

  bool Visit(duckdb::ParsedExpression& expression) {
    if (expression.GetExpressionClass() == duckdb::ExpressionClass::SUBQUERY) {
      auto& subquery = expression.Cast<duckdb::SubqueryExpression>();
      if (!Visit(*subquery.subquery->node)) return false;
    }
    bool all = true;
    duckdb::ParsedExpressionIterator::EnumerateChildren(
        expression, [&](duckdb::ParsedExpression& child) { all = all && Visit(child); });
    return all;
  }

  duckdb::ClientContext& context_;
  const duckdb::ViewCatalogEntry& view_;
  const FindTable& find_;
  std::set<std::string> ctes_;
};

duckdb::unique_ptr<duckdb::SelectStatement> QueryOf(const duckdb::ViewCatalogEntry& view) {
  const auto& query = const_cast<duckdb::ViewCatalogEntry&>(view).GetQuery();
  return duckdb::unique_ptr_cast<duckdb::SQLStatement, duckdb::SelectStatement>(query.Copy());
}

bool IsPlainStar(const duckdb::SelectNode& query) {
  if (query.select_list.size() != 1 ||
      query.select_list[0]->GetExpressionClass() != duckdb::ExpressionClass::STAR) {
    return false;
  }
  const auto& star = query.select_list[0]->Cast<duckdb::StarExpression>();
  return star.relation_name.empty() && star.exclude_list.empty() && star.replace_list.empty() &&
         star.rename_list.empty() && !star.columns && !star.expr;
}

}  // namespace

const duckdb::ViewCatalogEntry* FindView(duckdb::ClientContext& context,
                                         const duckdb::BaseTableRef& ref) {
  const duckdb::EntryLookupInfo lookup(duckdb::CatalogType::TABLE_ENTRY, ref.table_name);
  const auto entry = duckdb::Catalog::GetEntry(context, ref.catalog_name, ref.schema_name, lookup,
                                               duckdb::OnEntryNotFound::RETURN_NULL);
  if (!entry || entry->type != duckdb::CatalogType::VIEW_ENTRY || entry->internal) return nullptr;
  return &entry->Cast<duckdb::ViewCatalogEntry>();
}

std::unique_ptr<duckdb::SubqueryRef> ExpandView(duckdb::ClientContext& context,
                                                const duckdb::ViewCatalogEntry& view,
                                                const duckdb::BaseTableRef& ref,
                                                const FindTable& find) {
  auto query = QueryOf(view);
  if (!Qualifier(context, view, find).Visit(*query->node)) return nullptr;
  const std::string alias = ref.alias.empty() ? ref.table_name : ref.alias;
  auto subquery = std::make_unique<duckdb::SubqueryRef>(std::move(query), alias);
  subquery->column_name_alias = view.aliases;
  auto& names = subquery->column_name_alias;
  for (size_t i = 0; i < ref.column_name_alias.size(); ++i) {
    if (i < names.size()) {
      names[i] = ref.column_name_alias[i];
    } else {
      names.push_back(ref.column_name_alias[i]);
    }
  }
  return subquery;
}

std::unique_ptr<duckdb::SelectNode> ThroughView(duckdb::ClientContext& context,
                                                const duckdb::ViewCatalogEntry& view,
                                                const duckdb::SelectNode& query,
                                                const FindTable& find) {
  const auto& from = query.from_table->Cast<duckdb::BaseTableRef>();
  if (!view.aliases.empty() || !from.column_name_alias.empty()) return nullptr;
  auto inner = QueryOf(view);
  if (inner->node->type != duckdb::QueryNodeType::SELECT_NODE) return nullptr;
  auto& select = inner->node->Cast<duckdb::SelectNode>();
  const bool plain = IsPlainStar(select) && select.modifiers.empty() &&
                     select.cte_map.map.empty() && select.groups.group_expressions.empty() &&
                     !select.having && !select.qualify && !select.sample &&
                     select.aggregate_handling == duckdb::AggregateHandling::STANDARD_HANDLING &&
                     select.from_table->type == duckdb::TableReferenceType::BASE_TABLE;
  if (!plain || !Qualifier(context, view, find).Visit(*inner->node)) return nullptr;
  auto& table = select.from_table->Cast<duckdb::BaseTableRef>();
  if (table.sample || !table.column_name_alias.empty()) return nullptr;
  const LakeTable* entry = find(table.catalog_name, table.schema_name, table.table_name);
  if (!entry) return nullptr;
  if (select.where_clause) {
    const SourceColumns columns(*entry->version()->schema, {table.alias});
    if (!columns.Normalize(select.where_clause.get())) return nullptr;
  }
  auto copy = query.Copy();
  std::unique_ptr<duckdb::SelectNode> result(static_cast<duckdb::SelectNode*>(copy.release()));
  table.alias = from.alias.empty() ? from.table_name : from.alias;
  if (select.where_clause && result->where_clause) {
    result->where_clause = duckdb::make_uniq<duckdb::ConjunctionExpression>(
        duckdb::ExpressionType::CONJUNCTION_AND, std::move(select.where_clause),
        std::move(result->where_clause));
  } else if (select.where_clause) {
    result->where_clause = std::move(select.where_clause);
  }
  result->from_table = std::move(select.from_table);
  return result;
}

}  // namespace timelake::sql
