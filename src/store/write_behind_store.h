#pragma once

#include <memory>

#include "store/object_store.h"

namespace timelake::store {

// `base`, with writes of new immutable objects (Parquet, Avro) going on while the caller writes the
// next ones: Put, PutAll and Close of a stream return at once, and Sync, which a commit calls
// before it names what it wrote, waits for the keys given and tells what failed. So an append takes
// one round trip for all its files instead of one for each kind. Reads and deletes of a key that is
// on its way wait for it. At most 64 MiB are on their way. Replies of writes that are not awaited
// hold only key and size.
std::shared_ptr<ObjectStore> MakeWriteBehindStore(std::shared_ptr<ObjectStore> base);

}  // namespace timelake::store
