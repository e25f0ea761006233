#pragma once

#include <map>
#include <optional>
#include <string>

#include <duckdb/common/case_insensitive_map.hpp>
#include <duckdb/common/unique_ptr.hpp>

#include "base/error.h"
#include "timelake/options.h"

namespace duckdb {
class ParsedExpression;
}

namespace timelake::sql {

using OptionMap = duckdb::case_insensitive_map_t<duckdb::unique_ptr<duckdb::ParsedExpression>>;

// `CREATE TABLE ... WITH (...)`: time_column, series_key, chunk, dedup, retention, ingest_time and
// the settings of tables. Unknown names and values that do not fit are kInvalidArgument, with what
// is near and what is accepted.
Result<TableOptions> ToTableOptions(const OptionMap& given);

// `ALTER TABLE ... SET (...)`: settings as the library takes them.
Result<std::map<std::string, std::optional<std::string>>> ToSettings(const OptionMap& given);

}  // namespace timelake::sql
