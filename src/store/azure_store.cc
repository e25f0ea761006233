#include "store/azure_store.h"

#include "store/azure_api.h"
#include "store/azure_auth.h"

namespace timelake::store {

std::shared_ptr<ObjectStore> MakeAzureStore(AzureOptions options, std::string uri_scheme,
                                            std::shared_ptr<Clock> clock,
                                            std::shared_ptr<Random> random) {
  auto authorizer = std::make_shared<AzureAuthorizer>(options, clock);
  auto client = std::make_shared<RemoteClient>(options, std::move(authorizer), std::move(clock),
                                               std::move(random));
  return MakeRemoteStore(std::make_shared<AzureApi>(std::move(options), std::move(uri_scheme)),
                         std::move(client));
}

}  // namespace timelake::store
