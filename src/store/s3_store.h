#pragma once

#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "store/object_store.h"
#include "store/s3_options.h"

namespace timelake::store {

// Buckets of S3 and of stores that speak its protocol; keys are "bucket/name". The first request
// is made by the first call. docs/object-stores.md has the options.
//
//   - `mtime_us` has whole seconds. That of a put is the reply's Date (the protocol does not tell
//     more), at most the time of the request before the Last-Modified that a later Head shows.
//   - `identity` is the ETag: two objects of the same bytes have the same one. Metadata files hold
//   a
//     random id, and the hint only counts upwards.
//   - A conditional put goes out once. Repeating it, and reading it back when its reply was lost,
//   is
//     the commit's business, which must know of every sending.
std::shared_ptr<ObjectStore> MakeS3Store(S3Options options, EnvLookup env,
                                         std::shared_ptr<Clock> clock,
                                         std::shared_ptr<Random> random);

}  // namespace timelake::store
