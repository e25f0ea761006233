#pragma once

#include <vector>

#include "table/catalog.h"
#include "table/rollup_fn.h"

namespace timelake::api {

// Runs a statement about rollups: what table::RollupFn is made of.
Result<std::vector<table::RollupResult>> RunRollupStatement(
    table::Catalog& catalog, const table::RollupStatement& statement);

}  // namespace timelake::api
