#pragma once

#include <memory>
#include <string>

#include "table/catalog.h"

namespace timelake::detail {

// What a timelake::Table points at.
class TableImpl {
 public:
  std::shared_ptr<table::Catalog> catalog;
  std::shared_ptr<table::Handle> handle;
  std::string location;  // URI of the table folder
};

}  // namespace timelake::detail
