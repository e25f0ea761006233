#pragma once

#include <string_view>

#include "store/object_store.h"

// What ObjectStore::scheme() and Location::scheme tell. Azure's and a web server's are as the user
// spelled them: "az", "abfss", or "abfss@account.dfs.core.windows.net" where the URIs are written
// abfss://container@account.dfs.core.windows.net/name, while the key is "container/name".

namespace timelake::store {

// "file", "memory", "s3", "gs", "az" or "http".
std::string_view KindOfScheme(std::string_view scheme);

// "abfss@host" -> "host"; else "".
std::string_view HostOfScheme(std::string_view scheme);

// kUnsupported, naming `key`, for a store that can only be read: a web server.
Status CheckWritable(const ObjectStore& store, std::string_view key);

}  // namespace timelake::store
