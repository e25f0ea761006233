#pragma once

#include "base/error.h"
#include "sql/table_version.h"

namespace timelake::sql {

// An error of a scan, with why a file may be gone: a query reads the snapshot that it began with,
// which maintenance may have expired and whose files it may have deleted since.
Status ExplainMissing(const TableVersion& table, const Status& status);

template <typename T>
Result<T> ExplainMissing(const TableVersion& table, Result<T> result) {
  if (result.ok()) return result;
  return ExplainMissing(table, result.status());
}

}  // namespace timelake::sql
