#include "sql/rollup/expressions.h"

#include <algorithm>
#include <limits>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/scalar_function_catalog_entry.hpp>
#include <duckdb/common/types/value.hpp>
#include <duckdb/parser/expression/cast_expression.hpp>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/expression/conjunction_expression.hpp>
#include <duckdb/parser/expression/constant_expression.hpp>
#include <duckdb/parser/expression/function_expression.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/parser.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "sql/error.h"
#include "sql/functions/bucket_width.h"

namespace timelake::sql {

namespace {

using duckdb::ExpressionClass;
using duckdb::LogicalTypeId;
using duckdb::ParsedExpression;
using table::RollupWidth;

// Monday 2000-01-03, from which time_bucket counts fixed widths.
constexpr int64_t kDefaultOrigin = int64_t{10959} * kMicrosPerDay;

bool IsConstant(const ParsedExpression& expression) {
  switch (expression.GetExpressionClass()) {
    case ExpressionClass::CONSTANT: return true;
    case ExpressionClass::CAST: return IsConstant(*expression.Cast<duckdb::CastExpression>().child);
    case ExpressionClass::FUNCTION: {
      // What the parser makes of INTERVAL 5 MINUTE.
      static const std::set<std::string> kPlain = {
          "to_years",   "to_months",       "to_weeks",        "to_days", "to_hours",   "to_minutes",
          "to_seconds", "to_milliseconds", "to_microseconds", "trunc",   "to_quarters"};
      const auto& call = expression.Cast<duckdb::FunctionExpression>();
      return kPlain.contains(call.function_name) &&
             std::all_of(call.children.begin(), call.children.end(),
                         [](const auto& child) { return IsConstant(*child); });
    }
    default: return false;
  }
}

Result<RollupWidth> FromWidth(const BucketWidth& width) {
  RollupWidth result;
  result.months = width.months;
  result.micros = width.micros;
  return result;
}

Result<std::optional<RollupWidth>> WidthOf(const ParsedExpression& expression,
                                           const Evaluate& evaluate) {
  if (const auto text = TextOf(expression)) {
    auto parsed = ParseBucketWidth(*text);
    if (parsed.ok()) return FromWidth(*parsed);
  }
  if (!IsConstant(expression)) return std::nullopt;
  TL_ASSIGN_OR_RAISE(const auto text,
                     evaluate("CAST((" + expression.ToString() + ") AS INTERVAL)"));
  if (!text) return std::nullopt;
  const auto interval = duckdb::Value(*text)
                            .DefaultCastAs(duckdb::LogicalType::INTERVAL)
                            .GetValue<duckdb::interval_t>();
  TL_ASSIGN_OR_RAISE(const auto width,
                     MakeBucketWidth(interval.months, interval.days, interval.micros));
  return FromWidth(width);
}

// The argument behind the time: a zone, or an origin as a constant time.
Result<bool> AddOption(const ParsedExpression& expression, const Evaluate& evaluate,
                       RollupWidth* width) {
  if (const auto text = TextOf(expression)) {
    if (!width->zone.empty()) return false;
    // A text may be an origin, too.
    const auto time = evaluate("epoch_us(TRY_CAST('" + *text + "' AS TIMESTAMPTZ))");
    if (!time.ok()) return false;
    if (*time) return false;
    width->zone = *text;
    return true;
  }
  if (expression.GetExpressionClass() != ExpressionClass::CAST || !IsConstant(expression)) {
    return false;
  }
  // The parser does not say which type a name means.
  TL_ASSIGN_OR_RAISE(const auto type, evaluate("typeof(" + expression.ToString() + ")"));
  if (type != "TIMESTAMP" && type != "TIMESTAMP WITH TIME ZONE") return false;
  TL_ASSIGN_OR_RAISE(const auto micros, evaluate("epoch_us(" + expression.ToString() + ")"));
  if (!micros || width->origin_us) return false;
  TL_ASSIGN_OR_RAISE(width->origin_us, ParseInt64(*micros));
  return true;
}

std::optional<RollupWidth> UnitOf(const std::string& unit) {
  RollupWidth width;
  const std::string name = ToLowerAscii(unit);
  if (name == "second") width.micros = kMicrosPerSecond;
  if (name == "minute") width.micros = kMicrosPerMinute;
  if (name == "hour") width.micros = kMicrosPerHour;
  if (name == "day") width.micros = kMicrosPerDay;
  if (name == "week") width.micros = 7 * kMicrosPerDay;
  if (name == "month") width.months = 1;
  if (name == "quarter") width.months = 3;
  if (name == "year") width.months = 12;
  if (width == RollupWidth()) return std::nullopt;
  return width;
}

int64_t OriginOf(const RollupWidth& width) { return width.origin_us.value_or(kDefaultOrigin); }

bool Divides(int64_t part, int64_t whole) { return whole % part == 0; }

}  // namespace

SourceColumns::SourceColumns(const iceberg::Schema& schema, std::vector<std::string> qualifiers) {
  for (const auto& field : schema.fields) names_.push_back(field.name);
  for (const auto& qualifier : qualifiers) qualifiers_.insert(ToLowerAscii(qualifier));
}

const std::string* SourceColumns::ColumnOf(const ParsedExpression& expression) const {
  if (expression.GetExpressionClass() != ExpressionClass::COLUMN_REF) return nullptr;
  const auto& names = expression.Cast<duckdb::ColumnRefExpression>().column_names;
  if (names.size() > 2) return nullptr;
  if (names.size() == 2 && !qualifiers_.contains(ToLowerAscii(names[0]))) return nullptr;
  const std::string wanted = ToLowerAscii(names.back());
  const std::string* found = nullptr;
  for (const auto& name : names_) {
    if (ToLowerAscii(name) != wanted) continue;
    if (found) return nullptr;  // SQL does not tell them apart
    found = &name;
  }
  return found;
}

bool SourceColumns::Normalize(ParsedExpression* expression) const {
  switch (expression->GetExpressionClass()) {
    case ExpressionClass::COLUMN_REF: {
      const std::string* name = ColumnOf(*expression);
      if (!name) return false;
      expression->Cast<duckdb::ColumnRefExpression>().column_names = {*name};
      return true;
    }
    case ExpressionClass::FUNCTION:
      if (expression->Cast<duckdb::FunctionExpression>().IsLambdaFunction()) return false;
      break;
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
  bool all = true;
  duckdb::ParsedExpressionIterator::EnumerateChildren(
      *expression, [&](ParsedExpression& child) { all = all && Normalize(&child); });
  return all;
}

std::set<std::string> ColumnsOf(const ParsedExpression& expression) {
  std::set<std::string> columns;
  duckdb::ParsedExpressionIterator::VisitExpression<duckdb::ColumnRefExpression>(
      expression, [&](const duckdb::ColumnRefExpression& column) {
        columns.insert(column.column_names.back());
      });
  return columns;
}

std::vector<const ParsedExpression*> Conjuncts(const ParsedExpression& expression) {
  if (expression.GetExpressionType() != duckdb::ExpressionType::CONJUNCTION_AND) {
    return {&expression};
  }
  std::vector<const ParsedExpression*> parts;
  for (const auto& child : expression.Cast<duckdb::ConjunctionExpression>().children) {
    for (const auto* part : Conjuncts(*child)) parts.push_back(part);
  }
  return parts;
}

std::optional<std::string> TextOf(const ParsedExpression& expression) {
  if (expression.GetExpressionClass() != ExpressionClass::CONSTANT) return std::nullopt;
  const auto& value = expression.Cast<duckdb::ConstantExpression>().value;
  if (value.IsNull() || value.type().id() != LogicalTypeId::VARCHAR) return std::nullopt;
  return value.ToString();
}

const duckdb::CatalogEntry* SystemFunction(duckdb::ClientContext& context,
                                           const duckdb::FunctionExpression& call) {
  if (!call.catalog.empty() || !call.schema.empty()) return nullptr;
  const duckdb::EntryLookupInfo lookup(duckdb::CatalogType::SCALAR_FUNCTION_ENTRY,
                                       call.function_name);
  const auto found = duckdb::Catalog::GetEntry(context, INVALID_CATALOG, INVALID_SCHEMA, lookup,
                                               duckdb::OnEntryNotFound::RETURN_NULL);
  return found && found->internal ? found.get() : nullptr;
}

bool IsPlainScalar(duckdb::ClientContext& context, const duckdb::FunctionExpression& call) {
  const auto* entry = SystemFunction(context, call);
  if (!entry || entry->type != duckdb::CatalogType::SCALAR_FUNCTION_ENTRY) return false;
  if (!IsPlainCall(call)) return false;
  const auto& functions = entry->Cast<duckdb::ScalarFunctionCatalogEntry>().functions;
  return std::all_of(functions.functions.begin(), functions.functions.end(), [](const auto& one) {
    return one.GetStability() == duckdb::FunctionStability::CONSISTENT;
  });
}

std::string Respell(const std::string& sql) {
  const auto parsed = duckdb::Parser::ParseExpressionList(sql);
  if (parsed.size() != 1) Throw(InvalidArgument("{} is not one expression", Quote(sql)));
  return parsed[0]->ToString();
}

std::set<std::string> FunctionsOf(const ParsedExpression& expression) {
  std::set<std::string> names;
  if (expression.GetExpressionClass() == ExpressionClass::FUNCTION) {
    names.insert(ToLowerAscii(expression.Cast<duckdb::FunctionExpression>().function_name));
  }
  // DuckDB's own visitor does not look into the arguments of a function.
  duckdb::ParsedExpressionIterator::EnumerateChildren(
      expression, [&](const ParsedExpression& child) { names.merge(FunctionsOf(child)); });
  return names;
}

bool IsPlainCall(const duckdb::FunctionExpression& call) {
  return !call.distinct && !call.filter && !call.export_state &&
         (!call.order_bys || call.order_bys->orders.empty());
}

Result<std::optional<RollupWidth>> BucketsOf(const ParsedExpression& expression,
                                             const std::string& time, const Evaluate& evaluate) {
  if (expression.GetExpressionClass() != ExpressionClass::FUNCTION) return std::nullopt;
  const auto& call = expression.Cast<duckdb::FunctionExpression>();
  const auto is_time = [&](const ParsedExpression& argument) {
    return argument.GetExpressionClass() == ExpressionClass::COLUMN_REF &&
           argument.Cast<duckdb::ColumnRefExpression>().column_names.back() == time;
  };
  const std::string name = ToLowerAscii(call.function_name);
  if (!IsPlainCall(call) || call.children.size() < 2 || !is_time(*call.children[1])) {
    return std::nullopt;
  }
  if (name == "date_trunc" || name == "datetrunc") {
    const auto unit = TextOf(*call.children[0]);
    if (!unit || call.children.size() != 2) return std::nullopt;
    return UnitOf(*unit);
  }
  if (name != "time_bucket") return std::nullopt;
  TL_ASSIGN_OR_RAISE(auto width, WidthOf(*call.children[0], evaluate));
  if (!width) return std::nullopt;
  for (size_t i = 2; i < call.children.size(); ++i) {
    TL_ASSIGN_OR_RAISE(const bool known, AddOption(*call.children[i], evaluate, &*width));
    if (!known) return std::nullopt;
  }
  if (width->zone == "UTC") width->zone.clear();
  if (width->origin_us == kDefaultOrigin && width->micros > 0) width->origin_us.reset();
  return width;
}

bool Refines(const RollupWidth& fine, const RollupWidth& coarse) {
  if (fine == coarse) return true;
  // Clocks of zones jump; the months of an origin are another grid.
  if (!fine.zone.empty() || !coarse.zone.empty()) return false;
  if (fine.months > 0) {
    return coarse.months > 0 && !fine.origin_us && !coarse.origin_us &&
           Divides(fine.months, coarse.months);
  }
  if (coarse.months > 0) {
    return !coarse.origin_us && Divides(fine.micros, kMicrosPerDay) &&
           Divides(fine.micros, OriginOf(fine));
  }
  // Not their difference, which may overflow.
  const int64_t apart = OriginOf(coarse) % fine.micros - OriginOf(fine) % fine.micros;
  return Divides(fine.micros, coarse.micros) && apart % fine.micros == 0;
}

std::string QuoteName(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string(2, c) : std::string(1, c);
  return quoted + "\"";
}

std::string TimeText(int64_t micros, bool zoned) {
  return fmt::format("{}({})", zoned ? "make_timestamptz" : "make_timestamp", micros);
}

std::string BucketCall(const RollupWidth& width, const std::string& time, bool zoned) {
  std::string call = "time_bucket('";
  call += width.months > 0 ? fmt::format("{}mo", width.months) : fmt::format("{}us", width.micros);
  call += "', " + QuoteName(time);
  if (!width.zone.empty()) {
    std::string zone;
    for (const char c : width.zone) zone += c == '\'' ? std::string(2, c) : std::string(1, c);
    call += ", '" + zone + "'";
  }
  if (width.origin_us) call += ", " + TimeText(*width.origin_us, zoned);
  return call + ")";
}

std::string InRanges(const std::string& time, const std::vector<table::TimeRange>& ranges,
                     bool zoned) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  std::vector<std::string> parts;
  for (const auto& range : ranges) {
    std::vector<std::string> ends;
    if (range.first != kLowest) {
      ends.push_back(QuoteName(time) + " >= " + TimeText(range.first, zoned));
    }
    if (range.end != kHighest) {
      ends.push_back(QuoteName(time) + " < " + TimeText(range.end, zoned));
    }
    if (ends.empty()) return "true";
    parts.push_back("(" + Join(ends, " AND ") + ")");
  }
  if (parts.empty()) return "false";
  return "(" + Join(parts, " OR ") + ")";
}

}  // namespace timelake::sql
