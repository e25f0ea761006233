#include "sql/database.h"

#include <utility>

#include <fmt/format.h>
#include <duckdb/main/config.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/main/materialized_query_result.hpp>

#include "sql/catalog.h"
#include "sql/error.h"
#include "sql/functions.h"
#include "sql/names.h"
#include "sql/object_files.h"
#include "sql/rewrite/asof_bounds.h"
#include "sql/rewrite/latest_function.h"
#include "sql/rewrite/latest_rows.h"
#include "sql/rewrite/metadata_aggregates.h"
#include "sql/rewrite/run_aggregates.h"
#include "sql/rewrite/whole_groups.h"
#include "sql/rollup/extension.h"
#include "sql/scan_statistics.h"
#include "sql/session_options.h"
#include "sql/statement_timeout.h"

namespace timelake::sql {

namespace {

void SetOption(duckdb::DBConfig& config, const char* name, duckdb::Value value) {
  try {
    config.SetOptionByName(name, value);
  } catch (...) {
    const Status status = FromCurrentException();
    Throw(InvalidArgument("session option {} = {}: {}", name, value.ToString(), MessageOf(status)));
  }
}

void Execute(duckdb::Connection& connection, const std::string& text) {
  const auto result = connection.Query(text);
  if (result->HasError()) result->ThrowError();
}

std::string QuoteName(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::shared_ptr<Database> Database::Open(const SessionOptions& options,
                                         const std::shared_ptr<LakeContext>& lake, bool files) {
  duckdb::DBConfig config;
  // The library never fetches code: what is not built in is an error.
  SetOption(config, "autoinstall_known_extensions", duckdb::Value::BOOLEAN(false));
  SetOption(config, "autoload_known_extensions", duckdb::Value::BOOLEAN(false));
  if (options.threads < 0) {
    Throw(InvalidArgument(
        "session option threads = {}: must be 0 (as many as the machine has) or more",
        options.threads));
  }
  if (options.threads > 0) SetOption(config, "threads", duckdb::Value::BIGINT(options.threads));
  if (!options.memory_limit.empty()) {
    SetOption(config, "memory_limit", duckdb::Value(options.memory_limit));
  }
  SetOption(config, "temp_directory", duckdb::Value(options.temp_directory));
  if (lake) {
    RegisterCatalog(config, lake);
    RegisterRollupStatements(config, lake);
  }

  auto database = std::make_shared<Database>();
  database->instance = std::make_unique<duckdb::DuckDB>(nullptr, &config);
  RegisterObjectFiles(*database->instance->instance,
                      lake && files ? store::DirectStore(lake->catalog().env().store) : nullptr);
  RegisterFunctions(*database->instance->instance);
  RegisterLatestRows(*database->instance->instance);
  RegisterJoinStatistics(*database->instance->instance);
  RegisterAsofBounds(*database->instance->instance);
  // Metadata first: what is left of an aggregate is computed while reading, in whole groups if it
  // can be.
  RegisterMetadataAggregates(*database->instance->instance);
  RegisterRunAggregates(*database->instance->instance);
  RegisterWholeGroups(*database->instance->instance);
  RegisterSessionOptions(*database->instance->instance);
  RegisterStatementTimeout(*database->instance->instance);
  duckdb::ExtensionLoader loader(*database->instance->instance, "timelake");
  RegisterLatestFunction(loader);
  database->connection = std::make_unique<duckdb::Connection>(*database->instance);
  ObeyStatementTimeout(*database->connection->context);
  Execute(*database->connection, "SET GLOBAL TimeZone = 'UTC'");
  if (lake) {
    // The lake is not the main database: then bare names would not find its tables.
    Execute(*database->connection, fmt::format("ATTACH '' AS {} (TYPE timelake)", kLakeCatalog));
    Execute(*database->connection,
            fmt::format("USE {}.{}", kLakeCatalog, QuoteName(lake->default_namespace())));
  }
  return database;
}

}  // namespace timelake::sql
