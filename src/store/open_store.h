#pragma once

#include <map>
#include <memory>
#include <string>

#include "store/object_store.h"
#include "store/remote_options.h"

namespace timelake::store {

// The store that `location` lies in, with the user's storage options and the process's environment.
// No request is made. kInvalidArgument for options that this kind of store does not take.
Result<std::shared_ptr<ObjectStore>> OpenStore(const Location& location,
                                               const std::map<std::string, std::string>& options,
                                               CredentialsCallback callback = nullptr);

}  // namespace timelake::store
