#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "table/rollup_fn.h"

namespace timelake::sql {

// Statements about rollups (docs/rollups.md). `default_namespace` is that of bare names. nullopt:
// the text is another statement; kInvalidArgument: one of ours, but with a mistake, which is named.
Result<std::optional<table::RollupStatement>> ParseRollupStatement(
    std::string_view text, const std::string& default_namespace);

}  // namespace timelake::sql
