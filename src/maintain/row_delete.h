#pragma once

#include <optional>

#include "table/commit.h"
#include "table/row_delete.h"
#include "write/write.h"

namespace timelake::maintain {

// Deletes rows by rewriting their files without them (docs/maintenance.md, "Deletes"), in one
// commit: operation "delete" if only whole files go, else "overwrite". Each new file takes the
// place of the old one in the order of writes, with its sequence number. Appends that were
// committed since `rows.base` stay as they are. nullopt: nothing was committed, as a file that was
// chosen, or one that decides which of its rows count, is not what it was, or the columns are not.
// kUnsupported, naming the file: one cannot be rewritten. `target` is of `rows.base`.
Result<std::optional<DeleteResult>> RunRowDelete(table::Handle& handle, const write::Target& target,
                                                 const table::RowDelete& rows,
                                                 const table::CommitOptions& options);

}  // namespace timelake::maintain
