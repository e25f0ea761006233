#include "store/gcs_store.h"

#include "store/bearer_auth.h"
#include "store/gcs_api.h"
#include "store/gcs_credentials.h"

namespace timelake::store {

std::shared_ptr<ObjectStore> MakeGcsStore(GcsOptions options, std::shared_ptr<Clock> clock,
                                          std::shared_ptr<Random> random) {
  auto authorizer = std::make_shared<BearerAuthorizer>(
      [options, clock] { return FindGcsToken(options, *clock); }, clock);
  auto client = std::make_shared<RemoteClient>(options, std::move(authorizer), std::move(clock),
                                               std::move(random));
  return MakeRemoteStore(std::make_shared<GcsApi>(std::move(options)), std::move(client));
}

}  // namespace timelake::store
