#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "table/commit.h"
#include "table/manifests.h"
#include "table/snapshot_attempt.h"

namespace timelake::table {

// Commits that write manifests anew and change no file of the table.

struct ManifestRewrite {
  // Manifests that are written anew together: of one partition spec, with data files.
  struct Group {
    std::vector<size_t> rows;  // places in the list
    size_t field = 0;          // of the partition spec: files are ordered by it, then by the others
  };
  std::vector<Group> groups;
  IndexFn index;  // may be empty: no index
};

// What is to be rewritten of `base`'s manifests; called again after every lost race.
using ManifestPlanFn =
    std::function<Result<ManifestRewrite>(const Version& base, const ManifestRows& rows)>;

struct ManifestReport {
  int64_t rewritten = 0;  // manifests that went, or would
  int64_t bytes = 0;      // of them
  int64_t written = 0;
};

// One "replace" snapshot; none if there is nothing to be done. New manifests are of a fifth more
// than `commit.manifest.target-size-bytes`, so that appends, which merge smaller ones, leave them.
Result<CommitResult> CommitManifests(Handle& handle, const ManifestPlanFn& plan,
                                     const CommitOptions& options, ManifestReport* report);

}  // namespace timelake::table
