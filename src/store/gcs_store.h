#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/gcs_options.h"
#include "store/object_store.h"

namespace timelake::store {

// Buckets of Google Cloud Storage; keys are "bucket/name". docs/object-stores.md has the options.
std::shared_ptr<ObjectStore> MakeGcsStore(GcsOptions options, std::shared_ptr<Clock> clock,
                                          std::shared_ptr<Random> random);

}  // namespace timelake::store
