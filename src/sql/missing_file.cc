#include "sql/missing_file.h"

namespace timelake::sql {

Status ExplainMissing(const TableVersion& table, const Status& status) {
  if (status.ok() || KindOf(status) != ErrorKind::kNotFound || !table.snapshot) return status;
  return NotFound(
      "table {}: {}; snapshot {} of version {} may have expired while the query ran, and its files "
      "been deleted: run the query again",
      table.name, MessageOf(status), table.snapshot->snapshot_id, table.number);
}

}  // namespace timelake::sql
