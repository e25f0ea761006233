#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "table/commit.h"
#include "table/manifests.h"

namespace timelake::table {

// What commits that add a snapshot have in common.

// The last-value index of a snapshot about to be committed.
struct IndexObject {
  std::map<std::string, std::string> summary;  // keys that name it
  std::optional<store::PutRequest> put;        // absent: the parent's index is carried on unchanged
  std::function<void()> on_success;            // remember the decoded index; may be empty
};

// Builds the index of `base`'s head with what this call changes; nullopt: there is none. Injected,
// because the index lives in a layer above.
using IndexFn =
    std::function<Result<std::optional<IndexObject>>(const Version& base, int64_t snapshot_id)>;

// Data files this old may meet an orphan clean-up that takes them for garbage: half of the 24 h
// that it waits at least. kConflict; `started_boot_us` is before the first of them was written.
Status CheckDataAge(const Handle& handle, int64_t started_boot_us);

// An attempt on top of `base` and its snapshot, which lacks summary and manifest list.
struct SnapshotAttempt {
  Attempt attempt;
  iceberg::Snapshot snapshot;
};
SnapshotAttempt BeginSnapshot(const Handle& handle, const Version& base);

// Adds the snapshot with a manifest list of `rows` and the index, if `index` is not empty and gives
// one.
Result<Attempt> FinishSnapshot(const Handle& handle, const Version& base, SnapshotAttempt begun,
                               ManifestRows rows, const IndexFn& index);

}  // namespace timelake::table
