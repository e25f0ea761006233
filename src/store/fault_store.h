#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/object_store.h"

// A store that fails on order, for tests and the simulation. Each simulated process has its own,
// over one shared store (a MemoryStore, or a PowerLossStore where the power fails, too).

namespace timelake::store {

enum class OpKind {
  kGet,
  kHead,
  kPut,
  kPutIfAbsent,
  kPutIfMatch,
  kList,
  kListFolders,
  kDelete,
  kSync,
  kOpenWrite,  // its effect and reply are those of the stream's Close
  kOpenRead,
};
inline constexpr size_t kOpKinds = 11;

std::string_view OpName(OpKind kind);

struct Op {
  OpKind kind;
  std::string key;       // of a Sync: the first key
  int64_t sequence = 0;  // 1, 2, 3... in the order of this store's calls
};

enum class FaultAction {
  kNone,
  kError,       // not sent: an error, also from the conditional puts
  kDropBefore,  // the request is lost: no effect, no reply
  kDropAfter,   // the reply is lost: effect, no reply
  kRepeat409,   // conditional puts: kRepeat, no effect. Others: an error
  kExists412,   // conditional puts: kExists, no effect. Others: an error
  kDelay,       // no reply now; `defer` is given the effect, to run later or never
};
// "No reply" is kNoReply from the conditional puts and a kIo error from all others.

struct Fault {
  FaultAction action = FaultAction::kNone;
  // With kExists412: what someone else stores under the key just before (if it is absent, for a
  // put_if_absent).
  std::shared_ptr<arrow::Buffer> foreign = nullptr;
};

enum class YieldPoint { kBeforeEffect, kBeforeReply, kBetweenPages };

// All optional. Called on the thread of the operation; `observe` while the store is locked, so that
// the order of its calls is the order of the effects: it must not use the store.
struct FaultHooks {
  std::function<Fault(const Op&)> before;
  // Right after an effect: an object written (its bytes) or deleted (null).
  std::function<void(const Op&, const std::shared_ptr<arrow::Buffer>&)> observe;
  // Where a deterministic scheduler may run another process.
  std::function<void(const Op&, YieldPoint)> yield;
  std::function<void(const Op&, std::function<void()> effect)> defer;
};

struct FaultOptions {
  // Objects per page of a listing; 0: one page. Later pages see what happened meanwhile.
  size_t list_page = 0;
  // Pretend to have compare-and-swap, or none.
  std::optional<bool> compare_and_swap = std::nullopt;
};

// Thread-safe. Streams and deferred effects must not outlive it.
class FaultStore : public ObjectStore {
 public:
  explicit FaultStore(std::shared_ptr<ObjectStore> base, FaultHooks hooks = {},
                      FaultOptions options = {})
      : base_(std::move(base)), hooks_(std::move(hooks)), options_(options) {}

  // How many operations were asked for, whatever became of them.
  int64_t count(OpKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  void ResetCounts();

  std::string scheme() const override { return base_->scheme(); }
  bool has_compare_and_swap() const override {
    return options_.compare_and_swap.value_or(base_->has_compare_and_swap());
  }

  Result<GetReply> Get(const std::string& key) override;
  Result<HeadReply> Head(const std::string& key) override;
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override;
  Status Sync(const std::vector<std::string>& keys) override;
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer> bytes) override;
  Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                         std::shared_ptr<arrow::Buffer> bytes,
                                         const std::optional<std::string>& expected) override;
  Result<ListReply> List(const std::string& prefix) override;
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override;
  Status Delete(const std::string& key) override;
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override;
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size = std::nullopt) override;

 private:
  Op Begin(OpKind kind, const std::string& key);
  Fault Ask(const Op& op) const { return hooks_.before ? hooks_.before(op) : Fault{}; }
  void Yield(const Op& op, YieldPoint point) const {
    if (hooks_.yield) hooks_.yield(op, point);
  }
  void Observe(const Op& op, const std::shared_ptr<arrow::Buffer>& bytes) const {
    if (hooks_.observe) hooks_.observe(op, bytes);
  }

  Status StoreForeign(const Op& op, const std::shared_ptr<arrow::Buffer>& bytes);

  // Runs `effect`, which returns Status or a Result, as `fault` has it.
  template <typename Effect>
  auto Run(const Op& op, const Fault& fault, Effect effect) -> decltype(effect());
  template <typename Effect>
  Result<ConditionalPutReply> RunConditional(OpKind kind, const std::string& key, Effect effect);

  const std::shared_ptr<ObjectStore> base_;
  const FaultHooks hooks_;
  const FaultOptions options_;
  std::mutex mutex_;  // an effect and its observation
  std::atomic<int64_t> sequence_ = 0;
  std::array<std::atomic<int64_t>, kOpKinds> counts_{};
};

std::shared_ptr<FaultStore> MakeFaultStore(std::shared_ptr<ObjectStore> base, FaultHooks hooks = {},
                                           FaultOptions options = {});

}  // namespace timelake::store
