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
#include "sql/rollup/executed.h"
#include "sql/rollup/match.h"
#include "sql/rollup/query.h"
#include "sql/rollup/remainder.h"
#include "sql/rollup/session_zone.h"
#include "sql/rollup/views.h"
#include "sql/session_options.h"
#include "sql/table_entry.h"
#include "sql/transaction.h"
#include "table/rollup_definition.h"
#include "table/rollup_properties.h"
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
  Router(Database& database, LakeContext& lake, duckdb::ClientContext& context,
         const ParamValues& params)
      : database_(database),
        lake_(lake),
        context_(context),
        params_(params),
        zone_(SessionZone(context)) {
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
    if (select.from_table) Visit(&select.from_table);
  }

  // Whether a query was changed.
  bool Apply() {
    for (auto* node : nodes_) Route(node);
    return routed_;
  }

 private:
  void Visit(duckdb::unique_ptr<duckdb::TableRef>* ref) {
    switch ((*ref)->type) {
      case duckdb::TableReferenceType::SUBQUERY:
        return Visit(*(*ref)->Cast<duckdb::SubqueryRef>().subquery->node);
      case duckdb::TableReferenceType::JOIN: {
        auto& join = (*ref)->Cast<duckdb::JoinRef>();
        Visit(&join.left);
        return Visit(&join.right);
      }
      case duckdb::TableReferenceType::BASE_TABLE: return VisitTable(ref);
      default: return;
    }
  }

  // Puts the query of a view in its place if a rollup answers some of that.
  void VisitTable(duckdb::unique_ptr<duckdb::TableRef>* ref) {
    const auto& table = (*ref)->Cast<duckdb::BaseTableRef>();
    const auto* view = ViewOf(table);
    if (!view) return;
    auto expanded = ExpandView(context_, *view, table, find_);
    if (!expanded) return;
    const auto nodes = std::exchange(nodes_, {});
    const auto ctes = std::exchange(ctes_, {});
    Visit(*expanded->subquery->node);
    bool routed = false;
    for (auto* node : nodes_) routed = Route(node) || routed;
    nodes_ = nodes;
    ctes_ = ctes;
    if (routed) *ref = std::move(expanded);
  }

  const duckdb::ViewCatalogEntry* ViewOf(const duckdb::BaseTableRef& ref) {
    if (ref.at_clause || ref.sample || IsCte(ref)) return nullptr;
    return FindView(context_, ref);
  }

  bool IsCte(const duckdb::BaseTableRef& ref) const {
    return ref.catalog_name.empty() && ref.schema_name.empty() &&
           ctes_.contains(ToLowerAscii(ref.table_name));
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
    if (!probe_) {
      probe_ = std::make_unique<duckdb::Connection>(*database_.instance);
      if (!zone_.empty()) {
        const auto set = probe_->Query("SET TimeZone = " + duckdb::Value(zone_).ToSQLString());
        if (set->HasError()) return FromDuckDb(set->GetErrorObject());
      }
    }
    const auto result = probe_->Query("SELECT CAST((" + sql + ") AS VARCHAR)");
    if (result->HasError()) return FromDuckDb(result->GetErrorObject());
    const duckdb::Value value = result->GetValue(0, 0);
    std::optional<std::string> text;
    if (!value.IsNull()) text = value.ToString();
    values_[sql] = text;
    return text;
  }

  // False: it stays as it is.
  bool Route(duckdb::SelectNode* node) {
    if (!node->from_table || node->from_table->type != duckdb::TableReferenceType::BASE_TABLE) {
      return false;
    }
    const auto& from = node->from_table->Cast<duckdb::BaseTableRef>();
    if (from.at_clause || from.sample || !from.column_name_alias.empty() || IsCte(from)) {
      return false;
    }
    if (const auto* view = ViewOf(from)) {
      auto through = ThroughView(context_, *view, *node, find_);
      if (!through || !Route(through.get())) return false;
      TakeOver(node, through.get());
      return true;
    }
    const LakeTable* source = Table(from.catalog_name, from.schema_name, from.table_name);
    if (!source) return false;
    const TableVersion& version = *source->version();
    const auto rollups = table::RollupsOf(version.metadata->properties);
    if (rollups.empty() || !table::RollupRouting(*version.metadata, settings_) ||
        version.time_travel || !version.contract.is_time_series() ||
        version.dedup != version.contract.dedup) {
      return false;
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
    if (!best || best->split.cost > kMostCost * best->split.source_cost) return false;
    lake_.catalog().env().Metric("rollup.routed");
    Replace(node, version, alias, &*best);
    routed_ = true;
    return true;
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
    if (!zone_.empty() && !IsZoneFree(candidate.definition, *source.schema)) return std::nullopt;
    const SourceColumns columns(*source.schema, {alias});
    const MatchContext context = {
        context_, columns, zoned, zone_, evaluate_, params_, !lake_.refreshed().empty()};
    auto matched = MatchQuery(context, node, candidate.definition);
    if (!matched.ok() || !*matched) return std::nullopt;
    candidate.matched = **std::move(matched);
    auto grid = Grid(candidate.definition.width);
    if (!grid.ok()) return std::nullopt;
    auto split = SplitTimes(source, *candidate.rollup, *grid, candidate.matched.times);
    if (!split.ok() || !*split) return std::nullopt;
    candidate.split = **std::move(split);
    for (const auto& width : candidate.matched.unproven) {
      auto coarse = Grid(width);
      if (!coarse.ok() ||
          !RefinesWithin(*grid, *std::move(coarse), candidate.split.rollup, candidate.split.kept)) {
        return std::nullopt;
      }
    }
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
    query.from_table = duckdb::make_uniq<duckdb::SubqueryRef>(std::move(states), alias);
    TakeOver(node, &query);
  }

  static void TakeOver(duckdb::SelectNode* node, duckdb::SelectNode* query) {
    node->select_list = std::move(query->select_list);
    node->where_clause = std::move(query->where_clause);
    node->groups = std::move(query->groups);
    node->having = std::move(query->having);
    node->qualify = std::move(query->qualify);
    node->modifiers = std::move(query->modifiers);
    node->from_table = std::move(query->from_table);
  }

  Database& database_;
  LakeContext& lake_;
  duckdb::ClientContext& context_;
  const ParamValues& params_;
  const std::string zone_;  // of the session; empty: UTC
  bool routed_ = false;
  const FindTable find_ = [this](const std::string& catalog, const std::string& schema,
                                 const std::string& name) { return Table(catalog, schema, name); };
  std::unique_ptr<duckdb::Connection> probe_;
  std::map<std::string, std::optional<std::string>> values_;
  Evaluate evaluate_;
  table::SettingMap settings_;
  std::set<std::string> ctes_;
  std::vector<duckdb::SelectNode*> nodes_;
};

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

void RouteToRollups(Database& database, LakeContext& lake,
                    duckdb::unique_ptr<duckdb::SQLStatement>* statement, ParamValues* values) {
  duckdb::ClientContext& context = *database.connection->context;
  if (!context.transaction.IsAutoCommit()) return;
  ParamValues params = *values;
  duckdb::unique_ptr<duckdb::SQLStatement> executed = ExecutedSelect(context, **statement, &params);
  auto* select = SelectOf(executed ? executed.get() : statement->get());
  if (!select) return;
  context.RunFunctionInTransaction([&] {
    bool routed = false;
    try {
      Router router(database, lake, context, params);
      router.Visit(*select->node);
      routed = router.Apply();
    } catch (const std::exception&) {
      // What is wrong with the statement is said when it runs; a rollup that cannot be read, or
      // another reason not to use it, is none to fail.
    }
    if (executed && routed) {
      *statement = std::move(executed);
      *values = std::move(params);
    }
    auto& catalog = duckdb::Catalog::GetCatalog(context, kLakeCatalog);
    lake.SetLoaded(LakeTransaction::Get(context, catalog).pinned());
  });
}

}  // namespace timelake::sql
