#pragma once

#include <memory>

#include "store/object_store.h"
#include "store/posix.h"

namespace timelake::store {

struct LocalStoreOptions {
  LocalAbilities abilities;
  int64_t lock_wait_us = 1'000'000;  // how long PutIfMatch tries to lock the folder
};

// Files of a local or network file system; a key is an absolute path. Every object gets its name
// when it is whole, in one step, and its change time in that step. Thread-safe.
std::shared_ptr<ObjectStore> MakeLocalStore(const LocalStoreOptions& options = {});

}  // namespace timelake::store
