#pragma once

#include <memory>

#include "table/append_fn.h"
#include "table/catalog.h"
#include "table/rollup_fn.h"
#include "table/row_delete.h"

namespace timelake::detail {

// What a timelake::Lake points at.
class LakeImpl {
 public:
  std::shared_ptr<table::Catalog> catalog;
  std::string location;     // URI of the root
  table::AppendFn append;   // for SQL; empty: sessions only read
  table::DeleteFn erase;    // likewise, for DELETE
  table::RollupFn rollups;  // likewise, for statements about rollups
};

}  // namespace timelake::detail
