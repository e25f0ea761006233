#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/schema.h"
#include "table/rollup_definition.h"
#include "table/rollup_position.h"

namespace duckdb {
class CatalogEntry;
class ClientContext;
class FunctionExpression;
class ParsedExpression;
}  // namespace duckdb

namespace timelake::sql {

// The value of an SQL expression without columns, as text; nullopt: NULL.
using Evaluate = std::function<Result<std::optional<std::string>>(const std::string& sql)>;

// Parsed expressions over one table, by its columns' names.
class SourceColumns {
 public:
  // `qualifiers`: names that may stand before a column's, e.g. the table's alias.
  SourceColumns(const iceberg::Schema& schema, std::vector<std::string> qualifiers);

  // The exact name of the column that the expression is; null: it is none.
  const std::string* ColumnOf(const duckdb::ParsedExpression& expression) const;

  // Spells all columns exactly and without qualifier. False: one is not the table's, or something
  // else that looks beyond the row (a query, a window, a parameter, a star) is in there.
  bool Normalize(duckdb::ParsedExpression* expression) const;

 private:
  std::vector<std::string> names_;
  std::set<std::string> qualifiers_;  // in lower case
};

// The columns that a normalized expression uses.
std::set<std::string> ColumnsOf(const duckdb::ParsedExpression& expression);

// The operands of AND, at any depth.
std::vector<const duckdb::ParsedExpression*> Conjuncts(const duckdb::ParsedExpression& expression);

// The text of a constant text; nullopt: it is something else.
std::optional<std::string> TextOf(const duckdb::ParsedExpression& expression);

// The function of the system that a call means; null: a macro or a user's own, or none. `context`
// within a transaction.
const duckdb::CatalogEntry* SystemFunction(duckdb::ClientContext& context,
                                           const duckdb::FunctionExpression& call);

// Whether a call is of a function of the system that is always the same of the same values.
bool IsPlainScalar(duckdb::ClientContext& context, const duckdb::FunctionExpression& call);

// SQL of an expression in the parser's own spelling, so that equal texts mean equal expressions.
// Throws on a syntax error.
std::string Respell(const std::string& sql);

// Names of all functions that are called, in lower case.
std::set<std::string> FunctionsOf(const duckdb::ParsedExpression& expression);

// Whether a call is nothing but a name and arguments: no DISTINCT, FILTER, ORDER BY in it.
bool IsPlainCall(const duckdb::FunctionExpression& call);

// The buckets of a normalized call of time_bucket or date_trunc on column `time`; nullopt: it is
// none, or one with arguments that are not constant. kInvalidArgument: no such width or unit.
Result<std::optional<table::RollupWidth>> BucketsOf(const duckdb::ParsedExpression& expression,
                                                    const std::string& time,
                                                    const Evaluate& evaluate);

// Whether each of the buckets `fine` lies in one of the buckets `coarse`.
bool Refines(const table::RollupWidth& fine, const table::RollupWidth& coarse);

// time_bucket(...) with these buckets.
std::string BucketCall(const table::RollupWidth& width, const std::string& time, bool zoned);

// In double quotes, and a time as a constant (`zoned`: TIMESTAMP WITH TIME ZONE).
std::string QuoteName(const std::string& name);
std::string TimeText(int64_t micros, bool zoned);
// "time" in one of the ranges; open at the ends of int64.
std::string InRanges(const std::string& time, const std::vector<table::TimeRange>& ranges,
                     bool zoned);

}  // namespace timelake::sql
