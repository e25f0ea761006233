#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "status.h"
#include "timelake/session.h"

// A script of SQL statements and the values of its parameters, as far as text alone tells.

namespace timelake::cli {

// The statements of `text`; DuckDB's parser is asked only when there may be more than one.
Result<std::vector<std::string>> SplitScript(std::string_view text);

// Whether the statement is there for its result (SELECT, SHOW, ...) and not for its effect (SET,
// CREATE, ...).
bool IsQuery(std::string_view statement);

// "name=value" (an integer, a number, true, false, else text) or "name:=<JSON>" (null, "text",
// ...). Names 1, 2, ... are the positional parameters. A usage error names what is wrong.
Result<Params> ParseParams(const std::vector<std::string>& texts);

// Those that the statement mentions: DuckDB refuses others.
Params ParamsFor(std::string_view statement, const Params& params);

// A usage error for a named parameter that no statement mentions.
Status CheckParamsUsed(const std::vector<std::string>& statements, const Params& params);

}  // namespace timelake::cli
