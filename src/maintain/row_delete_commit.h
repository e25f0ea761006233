#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maintain/compaction_commit.h"
#include "maintain/live_files.h"
#include "table/commit.h"
#include "table/handle.h"
#include "table/rewrite.h"
#include "write/write.h"

namespace timelake::maintain {

// The files of a delete that are written and wait to be committed.
struct RowDeleteDraft {
  std::unique_ptr<const LiveFiles> live;  // of the version that the rows were chosen in
  // Files that stay and decide which rows of those that go count, as places in `live`.
  std::vector<size_t> watched;
  std::vector<PendingGroup> groups;  // each a file that goes, with what is left of it
  int64_t started_boot_us = 0;
  std::map<std::string, std::string> summary;  // extra keys of the snapshot
  table::RewriteChecks checks;
};

// Commits it as one snapshot. nullopt: nothing was committed, as a file that goes or is watched,
// the columns or the contract are not what they were. Deletes no file, whatever happens.
Result<std::optional<table::CommitResult>> CommitRowDelete(table::Handle& handle,
                                                           const write::Target& target,
                                                           const RowDeleteDraft& draft,
                                                           const table::CommitOptions& options);

}  // namespace timelake::maintain
