#include "sql/rollup/extension.h"

#include <string>
#include <utility>

#include <duckdb/function/table_function.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/extension_callback_manager.hpp>
#include <duckdb/parser/parser_extension.hpp>
#include <duckdb/parser/statement/extension_statement.hpp>

#include "base/text.h"
#include "sql/error.h"
#include "sql/insert_operator.h"
#include "sql/lake_context.h"
#include "sql/rollup/statement.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using duckdb::Value;
using table::RollupResult;
using table::RollupStatement;

struct Info : duckdb::ParserExtensionInfo {
  std::shared_ptr<LakeContext> lake;  // null: nothing is run
};

struct ParseData : duckdb::ParserExtensionParseData {
  RollupStatement statement;
  std::string text;

  duckdb::unique_ptr<duckdb::ParserExtensionParseData> Copy() const override {
    auto copy = duckdb::make_uniq<ParseData>();
    copy->statement = statement;
    copy->text = text;
    return copy;
  }
  duckdb::string ToString() const override { return text; }
};

struct FunctionInfo : duckdb::TableFunctionInfo {
  RollupStatement statement;
  std::shared_ptr<LakeContext> lake;
};

struct BindData : duckdb::TableFunctionData {
  RollupStatement statement;
  std::shared_ptr<LakeContext> lake;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    auto copy = duckdb::make_uniq<BindData>();
    copy->statement = statement;
    copy->lake = lake;
    return copy;
  }
  bool Equals(const duckdb::FunctionData& other) const override { return this == &other; }
};

struct RunState : duckdb::GlobalTableFunctionState {
  std::vector<RollupResult> results;
  bool ran = false;
  size_t next = 0;
};

duckdb::ParserExtensionParseResult Parse(duckdb::ParserExtensionInfo* info,
                                         const std::string& text) {
  const auto& lake = dynamic_cast<Info&>(*info).lake;
  auto parsed = ParseRollupStatement(text, lake ? lake->default_namespace() : "default");
  if (!parsed.ok()) return duckdb::ParserExtensionParseResult(MessageOf(parsed.status()));
  if (!*parsed) return duckdb::ParserExtensionParseResult();
  auto data = duckdb::make_uniq<ParseData>();
  data->statement = std::move(**parsed);
  data->text = text;
  return duckdb::ParserExtensionParseResult(
      duckdb::unique_ptr<duckdb::ParserExtensionParseData>(std::move(data)));
}

// --- columns by statement ---

struct OutputColumn {
  const char* name;
  LogicalType type;
  Value (*value)(const RollupResult&);
};

Value OrNull(const std::string& text) { return text.empty() ? Value(LogicalType::VARCHAR) : text; }

std::vector<OutputColumn> OutputOf(RollupStatement::Kind kind) {
  const OutputColumn name = {"rollup", LogicalType::VARCHAR,
                             [](const RollupResult& r) { return Value(r.rollup); }};
  switch (kind) {
    case RollupStatement::Kind::kCreate:
    case RollupStatement::Kind::kRefresh:
      return {name, {"rows", LogicalType::BIGINT, [](const RollupResult& r) {
                       return Value::BIGINT(r.rows);
                     }}};
    case RollupStatement::Kind::kAlter:
    case RollupStatement::Kind::kDrop: return {name};
    case RollupStatement::Kind::kShow: break;
  }
  return {name,
          {"source", LogicalType::VARCHAR, [](const RollupResult& r) { return Value(r.source); }},
          {"width", LogicalType::VARCHAR, [](const RollupResult& r) { return Value(r.width); }},
          {"keys", LogicalType::VARCHAR,
           [](const RollupResult& r) { return OrNull(Join(r.keys, ", ")); }},
          {"aggregates", LogicalType::VARCHAR,
           [](const RollupResult& r) { return OrNull(Join(r.aggregates, ", ")); }},
          {"filter", LogicalType::VARCHAR, [](const RollupResult& r) { return OrNull(r.filter); }},
          {"refresh_interval", LogicalType::VARCHAR,
           [](const RollupResult& r) { return Value(r.refresh_interval); }},
          {"retention", LogicalType::VARCHAR,
           [](const RollupResult& r) { return OrNull(r.retention); }},
          {"stale", LogicalType::BOOLEAN,
           [](const RollupResult& r) { return Value::BOOLEAN(r.stale); }}};
}

const char* NameOf(RollupStatement::Kind kind) {
  switch (kind) {
    case RollupStatement::Kind::kCreate: return "CREATE MATERIALIZED ROLLUP";
    case RollupStatement::Kind::kRefresh: return "REFRESH MATERIALIZED ROLLUP";
    case RollupStatement::Kind::kAlter: return "ALTER MATERIALIZED ROLLUP";
    case RollupStatement::Kind::kDrop: return "DROP MATERIALIZED ROLLUP";
    case RollupStatement::Kind::kShow: return "SHOW ROLLUPS";
  }
  return "";
}

duckdb::unique_ptr<duckdb::FunctionData> Bind(duckdb::ClientContext&,
                                              duckdb::TableFunctionBindInput& input,
                                              duckdb::vector<LogicalType>& types,
                                              duckdb::vector<duckdb::string>& names) {
  const auto& info = input.info->Cast<FunctionInfo>();
  auto data = duckdb::make_uniq<BindData>();
  data->statement = info.statement;
  data->lake = info.lake;
  for (const auto& column : OutputOf(data->statement.kind)) {
    names.emplace_back(column.name);
    types.push_back(column.type);
  }
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext&,
                                                          duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<RunState>();
}

void Run(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
         duckdb::DataChunk& output) {
  const auto& data = input.bind_data->Cast<BindData>();
  auto& state = input.global_state->Cast<RunState>();
  if (!std::exchange(state.ran, true)) {
    RollupStatement statement = data.statement;
    statement.cancelled = [&context] { return context.IsInterrupted(); };
    state.results = ValueOrThrow(data.lake->rollups()(statement));
  }
  const auto columns = OutputOf(data.statement.kind);
  duckdb::idx_t row = 0;
  for (; row < STANDARD_VECTOR_SIZE && state.next < state.results.size(); ++row, ++state.next) {
    for (size_t i = 0; i < columns.size(); ++i) {
      output.SetValue(i, row, columns[i].value(state.results[state.next]));
    }
  }
  output.SetCardinality(row);
}

duckdb::ParserExtensionPlanResult Plan(
    duckdb::ParserExtensionInfo* info, duckdb::ClientContext& context,
    duckdb::unique_ptr<duckdb::ParserExtensionParseData> parse_data) {
  const auto& lake = dynamic_cast<Info&>(*info).lake;
  auto& data = dynamic_cast<ParseData&>(*parse_data);
  if (!lake || !lake->rollups()) {
    Throw(Unsupported("{}: this session only reads: it was opened without writing",
                      NameOf(data.statement.kind)));
  }
  if (data.statement.kind != RollupStatement::Kind::kShow) {
    RefuseInTransaction(context, NameOf(data.statement.kind));
  }
  duckdb::ParserExtensionPlanResult result;
  result.function = duckdb::TableFunction("timelake_rollup", {}, Run, Bind, Init);
  auto function_info = duckdb::make_shared_ptr<FunctionInfo>();
  function_info->statement = data.statement;
  function_info->lake = lake;
  result.function.function_info = std::move(function_info);
  result.requires_valid_transaction = true;
  result.return_type = duckdb::StatementReturnType::QUERY_RESULT;
  return result;
}

duckdb::ParserExtension Make(std::shared_ptr<LakeContext> lake) {
  duckdb::ParserExtension extension;
  extension.parse_function = Parse;
  extension.plan_function = Plan;
  auto info = duckdb::make_shared_ptr<Info>();
  info->lake = std::move(lake);
  extension.parser_info = std::move(info);
  return extension;
}

}  // namespace

void RegisterRollupStatements(duckdb::DBConfig& config, const std::shared_ptr<LakeContext>& lake) {
  duckdb::ParserExtension::Register(config, Make(lake));
}

duckdb::unique_ptr<duckdb::SQLStatement> ParseShowRollups(
    const std::string& text, const std::shared_ptr<LakeContext>& lake) {
  auto parsed = ParseRollupStatement(text, lake->default_namespace());
  if (!parsed.ok() || !*parsed || (*parsed)->kind != RollupStatement::Kind::kShow) return nullptr;
  auto data = duckdb::make_uniq<ParseData>();
  data->statement = std::move(**parsed);
  data->text = text;
  auto statement = duckdb::make_uniq<duckdb::ExtensionStatement>(Make(lake), std::move(data));
  statement->query = text;
  statement->stmt_length = text.size();
  return statement;
}

void RegisterRollupSyntax(duckdb::ExtensionCallbackManager& manager) {
  manager.Register(Make(nullptr));
}

}  // namespace timelake::sql
