#include "sql/rollup/match.h"

#include <algorithm>
#include <set>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/expression/comparison_expression.hpp>
#include <duckdb/parser/expression/conjunction_expression.hpp>
#include <duckdb/parser/expression/function_expression.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/query_node/select_node.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "sql/rollup/aggregate_call.h"
#include "sql/rollup/query.h"
#include "sql/rollup/times.h"

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

// What names other than columns may mean.
enum class Aliases { kNone, kBehindColumns, kFirst };

class Matcher {
 public:
  Matcher(const MatchContext& context, const RollupDefinition& definition)
      : context_(context),
        columns_(context.columns),
        definition_(definition),
        times_(context, definition.time),
        keys_(definition.keys.begin(), definition.keys.end()) {
    if (context.refreshing) NameMergedStates();
  }

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
    if (context_.refreshing) {
      const std::string text = query.ToString();
      std::erase_if(
          states_, [&](const auto& state) { return text.find(state.second) == std::string::npos; });
    }
    matched.query.reset(static_cast<duckdb::SelectNode*>(copy.release()));
    matched.times = times_.range();
    matched.states = states_;
    matched.unproven = unproven_;
    return matched;
  }

 private:
  Result<std::optional<MatchedQuery>> Failed() const {
    TL_RETURN_NOT_OK(status_);
    return std::nullopt;
  }

  bool IsBucket(const ParsedExpression& expression) {
    if (expression.GetExpressionClass() != ExpressionClass::FUNCTION) return false;
    auto copy = expression.Copy();
    if (!columns_.Normalize(copy.get())) return false;
    const auto& call = expression.Cast<duckdb::FunctionExpression>();
    auto width = BucketsOf(*copy, definition_.time, context_.evaluate);
    if (!width.ok() || !*width || !SystemFunction(context_.client, call)) return false;
    // date_trunc follows the session's clock, time_bucket does not.
    const bool trunc = ToLowerAscii(call.function_name) != "time_bucket";
    if (trunc && context_.zoned) (*width)->zone = context_.zone;
    if (Refines(definition_.width, **width)) return true;
    if (!MayRefine(**width)) return false;
    unproven_.push_back(**width);
    return true;
  }

  // Of shorter buckets than days a clock that is set back may show the same twice.
  bool MayRefine(const table::RollupWidth& width) const {
    return definition_.width.zone.empty() && !width.zone.empty() &&
           (width.months > 0 || width.micros >= kMicrosPerDay);
  }

  // --- aggregates ---

  const RollupAggregate* Find(RollupKind kind, const std::string& argument) const {
    return table::SameArgument(definition_.aggregates, kind, argument);
  }

  // What is kept of the aggregate that a call is.
  std::optional<RollupAggregate> Kept(const duckdb::FunctionExpression& call) const {
    const auto* entry = SystemFunction(context_.client, call);
    if (!entry || entry->type != CatalogType::AGGREGATE_FUNCTION_ENTRY) return std::nullopt;
    auto copy = call.Copy();
    if (!columns_.Normalize(copy.get())) return std::nullopt;
    const auto wanted = AggregateOfCall(copy->Cast<duckdb::FunctionExpression>(), definition_.time);
    if (!wanted || (table::IsOfCurve(wanted->kind) && !apart_)) return std::nullopt;
    const auto* found = Find(wanted->kind, wanted->argument);
    if (found && !found->state.empty()) return *found;
    if (wanted->kind != RollupKind::kAvg) return std::nullopt;
    const auto* sum = Find(RollupKind::kSum, wanted->argument);
    const auto* count = Find(RollupKind::kCount, wanted->argument);
    if (!sum || !count) return std::nullopt;
    RollupAggregate average = *wanted;
    average.state = {sum->name, count->name};
    return average;
  }

  // The names of an aggregate's state columns in the query.
  std::vector<std::string> NamesOf(const RollupAggregate& aggregate) {
    std::vector<std::string> names;
    for (const auto& state : aggregate.state) {
      auto& name = states_[state];
      if (name.empty()) name = fmt::format("timelake_state_{}", states_.size());
      names.push_back(QuoteName(name));
    }
    return names;
  }

  void NameMergedStates() {
    for (const auto& aggregate : definition_.aggregates) {
      if (aggregate.state.empty()) continue;
      const auto merged = MergedStates(aggregate, definition_.time, NamesOf(aggregate));
      for (const auto& [over_table, over_states] : merged) {
        merged_.emplace(Respell(over_table), over_states);
      }
    }
  }

  // Turns a state of a wider rollup into one of the same of this one.
  bool ReplaceState(Expr* expression) {
    if (merged_.empty()) return false;
    auto copy = (*expression)->Copy();
    if (!columns_.Normalize(copy.get())) return false;
    const auto found = merged_.find(copy->ToString());
    if (found == merged_.end()) return false;
    Replace(expression, found->second);
    summed_ = true;
    return true;
  }

  void Replace(Expr* expression, const std::string& sql) {
    auto parsed = duckdb::Parser::ParseExpressionList(sql);
    parsed[0]->SetAlias((*expression)->GetAlias());
    *expression = std::move(parsed[0]);
    aggregated_ = true;
  }

  bool ReplaceAggregate(Expr* expression, const RollupAggregate& kept) {
    Replace(expression, MergedValue(kept, NamesOf(kept)));
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
    if (ReplaceState(expression)) return true;
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
        if (call.IsLambdaFunction() || !IsPlainScalar(context_.client, call)) return false;
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

  // --- groups ---

  // Whether rows of two groups of the rollup are never put together: each of its columns is one of
  // the query's groups, or is only asked for with one value.
  bool AreApart(const duckdb::SelectNode& query, const std::vector<Expr>& conditions) const {
    if (query.groups.grouping_sets.size() > 1) return false;
    std::set<std::string> apart;
    const auto add = [&](const ParsedExpression& expression) {
      if (const auto* column = columns_.ColumnOf(expression)) apart.insert(*column);
    };
    for (const auto& group : query.groups.group_expressions) {
      const auto* item = ItemOf(query, *group);
      add(item ? *item : *group);
    }
    if (query.aggregate_handling == duckdb::AggregateHandling::FORCE_AGGREGATES) {
      for (const auto& item : query.select_list) add(*item);
    }
    for (const auto& condition : conditions) {
      if (condition->GetExpressionType() != ExpressionType::COMPARE_EQUAL) continue;
      const auto& equal = condition->Cast<duckdb::ComparisonExpression>();
      const bool constant = equal.right->GetExpressionClass() == ExpressionClass::CONSTANT ||
                            equal.right->GetExpressionClass() == ExpressionClass::PARAMETER;
      if (constant) add(*equal.left);
    }
    return std::includes(apart.begin(), apart.end(), keys_.begin(), keys_.end());
  }

  // The selected item that a group means by its place or, where no column is called so, by its
  // name.
  const ParsedExpression* ItemOf(const duckdb::SelectNode& query,
                                 const ParsedExpression& group) const {
    if (group.GetExpressionClass() == ExpressionClass::CONSTANT) {
      const auto place = ParseInt64(group.ToString());
      const bool there =
          place.ok() && *place >= 1 && *place <= static_cast<int64_t>(query.select_list.size());
      return there ? query.select_list[static_cast<size_t>(*place) - 1].get() : nullptr;
    }
    if (group.GetExpressionClass() != ExpressionClass::COLUMN_REF || columns_.ColumnOf(group)) {
      return nullptr;
    }
    const auto& names = group.Cast<duckdb::ColumnRefExpression>().column_names;
    for (const auto& item : query.select_list) {
      if (names.size() == 1 && ToLowerAscii(item->GetAlias()) == ToLowerAscii(names[0])) {
        return item.get();
      }
    }
    return nullptr;
  }

  // --- conditions ---

  // A parameter has to be somewhere in the statement that has a value for it: where the condition
  // that it was in goes, in one that always holds.
  static void KeepParameters(const ParsedExpression& condition, std::vector<Expr>* conditions) {
    if (condition.GetExpressionClass() == ExpressionClass::PARAMETER) {
      conditions->push_back(std::move(duckdb::Parser::ParseExpressionList(
          fmt::format("({0} IS NULL OR {0} IS NOT NULL)", condition.ToString()))[0]));
    }
    duckdb::ParsedExpressionIterator::EnumerateChildren(
        condition, [&](const ParsedExpression& child) { KeepParameters(child, conditions); });
  }

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
          if (times_.Take(*normal)) {
            KeepParameters(*normal, &rest);
            continue;
          }
        }
        if (!Rewrite(&copy, Aliases::kNone)) return false;
        rest.push_back(std::move(copy));
      }
    }
    apart_ = AreApart(*query, rest);
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

  const MatchContext& context_;
  const SourceColumns& columns_;
  const RollupDefinition& definition_;
  TimeConditions times_;
  const std::set<std::string> keys_;
  std::set<std::string> aliases_;  // of the select list, in lower case
  std::map<std::string, std::string> states_;
  std::map<std::string, std::string> merged_;  // of states: SQL over the table, and over states
  std::vector<table::RollupWidth> unproven_;
  bool apart_ = false;  // each group is one of the rollup's
  bool aggregated_ = false;
  bool summed_ = false;  // something else than counts and extremes
  Status status_;
};

}  // namespace

Result<std::optional<MatchedQuery>> MatchQuery(const MatchContext& context,
                                               const duckdb::SelectNode& query,
                                               const RollupDefinition& definition) {
  return Matcher(context, definition).Match(query);
}

}  // namespace timelake::sql
