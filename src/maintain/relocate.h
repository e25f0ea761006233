#pragma once

#include <cstdint>
#include <string>

#include "table/commit.h"
#include "table/handle.h"

namespace timelake::maintain {

struct RelocateReport {
  std::string from;        // the location that was recorded
  std::string to;          // where the table lies
  bool relocated = false;  // false: it lay where it says
  int64_t version = 0;
  int64_t snapshots = 0;
  int64_t manifests = 0;     // written anew
  int64_t files = 0;         // data and delete files that they name
  int64_t delete_files = 0;  // position deletes, which name data files: written anew
};

// Makes a table whose folder was moved or copied one of the folder of `handle` (which writes
// there): a new version that names everything below it, for all snapshots that are kept. Data files
// are not read. What the old names led to in this folder is left for orphan clean-up. The place
// that the table was copied from is not touched, now or by later maintenance. Errors: kNotFound, an
// object that the metadata names did not come along; and as Commit.
Result<RelocateReport> RunRelocate(table::Handle& handle, const table::CommitOptions& options);

}  // namespace timelake::maintain
