#pragma once

#include <memory>
#include <string>

#include <duckdb/common/unique_ptr.hpp>

namespace duckdb {
class ExtensionCallbackManager;
class SQLStatement;
struct DBConfig;
}  // namespace duckdb

namespace timelake::sql {

class LakeContext;

// Teaches a database the statements about rollups (docs/rollups.md).
void RegisterRollupStatements(duckdb::DBConfig& config, const std::shared_ptr<LakeContext>& lake);

// SHOW ROLLUPS, which DuckDB's own parser takes for a look at a table of that name. Null: the text
// is something else.
duckdb::unique_ptr<duckdb::SQLStatement> ParseShowRollups(const std::string& text,
                                                          const std::shared_ptr<LakeContext>& lake);

// The same for a parser without a database: to split scripts.
void RegisterRollupSyntax(duckdb::ExtensionCallbackManager& manager);

}  // namespace timelake::sql
