#include "table/hint.h"

#include <charconv>

#include <arrow/buffer.h>
#include <fmt/format.h>

#include "table/manifests.h"

namespace timelake::table {
namespace {

constexpr int kTries = 5;

std::optional<int64_t> ParseHint(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc() || end != text.end() || number < 1) return std::nullopt;
  return number;
}

// Whether the hint may stay as it is: it names `number`, or a later version that exists.
Result<bool> GoodEnough(const Handle& handle, const Hint& hint, int64_t number) {
  if (!hint.version || *hint.version < number) return false;
  if (*hint.version == number || !handle.env().rules->hint_valid) return true;
  TL_ASSIGN_OR_RAISE(auto reply, Retried(handle.env(), [&] {
                       return handle.env().store->Head(handle.VersionKey(*hint.version));
                     }));
  return reply.found;
}

// One try. True: the hint is settled.
Result<bool> TryMove(Handle& handle, int64_t number, std::optional<std::string>* identity,
                     bool* identity_known) {
  const Env& env = handle.env();
  auto bytes = arrow::Buffer::FromString(std::to_string(number));
  if (!*identity_known) {
    TL_ASSIGN_OR_RAISE(Hint hint, ReadHint(handle));
    TL_ASSIGN_OR_RAISE(bool good, GoodEnough(handle, hint, number));
    if (good) {
      handle.set_hint(Handle::KnownHint{*hint.version, *hint.identity});
      return true;
    }
    *identity = hint.identity;
    *identity_known = true;
  }
  if (!env.rules->hint_cas || !env.store->has_compare_and_swap()) {
    TL_RETURN_NOT_OK(env.store->Put(handle.HintKey(), bytes).status());
    return true;
  }
  TL_ASSIGN_OR_RAISE(auto reply, env.store->PutIfMatch(handle.HintKey(), bytes, *identity));
  if (reply.outcome == store::PutOutcome::kCreated) {
    handle.set_hint(Handle::KnownHint{number, reply.info.identity});
    return true;
  }
  *identity_known = false;  // somebody else wrote it, or no reply: look again
  return false;
}

}  // namespace

Result<Hint> ReadHint(const Handle& handle) {
  TL_ASSIGN_OR_RAISE(
      auto reply, Retried(handle.env(), [&] { return handle.env().store->Get(handle.HintKey()); }));
  Hint hint;
  hint.present = reply.found;
  if (!reply.found) return hint;
  hint.identity = reply.info.identity;
  hint.version = ParseHint({reinterpret_cast<const char*>(reply.bytes->data()),
                            static_cast<size_t>(reply.bytes->size())});
  return hint;
}

void MoveHint(Handle& handle, int64_t number) {
  const auto known = handle.hint();
  if (known && known->version >= number) return;  // by another call through this handle
  std::optional<std::string> identity;
  if (known) identity = known->identity;
  bool identity_known = known.has_value();
  Status last;
  for (int i = 0; i < kTries; ++i) {
    auto settled = TryMove(handle, number, &identity, &identity_known);
    if (settled.ok() && *settled) return;
    last = settled.status();
    if (!settled.ok()) identity_known = false;
  }
  handle.set_hint(std::nullopt);
  handle.env().Log(
      LogLevel::kInfo,
      fmt::format("{}: version-hint.text could not be moved to {} ({}); the next commit "
                  "repairs it",
                  handle.name(), number, last.ok() ? "others write it" : last.message()));
}

void RepairHint(Handle& handle, int64_t newest) {
  handle.set_hint(std::nullopt);
  MoveHint(handle, newest);
}

}  // namespace timelake::table
