#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/azure_options.h"
#include "store/object_store.h"

namespace timelake::store {

// Containers of Azure Blob Storage, also as Data Lake Storage Gen2; keys are "container/name".
// docs/object-stores.md has the options. `uri_scheme`: the location's scheme.
std::shared_ptr<ObjectStore> MakeAzureStore(AzureOptions options, std::string uri_scheme,
                                            std::shared_ptr<Clock> clock,
                                            std::shared_ptr<Random> random);

}  // namespace timelake::store
