#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "output_stream.h"

namespace timelake::cli {

void AddDuckdb(CLI::App* app, Context* context) {
  auto table = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand(
      "duckdb", "Print SQL that reads a table with plain DuckDB and its iceberg extension");
  AddTableName(command, table.get());
  SetExamples(command,
              "  timelake duckdb cpu\n"
              "  timelake duckdb cpu | duckdb\n");
  command->callback([context, table] {
    context->action = [context, table]() -> Status {
      ARROW_ASSIGN_OR_RAISE(const Table opened, context->OpenTable(*table));
      std::string sql = opened.DuckDbSql();
      if (!sql.ends_with('\n')) sql.push_back('\n');
      return PrintOut(sql);
    };
  });
}

}  // namespace timelake::cli
