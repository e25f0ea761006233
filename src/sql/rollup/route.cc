#include "sql/rollup/route.h"

#include <functional>
#include <map>
#include <set>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/connection.hpp>
#include <duckdb/main/materialized_query_result.hpp>
#include <duckdb/parser/expression/subquery_expression.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/query_node/select_node.hpp>
#include <duckdb/parser/query_node/set_operation_node.hpp>
#include <duckdb/parser/statement/explain_statement.hpp>
#include <duckdb/parser/statement/select_statement.hpp>
#include <duckdb/parser/tableref/basetableref.hpp>
#include <duckdb/parser/tableref/joinref.hpp>
#include <duckdb/parser/tableref/subqueryref.hpp>

#include "base/text.h"
#include "sql/database.h"
#include "sql/error.h"
#include "sql/functions/grid_maker.h"
#include "sql/names.h"
#include "sql/rollup/define.h"
#include "sql/rollup/match.h"
#include "sql/rollup/query.h"
#include "sql/rollup/remainder.h"
#include "sql/session_options.h"
#include "sql/table_entry.h"
#include "sql/transaction.h"
#include "table/rollup_definition.h"
#include "table/rollups.h"

namespace timelake::sql {

namespace {

// Less is read by so much, or the table is read: a rollup has its price, too.
constexpr double kMostCost = 0.8;

std::string FullName(const std::string& name) {
  const size_t dot = name.find('.');
  return fmt::format("{}.{}.{}", kLakeCatalog, QuoteName(name.substr(0, dot)),
                     QuoteName(name.substr(dot + 1)));
}

struct Candidate {
  MatchedQuery matched;
  table::RollupDefinition definition;
  std::shared_ptr<const TableVersion> rollup;
  const LakeTable* entry = nullptr;  // of the rollup
  Split split;
};

class Router {
 public:
  Router(Database& database, LakeContext& lake, duckdb::ClientContext& context)
      : database_(database), lake_(lake), context_(context) {
    // An option of the connection comes before the lake's setting.
    settings_ = SessionOptionsOf(context);
    for (const auto& [name, value] : lake.catalog().session_settings()) {
      settings_.emplace(name, value);
    }
    evaluate_ = [this](const std::string& sql) { return EvaluateOnce(sql); };
  }

  // Finds the SELECTs of a query, at any depth that is worth the while.
  void Visit(duckdb::QueryNode& node) {
    for (auto& [name, cte] : node.cte_map.map) {
      ctes_.insert(ToLowerAscii(name));
      if (cte->query) Visit(*cte->query->node);
    }
    if (node.type == duckdb::QueryNodeType::SET_OPERATION_NODE) {
      for (auto& child : node.Cast<duckdb::SetOperationNode>().children) Visit(*child);
    }
    if (node.type != duckdb::QueryNodeType::SELECT_NODE) return;
    auto& select = node.Cast<duckdb::SelectNode>();
    nodes_.push_back(&select);
    for (auto& item : select.select_list) Visit(*item);
    if (select.where_clause) Visit(*select.where_clause);
    if (select.from_table) Visit(*select.from_table);
  }

  void Apply() {
    for (auto* node : nodes_) Route(node);
  }

 private:
  void Visit(duckdb::TableRef& ref) {
    if (ref.type == duckdb::TableReferenceType::SUBQUERY) {
      Visit(*ref.Cast<duckdb::SubqueryRef>().subquery->node);
    } else if (ref.type == duckdb::TableReferenceType::JOIN) {
      auto& join = ref.Cast<duckdb::JoinRef>();
      Visit(*join.left);
      Visit(*join.right);
    }
  }

  void Visit(duckdb::ParsedExpression& expression) {
    if (expression.GetExpressionClass() == duckdb::ExpressionClass::SUBQUERY) {
      auto& subquery = expression.Cast<duckdb::SubqueryExpression>();
      if (subquery.subquery) Visit(*subquery.subquery->node);
    }
    duckdb::ParsedExpressionIterator::EnumerateChildren(
        expression, [this](duckdb::ParsedExpression& child) { Visit(child); });
  }

  Result<std::optional<std::string>> EvaluateOnce(const std::string& sql) {
    const auto known = values_.find(sql);
    if (known != values_.end()) return known->second;
    if (!probe_) probe_ = std::make_unique<duckdb::Connection>(*database_.instance);
    const auto result = probe_->Query("SELECT CAST((" + sql + ") AS VARCHAR)");
    if (result->HasError()) return FromDuckDb(result->GetErrorObject());
    const duckdb::Value value = result->GetValue(0, 0);
    std::optional<std::string> text;
    if (!value.IsNull()) text = value.ToString();
    values_[sql] = text;
    return text;
  }

  void Route(duckdb::SelectNode* node) {
    if (!node->from_table || node->from_table->type != duckdb::TableReferenceType::BASE_TABLE) {
      return;
    }
    const auto& from = node->from_table->Cast<duckdb::BaseTableRef>();
    if (from.at_clause || from.sample || !from.column_name_alias.empty()) return;
    const bool bare = from.catalog_name.empty() && from.schema_name.empty();
    if (bare && ctes_.contains(ToLowerAscii(from.table_name))) return;
    const LakeTable* source = Table(from.catalog_name, from.schema_name, from.table_name);
    if (!source) return;
    const TableVersion& version = *source->version();
    const auto rollups = table::RollupsOf(version.metadata->properties);
    if (rollups.empty() || !table::RollupRouting(*version.metadata, settings_) ||
        version.time_travel || !version.contract.is_time_series() ||
        version.dedup != version.contract.dedup) {
      return;
    }
    const std::string alias = from.alias.empty() ? from.table_name : from.alias;
    std::optional<Candidate> best;
    for (const auto& name : rollups) {
      if (name == lake_.refreshed()) continue;
      auto candidate = Try(*node, version, alias, name);
      if (candidate && (!best || candidate->split.cost < best->split.cost)) {
        best = std::move(candidate);
      }
    }
    if (!best || best->split.cost > kMostCost * best->split.source_cost) return;
    lake_.catalog().env().Metric("rollup.routed");
    Replace(node, version, alias, &*best);
  }

  // The lake's table that a name means; null: it means something else.
  const LakeTable* Table(const std::string& catalog, const std::string& schema,
                         const std::string& name) {
    // As the binder does: "lake.t" may be a catalog and a table.
    std::string catalog_name = catalog, schema_name = schema;
    if (catalog_name.empty() && ToLowerAscii(schema_name) == kLakeCatalog) {
      catalog_name = kLakeCatalog;
      schema_name = lake_.default_namespace();
    }
    const duckdb::EntryLookupInfo lookup(duckdb::CatalogType::TABLE_ENTRY, name);
    const auto entry = duckdb::Catalog::GetEntry(context_, catalog_name, schema_name, lookup,
                                                 duckdb::OnEntryNotFound::RETURN_NULL);
    return entry ? dynamic_cast<const LakeTable*>(entry.get()) : nullptr;
  }

  std::optional<Candidate> Try(const duckdb::SelectNode& node, const TableVersion& source,
                               const std::string& alias, const std::string& name) {
    Candidate candidate;
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return std::nullopt;
    candidate.entry = Table(kLakeCatalog, name.substr(0, dot), name.substr(dot + 1));
    if (!candidate.entry) return std::nullopt;
    candidate.rollup = candidate.entry->version();
    if (!candidate.rollup->dedup) return std::nullopt;
    auto definition = table::ReadRollup(*candidate.rollup->metadata);
    if (!definition.ok() || !*definition || (*definition)->source != source.name) {
      return std::nullopt;
    }
    candidate.definition = **std::move(definition);
    if (!CompleteDefinition(*source.metadata, &candidate.definition).ok()) return std::nullopt;
    const auto* time = iceberg::FindFieldById(*source.schema, *source.contract.time_id);
    if (time->name != candidate.definition.time) return std::nullopt;
    const bool zoned = time->type.id == iceberg::TypeId::kTimestamptz;
    const SourceColumns columns(*source.schema, {alias});
    auto matched = MatchQuery(context_, node, columns, zoned, candidate.definition, evaluate_);
    if (!matched.ok() || !*matched) return std::nullopt;
    candidate.matched = **std::move(matched);
    auto grid = Grid(candidate.definition.width);
    if (!grid.ok()) return std::nullopt;
    auto split = SplitTimes(source, *candidate.rollup, *std::move(grid), candidate.matched.times);
    if (!split.ok() || !*split) return std::nullopt;
    candidate.split = **std::move(split);
    return candidate;
  }

  Result<BucketGrid> Grid(const table::RollupWidth& width) {
    BucketGrid::Options options;
    options.width.months = width.months;
    options.width.micros = width.micros;
    options.origin = width.origin_us;
    if (!width.zone.empty()) options.zone = MakeZoneClock(context_, width.zone);
    return BucketGrid::Make(options);
  }

  // The rows of states: of the rollup, and computed from the rest of the source.
  std::string StatesSql(const TableVersion& source, const Candidate& candidate) const {
    const auto& definition = candidate.definition;
    const auto* time = iceberg::FindFieldById(*source.schema, *source.contract.time_id);
    const bool zoned = time->type.id == iceberg::TypeId::kTimestamptz;
    std::vector<std::string> kept, fresh;
    for (const auto& key : definition.keys) {
      kept.push_back(QuoteName(key));
      fresh.push_back(QuoteName(key));
    }
    kept.push_back(QuoteName(definition.bucket) + " AS " + QuoteName(definition.time));
    fresh.push_back(BucketCall(definition.width, definition.time, zoned) + " AS " +
                    QuoteName(definition.time));
    const size_t groups = fresh.size();
    std::map<std::string, std::string> sql_of;
    for (const auto& state : StateColumns(definition)) sql_of[state.name] = state.sql;
    for (const auto& [column, name] : candidate.matched.states) {
      const auto type = candidate.entry->GetColumn(column).Type().ToString();
      kept.push_back(QuoteName(column) + " AS " + QuoteName(name));
      fresh.push_back(fmt::format("CAST({} AS {}) AS {}", sql_of[column], type, QuoteName(name)));
    }
    std::string sql = fmt::format("SELECT {} FROM {} WHERE {}", Join(kept, ", "),
                                  FullName(candidate.rollup->name),
                                  InRanges(definition.bucket, candidate.split.rollup, zoned));
    if (candidate.split.source.empty()) return sql;
    std::vector<std::string> where = {InRanges(definition.time, candidate.split.source, zoned)};
    for (const auto& condition : definition.filter) where.push_back("(" + condition + ")");
    std::vector<std::string> positions;
    for (size_t i = 1; i <= groups; ++i) positions.push_back(std::to_string(i));
    return sql + fmt::format(" UNION ALL SELECT {} FROM {} WHERE {} GROUP BY {}", Join(fresh, ", "),
                             FullName(source.name), Join(where, " AND "), Join(positions, ", "));
  }

  void Replace(duckdb::SelectNode* node, const TableVersion& source, const std::string& alias,
               Candidate* candidate) {
    duckdb::Parser parser;
    parser.ParseQuery(StatesSql(source, *candidate));
    auto states = duckdb::unique_ptr_cast<duckdb::SQLStatement, duckdb::SelectStatement>(
        std::move(parser.statements[0]));
    auto& query = *candidate->matched.query;
    node->select_list = std::move(query.select_list);
    node->where_clause = std::move(query.where_clause);
    node->groups = std::move(query.groups);
    node->having = std::move(query.having);
    node->qualify = std::move(query.qualify);
    node->modifiers = std::move(query.modifiers);
    node->from_table = duckdb::make_uniq<duckdb::SubqueryRef>(std::move(states), alias);
  }

  Database& database_;
  LakeContext& lake_;
  duckdb::ClientContext& context_;
  std::unique_ptr<duckdb::Connection> probe_;
  std::map<std::string, std::optional<std::string>> values_;
  Evaluate evaluate_;
  table::SettingMap settings_;
  std::set<std::string> ctes_;
  std::vector<duckdb::SelectNode*> nodes_;
};

bool IsUtc(duckdb::ClientContext& context) {
  duckdb::Value zone;
  if (!context.TryGetCurrentSetting("TimeZone", zone) || zone.IsNull()) return false;
  const std::string name = ToLowerAscii(zone.ToString());
  return name == "utc" || name == "etc/utc";
}

duckdb::SelectStatement* SelectOf(duckdb::SQLStatement* statement) {
  if (statement->type == duckdb::StatementType::SELECT_STATEMENT) {
    return &statement->Cast<duckdb::SelectStatement>();
  }
  if (statement->type == duckdb::StatementType::EXPLAIN_STATEMENT) {
    return SelectOf(statement->Cast<duckdb::ExplainStatement>().stmt.get());
  }
  return nullptr;
}

}  // namespace

void RouteToRollups(Database& database, LakeContext& lake, duckdb::SQLStatement* statement) {
  auto* select = SelectOf(statement);
  duckdb::ClientContext& context = *database.connection->context;
  if (!select || !context.transaction.IsAutoCommit() || !IsUtc(context)) return;
  context.RunFunctionInTransaction([&] {
    try {
      Router router(database, lake, context);
      router.Visit(*select->node);
      router.Apply();
    } catch (const std::exception&) {
      // What is wrong with the statement is said when it runs; a rollup that cannot be read, or
      // another reason not to use it, is none to fail.
    }
    auto& catalog = duckdb::Catalog::GetCatalog(context, kLakeCatalog);
    lake.SetLoaded(LakeTransaction::Get(context, catalog).pinned());
  });
}

}  // namespace timelake::sql
