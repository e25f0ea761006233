#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "store/object_store.h"

namespace timelake::store {

// Counts the requests to `base` and the bytes they move: ("store.get", 1), ("store.head", 1),
// ("store.put", 1), ("store.put_if_absent", 1), ("store.put_if_match", 1), ("store.list", 1),
// ("store.list_folders", 1),
// ("store.delete", 1), ("store.sync", keys), ("store.open_read", 1), ("store.open_write", 1),
// ("store.bytes_read", n), ("store.bytes_written", n). Ranged reads of an opened object count as
// ("store.read_at", 1). The callback may be called from any thread.
std::shared_ptr<ObjectStore> MakeMeteredStore(
    std::shared_ptr<ObjectStore> base, std::function<void(const char* name, int64_t value)> metric);

}  // namespace timelake::store
