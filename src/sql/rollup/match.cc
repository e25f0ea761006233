#include "sql/rollup/match.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/scalar_function_catalog_entry.hpp>
#include <duckdb/parser/expression/between_expression.hpp>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/expression/comparison_expression.hpp>
#include <duckdb/parser/expression/conjunction_expression.hpp>
#include <duckdb/parser/expression/function_expression.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/query_node/select_node.hpp>

#include "base/text.h"
#include "sql/rollup/query.h"

namespace timelake::sql {

namespace {

using duckdb::CatalogType;
using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::ParsedExpression;
using table::RollupAggregate;
using table::RollupDefinition;
using table::RollupKind;
using Expr = duckdb::unique_ptr<ParsedExpression>;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

// What names other than columns may mean.
enum class Aliases { kNone, kBehindColumns, kFirst };

class Matcher {
 public:
  Matcher(duckdb::ClientContext& context, const SourceColumns& columns, bool zoned,
          const RollupDefinition& definition, const Evaluate& evaluate)
      : context_(context),
        columns_(columns),
        zoned_(zoned),
        definition_(definition),
        evaluate_(evaluate),
        keys_(definition.keys.begin(), definition.keys.end()) {}

  Result<std::optional<MatchedQuery>> Match(const duckdb::SelectNode& original) {
    auto copy = original.Copy();
    auto& query = copy->Cast<duckdb::SelectNode>();
    for (const auto& item : query.select_list) {
      if (item->HasAlias()) aliases_.insert(ToLowerAscii(item->GetAlias()));
    }
    if (query.sample) return std::nullopt;
    if (!TakeWhere(&query)) return Failed();
    bool fits = true;
    for (auto& item : query.select_list) {
      const std::string name = item->GetName();
      const std::string before = item->ToString();
      fits = fits && Rewrite(&item, Aliases::kBehindColumns);
      if (fits && !item->HasAlias() && item->ToString() != before) item->SetAlias(name);
    }
    for (auto& group : query.groups.group_expressions) {
      fits = fits && Rewrite(&group, Aliases::kBehindColumns);
    }
    if (query.having) fits = fits && Rewrite(&query.having, Aliases::kBehindColumns);
    if (query.qualify) fits = fits && Rewrite(&query.qualify, Aliases::kBehindColumns);
    if (fits) {
      duckdb::ParsedExpressionIterator::EnumerateQueryNodeModifiers(
          query, [&](Expr& child) { fits = fits && Rewrite(&child, Aliases::kFirst); });
    }
    const bool grouped = !query.groups.group_expressions.empty() ||
                         query.aggregate_handling == duckdb::AggregateHandling::FORCE_AGGREGATES;
    if (!fits || (!grouped && !aggregated_)) return Failed();
    // The table's metadata knows as much.
    const bool known = !summed_ && !query.where_clause && definition_.filter.empty();
    if (!grouped && known) return Failed();
    MatchedQuery matched;
    matched.query.reset(static_cast<duckdb::SelectNode*>(copy.release()));
    matched.times = times_;
    matched.states = states_;
    return matched;
  }

 private:
  Result<std::optional<MatchedQuery>> Failed() const {
    TL_RETURN_NOT_OK(status_);
    return std::nullopt;
  }

  // A function of the system; not one that a macro or the user has put in its place.
  const duckdb::CatalogEntry* FunctionOf(const duckdb::FunctionExpression& call) const {
    if (!call.catalog.empty() || !call.schema.empty()) return nullptr;
    const duckdb::EntryLookupInfo lookup(CatalogType::SCALAR_FUNCTION_ENTRY, call.function_name);
    const auto found = duckdb::Catalog::GetEntry(context_, INVALID_CATALOG, INVALID_SCHEMA, lookup,
                                                 duckdb::OnEntryNotFound::RETURN_NULL);
    return found && found->internal ? found.get() : nullptr;
  }

  bool IsPlainScalar(const duckdb::FunctionExpression& call) const {
    const auto* entry = FunctionOf(call);
    if (!entry || entry->type != CatalogType::SCALAR_FUNCTION_ENTRY) return false;
    if (!IsPlainCall(call)) return false;
    const auto& functions = entry->Cast<duckdb::ScalarFunctionCatalogEntry>().functions;
    return std::all_of(functions.functions.begin(), functions.functions.end(), [](const auto& one) {
      return one.GetStability() == duckdb::FunctionStability::CONSISTENT;
    });
  }

  bool IsBucket(const ParsedExpression& expression) {
    if (expression.GetExpressionClass() != ExpressionClass::FUNCTION) return false;
    auto copy = expression.Copy();
    if (!columns_.Normalize(copy.get())) return false;
    const auto width = BucketsOf(*copy, definition_.time, evaluate_);
    if (!width.ok() || !*width || !Refines(definition_.width, **width)) return false;
    return FunctionOf(expression.Cast<duckdb::FunctionExpression>()) != nullptr;
  }

  // --- aggregates ---

  const RollupAggregate* Find(RollupKind kind, const std::string& argument) const {
    for (const auto& aggregate : definition_.aggregates) {
      if (aggregate.kind == kind && aggregate.argument == argument) return &aggregate;
    }
    return nullptr;
  }

  // What is kept of the aggregate that a call is.
  std::optional<RollupAggregate> Kept(const duckdb::FunctionExpression& call) const {
    const auto kind = table::FindRollupKind(ToLowerAscii(call.function_name));
    if (!kind || !IsPlainCall(call)) return std::nullopt;
    const auto* entry = FunctionOf(call);
    if (!entry || entry->type != CatalogType::AGGREGATE_FUNCTION_ENTRY) return std::nullopt;
    std::vector<std::string> arguments;
    for (const auto& child : call.children) {
      auto copy = child->Copy();
      if (!columns_.Normalize(copy.get())) return std::nullopt;
      arguments.push_back(copy->ToString());
    }
    const auto time = table::TimeArgument(*kind);
    if (arguments.size() > (time ? 2 : 1) || (time && arguments.size() < 2)) return std::nullopt;
    if (time && arguments[*time] != duckdb::ColumnRefExpression(definition_.time).ToString()) {
      return std::nullopt;
    }
    const std::string argument = arguments.empty() ? "" : arguments[time == 0 ? 1 : 0];
    const auto* found = Find(*kind, argument);
    if (found && !found->state.empty()) return *found;
    if (*kind != RollupKind::kAvg) return std::nullopt;
    const auto* sum = Find(RollupKind::kSum, argument);
    const auto* count = Find(RollupKind::kCount, argument);
    if (!sum || !count) return std::nullopt;
    RollupAggregate average;
    average.kind = RollupKind::kAvg;
    average.argument = argument;
    average.state = {sum->name, count->name};
    return average;
  }

  bool ReplaceAggregate(Expr* expression, const RollupAggregate& kept) {
    std::vector<std::string> names;
    for (const auto& state : kept.state) {
      auto& name = states_[state];
      if (name.empty()) name = fmt::format("timelake_state_{}", states_.size());
      names.push_back(QuoteName(name));
    }
    auto parsed = duckdb::Parser::ParseExpressionList(MergedValue(kept, names));
    parsed[0]->SetAlias((*expression)->GetAlias());
    *expression = std::move(parsed[0]);
    aggregated_ = true;
    summed_ = summed_ || (kept.kind != RollupKind::kCount && kept.kind != RollupKind::kMin &&
                          kept.kind != RollupKind::kMax);
    return true;
  }

  // --- expressions ---

  bool IsAlias(const ParsedExpression& expression) const {
    const auto& names = expression.Cast<duckdb::ColumnRefExpression>().column_names;
    return names.size() == 1 && aliases_.contains(ToLowerAscii(names[0]));
  }

  // Turns an expression over rows of the table into one over rows of states; false: it cannot be.
  bool Rewrite(Expr* expression, Aliases aliases) {
    ParsedExpression& it = **expression;
    switch (it.GetExpressionClass()) {
      case ExpressionClass::COLUMN_REF: {
        if (aliases == Aliases::kFirst && IsAlias(it)) return true;
        const std::string* column = columns_.ColumnOf(it);
        if (column) return keys_.contains(*column);
        return aliases != Aliases::kNone && IsAlias(it);
      }
      case ExpressionClass::FUNCTION: {
        const auto& call = it.Cast<duckdb::FunctionExpression>();
        if (aliases != Aliases::kNone) {
          if (const auto kept = Kept(call)) return ReplaceAggregate(expression, *kept);
        }
        if (IsBucket(it)) return true;
        if (call.IsLambdaFunction() || !IsPlainScalar(call)) return false;
        break;
      }
      case ExpressionClass::WINDOW:
        if (aliases == Aliases::kNone) return false;
        break;
      case ExpressionClass::PARAMETER:
      case ExpressionClass::CONSTANT:
      case ExpressionClass::CAST:
      case ExpressionClass::COMPARISON:
      case ExpressionClass::CONJUNCTION:
      case ExpressionClass::BETWEEN:
      case ExpressionClass::CASE:
      case ExpressionClass::COLLATE:
      case ExpressionClass::OPERATOR: break;
      default: return false;
    }
    bool fits = true;
    duckdb::ParsedExpressionIterator::EnumerateChildren(
        it, [&](Expr& child) { fits = fits && Rewrite(&child, aliases); });
    return fits;
  }

  // --- conditions ---

  bool TakeWhere(duckdb::SelectNode* query) {
    std::set<std::string> wanted(definition_.filter.begin(), definition_.filter.end());
    std::vector<Expr> rest;
    if (query->where_clause) {
      for (const auto* part : Conjuncts(*query->where_clause)) {
        auto copy = part->Copy();
        auto normal = part->Copy();
        if (columns_.Normalize(normal.get())) {
          if (definition_.filter.end() !=
              std::find(definition_.filter.begin(), definition_.filter.end(), normal->ToString())) {
            wanted.erase(normal->ToString());
            continue;
          }
          if (TakeTime(*normal)) continue;
        }
        if (!Rewrite(&copy, Aliases::kNone)) return false;
        rest.push_back(std::move(copy));
      }
    }
    if (!wanted.empty()) return false;  // the rollup has fewer rows than are asked for
    query->where_clause.reset();
    for (auto& part : rest) {
      query->where_clause = query->where_clause
                                ? duckdb::make_uniq<duckdb::ConjunctionExpression>(
                                      ExpressionType::CONJUNCTION_AND,
                                      std::move(query->where_clause), std::move(part))
                                : std::move(part);
    }
    return true;
  }

  bool IsTime(const ParsedExpression& expression) const {
    const std::string* column = columns_.ColumnOf(expression);
    return column && *column == definition_.time;
  }

  // The instant of a constant that a time is compared with.
  std::optional<int64_t> InstantOf(const ParsedExpression& expression) {
    if (!IsConstantTime(expression)) return std::nullopt;
    const std::string sql = expression.ToString();
    const auto type = evaluate_("typeof(" + sql + ")");
    if (!type.ok() || !*type) return std::nullopt;
    static const std::set<std::string> kTypes = {"VARCHAR", "STRING_LITERAL", "DATE", "TIMESTAMP",
                                                 "TIMESTAMP WITH TIME ZONE"};
    if (!kTypes.contains(**type)) return std::nullopt;
    const auto micros = evaluate_(
        fmt::format("epoch_us(CAST(({}) AS {}))", sql, zoned_ ? "TIMESTAMPTZ" : "TIMESTAMP"));
    if (!micros.ok() || !*micros) return std::nullopt;
    const auto number = ParseInt64(**micros);
    // Infinite, or nearly.
    constexpr int64_t kMost = kHighest / 4;
    if (!number.ok() || *number > kMost || *number < -kMost) return std::nullopt;
    return *number;
  }

  // Made of constants, casts and sums alone.
  bool IsConstantTime(const ParsedExpression& expression) const {
    switch (expression.GetExpressionClass()) {
      case ExpressionClass::CONSTANT: return true;
      case ExpressionClass::CAST: break;
      case ExpressionClass::FUNCTION: {
        const auto& call = expression.Cast<duckdb::FunctionExpression>();
        if (!IsPlainScalar(call)) return false;
        break;
      }
      default: return false;
    }
    bool constant = true;
    duckdb::ParsedExpressionIterator::EnumerateChildren(
        expression,
        [&](const ParsedExpression& child) { constant = constant && IsConstantTime(child); });
    return constant;
  }

  // A condition on the time alone, as ends of what is asked for.
  bool TakeTime(const ParsedExpression& condition) {
    if (condition.GetExpressionClass() == ExpressionClass::BETWEEN) {
      const auto& between = condition.Cast<duckdb::BetweenExpression>();
      if (!IsTime(*between.input)) return false;
      const auto low = InstantOf(*between.lower), high = InstantOf(*between.upper);
      if (!low || !high) return false;
      Limit(ExpressionType::COMPARE_GREATERTHANOREQUALTO, *low);
      Limit(ExpressionType::COMPARE_LESSTHANOREQUALTO, *high);
      return true;
    }
    if (condition.GetExpressionClass() != ExpressionClass::COMPARISON) return false;
    const auto& comparison = condition.Cast<duckdb::ComparisonExpression>();
    ExpressionType type = comparison.GetExpressionType();
    const ParsedExpression* constant = comparison.right.get();
    if (!IsTime(*comparison.left)) {
      if (!IsTime(*comparison.right)) return false;
      constant = comparison.left.get();
      switch (type) {
        case ExpressionType::COMPARE_LESSTHAN: type = ExpressionType::COMPARE_GREATERTHAN; break;
        case ExpressionType::COMPARE_LESSTHANOREQUALTO:
          type = ExpressionType::COMPARE_GREATERTHANOREQUALTO;
          break;
        case ExpressionType::COMPARE_GREATERTHAN: type = ExpressionType::COMPARE_LESSTHAN; break;
        case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
          type = ExpressionType::COMPARE_LESSTHANOREQUALTO;
          break;
        default: break;
      }
    }
    const auto instant = InstantOf(*constant);
    return instant && Limit(type, *instant);
  }

  bool Limit(ExpressionType type, int64_t at) {
    switch (type) {
      case ExpressionType::COMPARE_LESSTHAN: times_.end = std::min(times_.end, at); return true;
      case ExpressionType::COMPARE_LESSTHANOREQUALTO:
        times_.end = std::min(times_.end, at + 1);
        return true;
      case ExpressionType::COMPARE_GREATERTHAN:
        times_.first = std::max(times_.first, at + 1);
        return true;
      case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
        times_.first = std::max(times_.first, at);
        return true;
      default: return false;
    }
  }

  duckdb::ClientContext& context_;
  const SourceColumns& columns_;
  const bool zoned_;
  const RollupDefinition& definition_;
  const Evaluate& evaluate_;
  const std::set<std::string> keys_;
  std::set<std::string> aliases_;  // of the select list, in lower case
  table::TimeRange times_{kLowest, kHighest};
  std::map<std::string, std::string> states_;
  bool aggregated_ = false;
  bool summed_ = false;  // something else than counts and extremes
  Status status_;
};

}  // namespace

Result<std::optional<MatchedQuery>> MatchQuery(duckdb::ClientContext& context,
                                               const duckdb::SelectNode& query,
                                               const SourceColumns& columns, bool zoned,
                                               const RollupDefinition& definition,
                                               const Evaluate& evaluate) {
  return Matcher(context, columns, zoned, definition, evaluate).Match(query);
}

}  // namespace timelake::sql
