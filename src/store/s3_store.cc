#include "store/s3_store.h"

#include "store/s3_api.h"
#include "store/s3_auth.h"

namespace timelake::store {

std::shared_ptr<ObjectStore> MakeS3Store(S3Options options, EnvLookup env,
                                         std::shared_ptr<Clock> clock,
                                         std::shared_ptr<Random> random) {
  auto authorizer = std::make_shared<S3Authorizer>(options, std::move(env), clock);
  auto client = std::make_shared<RemoteClient>(options, std::move(authorizer), std::move(clock),
                                               std::move(random));
  return MakeRemoteStore(std::make_shared<S3Api>(std::move(options)), std::move(client));
}

}  // namespace timelake::store
