#include "sql/table_options.h"

#include <algorithm>
#include <vector>

#include <duckdb/parser/expression/cast_expression.hpp>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/expression/constant_expression.hpp>

#include "base/text.h"
#include "table/contract.h"
#include "table/settings.h"

namespace timelake::sql {

namespace {

// Options of CREATE alone, as people write them and by the names of the settings.
constexpr std::string_view kOptions[] = {
    "time-column",           "series-key", "chunk",     "partition-by",
    "expected-rows-per-day", "dedup",      "retention", "ingest-time"};

// As settings are looked up: "timelake." may be left out, and '_' is '-'.
std::string Canonical(const std::string& name) {
  std::string result = ToLowerAscii(name);
  if (result.starts_with("timelake.")) result = result.substr(9);
  if (result.find('.') == std::string::npos) std::replace(result.begin(), result.end(), '_', '-');
  if (result == "chunk-interval") return "chunk";
  return result;
}

// Text, a number, true or false; a bare word counts as its text.
Result<std::string> ValueText(const std::string& name, const duckdb::ParsedExpression& expression) {
  const duckdb::ParsedExpression* value = &expression;
  // true and false are casts of a text.
  if (value->GetExpressionClass() == duckdb::ExpressionClass::CAST) {
    value = value->Cast<duckdb::CastExpression>().child.get();
  }
  if (value->GetExpressionClass() == duckdb::ExpressionClass::CONSTANT) {
    const auto& constant = value->Cast<duckdb::ConstantExpression>().value;
    if (constant.IsNull()) {
      return InvalidArgument("option {} has no value: write {} = ...", Quote(name), name);
    }
    std::string text = constant.ToString();
    if (expression.GetExpressionClass() == duckdb::ExpressionClass::CAST) {
      if (text == "t") return std::string("true");
      if (text == "f") return std::string("false");
    }
    return text;
  }
  if (value->GetExpressionClass() == duckdb::ExpressionClass::COLUMN_REF) {
    const auto& column = value->Cast<duckdb::ColumnRefExpression>();
    if (!column.IsQualified()) return std::string(column.GetColumnName());
  }
  return InvalidArgument("option {} = {}: a text, a number, true or false is expected", Quote(name),
                         expression.ToString());
}

Result<bool> ToBool(const std::string& name, const std::string& text) {
  const std::string lower = ToLowerAscii(text);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return InvalidArgument("option {} = {}: true or false is expected", name, Quote(text));
}

Status CheckKnown(const std::string& name, const std::string& value) {
  const auto checked = table::CheckSetting(name, value, table::kAtTable);
  if (checked.ok() || table::FindSetting(name)) return checked.status();
  std::vector<std::string> names(std::begin(kOptions), std::end(kOptions));
  for (const auto& setting : table::Registry()) names.emplace_back(setting.name);
  std::string canonical = Canonical(name);
  const auto near = NearestName(canonical, names);
  std::string hint = near ? *near : "";
  std::replace(hint.begin(), hint.end(), '-', '_');
  return InvalidArgument(
      "unknown option {}{}; there are time_column, series_key, chunk, partition_by, "
      "expected_rows_per_day, dedup, retention, ingest_time and the settings of tables "
      "(docs/settings.md)",
      Quote(name), near ? ": did you mean " + hint + "?" : "");
}

// "bucket(16, host), identity(site)": at the commas outside of parentheses.
std::vector<std::string> SplitPartitions(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else if (c != ' ' || !parts.back().empty()) {
      parts.back() += c;
    }
  }
  return parts;
}

Status Apply(const std::string& name, const std::string& value, TableOptions* options,
             int64_t* expected_rows) {
  const std::string canonical = Canonical(name);
  if (canonical == "time-column") {
    options->time_column = value;
  } else if (canonical == "series-key") {
    TL_ASSIGN_OR_RAISE(options->series_key, SplitNames(value));
  } else if (canonical == "chunk") {
    const auto chunk = table::ParseChunk(ToLowerAscii(value));
    if (!chunk.ok()) {
      return InvalidArgument("option {} = {}: hour, day, month or year is expected", name,
                             Quote(value));
    }
    options->chunk = *chunk;
  } else if (canonical == "partition-by") {
    options->partition_by = SplitPartitions(value);
  } else if (canonical == "expected-rows-per-day") {
    const auto rows = ParseInt64(value);
    if (!rows.ok() || *rows < 1) {
      return InvalidArgument("option {} = {}: a number of rows from 1 is expected", name,
                             Quote(value));
    }
    *expected_rows = *rows;
  } else if (canonical == "dedup") {
    TL_ASSIGN_OR_RAISE(options->dedup, ToBool(name, value));
  } else if (canonical == "retention") {
    options->retention = value;
  } else if (canonical == "ingest-time") {
    TL_ASSIGN_OR_RAISE(options->ingest_time, ToBool(name, value));
  } else {
    TL_RETURN_NOT_OK(CheckKnown(name, value));
    options->properties[name] = value;
  }
  return Status::OK();
}

}  // namespace

Result<TableOptions> ToTableOptions(const OptionMap& given) {
  TableOptions options;
  std::map<std::string, std::string> seen;
  int64_t expected_rows = 0;
  for (const auto& [name, expression] : given) {
    TL_ASSIGN_OR_RAISE(const std::string value, ValueText(name, *expression));
    const auto [other, fresh] = seen.emplace(Canonical(name), name);
    if (!fresh) {
      return InvalidArgument("option {} is given twice, as {} and {}", other->first, other->second,
                             name);
    }
    TL_RETURN_NOT_OK(Apply(name, value, &options, &expected_rows));
  }
  if (expected_rows == 0) return options;
  if (const auto chunk = seen.find("chunk"); chunk != seen.end()) {
    return InvalidArgument(
        "options {} and expected_rows_per_day exclude each other: the one is chosen "
        "by the other",
        chunk->second);
  }
  return WithExpectedRows(std::move(options), expected_rows);
}

Result<std::map<std::string, std::optional<std::string>>> ToSettings(const OptionMap& given) {
  std::map<std::string, std::optional<std::string>> settings;
  for (const auto& [name, expression] : given) {
    TL_ASSIGN_OR_RAISE(settings[name], ValueText(name, *expression));
  }
  return settings;
}

}  // namespace timelake::sql
