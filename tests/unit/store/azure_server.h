#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "server_process.h"
#include "store/azure_api.h"
#include "store/azure_auth.h"
#include "store/open_store.h"

namespace timelake::store {

// An azurite (an emulator of Azure's Blob service that verifies signatures), in memory.
class AzureServer {
 public:
  static constexpr const char* kAccount = "testaccount";
  static constexpr const char* kKey = "dGVzdC1hY2NvdW50LWtleS0wMTIzNDU2Nzg5";

  static std::string Binary() {
    return ServerProcess::Installed("TIMELAKE_AZURITE", "azurite/node_modules/.bin/azurite-blob");
  }
  bool Run() {
    return process_.Start([](int port) {
      const char* path = std::getenv("PATH");  // it is a script of node
      return ServerProcess::Command{
          {Binary(), "--blobHost", "127.0.0.1", "--blobPort", std::to_string(port),
           "--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"},
          {std::string("AZURITE_ACCOUNTS=") + kAccount + ":" + kKey,
           std::string("PATH=") + (path == nullptr ? "/usr/bin" : path)}};
    });
  }

  std::string endpoint() const { return process_.endpoint() + "/" + kAccount; }

  std::string NewBucket() {
    const std::string name = "container" + std::to_string(++containers_);
    const AzureOptions options = Must(ParseAzureOptions(
        Options(), [](const std::string&) { return std::nullopt; }, ""));
    RemoteClient client(options, std::make_shared<AzureAuthorizer>(options, SystemClock()),
                        SystemClock(), SystemRandom());
    RemoteRequest request = AzureApi(options, "az").Request("PUT", name, "");
    request.query = {{"restype", "container"}};
    request.body = Bytes("");
    EXPECT_EQ(Must(client.Send(request)).status, 201);
    return name;
  }

  std::map<std::string, std::string> Options() const {
    return {{"azure_storage_account_name", kAccount},
            {"azure_storage_account_key", kKey},
            {"azure_endpoint", endpoint()},
            {"azure_allow_http", "true"}};
  }

 private:
  ServerProcess process_;
  int containers_ = 0;
};

inline Result<std::shared_ptr<ObjectStore>> OpenAzure(
    const std::map<std::string, std::string>& options) {
  return OpenStore({"az", ""}, options);
}

}  // namespace timelake::store
