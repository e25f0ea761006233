#pragma once

#include <optional>

#include "table/row_delete.h"

namespace timelake::api {

// Deletes rows that were chosen in a version of a table: table::DeleteFn. Refused for rollups.
Result<std::optional<DeleteResult>> DeleteRows(table::Handle& handle,
                                               const table::SettingMap& session,
                                               const table::RowDelete& rows);

// The same, of a rollup by its refresh.
Result<std::optional<DeleteResult>> DeleteRefreshed(table::Handle& handle,
                                                    const table::SettingMap& session,
                                                    const table::RowDelete& rows);

}  // namespace timelake::api
