#pragma once

#include "store/remote_store.h"

namespace timelake::store {

// Before conditional puts are relied on: does the store honour them? Asked once an endpoint, bucket
// and process, with an object beside `object` that is created twice and deleted again; not asked
// where the api names no endpoint to probe. kUnsupported: it does not.
Status EnsureConditions(const RemoteApi& api, RemoteClient* client, const ObjectName& object);

}  // namespace timelake::store
