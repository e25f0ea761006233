#include "store/condition_probe.h"

#include <mutex>
#include <set>

#include <fmt/format.h>

#include "base/uuid.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

constexpr int kTries = 3;

Status Probe(const RemoteApi& api, RemoteClient* client, const ObjectName& object) {
  std::string why;
  for (int i = 0; i < kTries; ++i) {
    const ObjectName probe{object.bucket, object.name.substr(0, object.name.rfind('/') + 1) +
                                              "probe-" + FormatUuid(NewUuidV4(client->random()))};
    TL_ASSIGN_OR_RAISE(const RemoteRequest put,
                       api.PutIf(probe,
                                 arrow::Buffer::FromString(
                                     fmt::format("of {}; may be deleted\n", api.condition())),
                                 std::nullopt));
    const RemoteRequest remove = api.Delete(probe);
    TL_ASSIGN_OR_RAISE(const RemoteClient::Once first, client->SendOnce(put));
    if (first.replied && first.reply.status / 100 == 2) {
      auto second = client->SendOnce(put);
      (void)client->Send(remove);  // what is left behind does no harm
      TL_RETURN_NOT_OK(second.status());
      if (second->replied && api.OutcomeOf(second->reply, false) == PutOutcome::kExists) {
        return Status::OK();
      }
      if (second->replied && second->reply.status / 100 == 2) {
        return Unsupported(
            "the store at {} ignores {}: it replaced an object that was to be created only if "
            "absent, so commits of several writers would overwrite each other. Nothing was "
            "written. A store known to be used by a single writer can be used with the storage "
            "option timelake_probe_conditional_put = false",
            api.endpoint_to_probe(), api.condition());
      }
      why = second->replied ? Describe(second->reply) : second->why;
      continue;
    }
    (void)client->Send(remove);
    if (first.replied && !api.OutcomeOf(first.reply, false)) {
      return client->Refused(put, first.reply, api.HintOf(first.reply));
    }
    why = first.replied ? Describe(first.reply) : first.why;
  }
  return IoError("{}://{}: could not find out whether the store honours {}: {}", api.scheme(),
                 object.bucket, api.condition(), why);
}

}  // namespace

Status EnsureConditions(const RemoteApi& api, RemoteClient* client, const ObjectName& object) {
  const std::string endpoint = api.endpoint_to_probe();
  if (endpoint.empty()) return Status::OK();
  static std::mutex mutex;
  static auto& good = *new std::set<std::string>();
  const std::string name = endpoint + " " + object.bucket;
  const std::lock_guard lock(mutex);
  if (good.contains(name)) return Status::OK();
  TL_RETURN_NOT_OK(Probe(api, client, object));
  good.insert(name);
  return Status::OK();
}

}  // namespace timelake::store
