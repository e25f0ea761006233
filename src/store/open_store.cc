#include "store/open_store.h"

#include "base/text.h"
#include "store/azure_store.h"
#include "store/gcs_store.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/s3_store.h"
#include "store/scheme.h"
#include "store/web_store.h"

namespace timelake::store {

Result<std::shared_ptr<ObjectStore>> OpenStore(const Location& location,
                                               const std::map<std::string, std::string>& options,
                                               CredentialsCallback callback) {
  const std::string_view kind = KindOfScheme(location.scheme);
  if (kind == "s3") {
    TL_ASSIGN_OR_RAISE(S3Options parsed, ParseS3Options(options, ProcessEnv()));
    parsed.callback = std::move(callback);
    return MakeS3Store(std::move(parsed), ProcessEnv(), SystemClock(), SystemRandom());
  }
  if (kind == "gs") {
    TL_ASSIGN_OR_RAISE(GcsOptions parsed, ParseGcsOptions(options, ProcessEnv()));
    parsed.callback = std::move(callback);
    return MakeGcsStore(std::move(parsed), SystemClock(), SystemRandom());
  }
  if (kind == "az") {
    TL_ASSIGN_OR_RAISE(AzureOptions parsed,
                       ParseAzureOptions(options, ProcessEnv(), HostOfScheme(location.scheme)));
    parsed.callback = std::move(callback);
    return MakeAzureStore(std::move(parsed), location.scheme, SystemClock(), SystemRandom());
  }
  if (callback) {
    return InvalidArgument("a {}:// warehouse takes no credentials callback", kind);
  }
  if (kind == "http") {
    TL_ASSIGN_OR_RAISE(RemoteOptions parsed, ParseWebOptions(options, ProcessEnv()));
    return MakeWebStore(std::move(parsed), location.scheme, location.root, SystemClock(),
                        SystemRandom());
  }
  if (!options.empty()) {
    return InvalidArgument("unknown storage option {}: a {}:// warehouse takes none",
                           Quote(options.begin()->first), kind);
  }
  if (kind == "memory") {
    return SharedMemoryStore(location.root.substr(0, location.root.find('/')));
  }
  return MakeLocalStore();
}

}  // namespace timelake::store
