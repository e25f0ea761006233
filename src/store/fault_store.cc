#include "store/fault_store.h"

#include <type_traits>

#include "store/collect_stream.h"

namespace timelake::store {
namespace {

using Conditional = Result<ConditionalPutReply>;

std::string Story(const Op& op, std::string_view what) {
  return fmt::format("{}: {} #{}: {} (injected)", op.key, OpName(op.kind), op.sequence, what);
}

template <typename Reply>
Reply Lost(const Op& op) {
  std::string story = Story(op, "the connection was lost before the reply");
  if constexpr (std::is_same_v<Reply, Conditional>) {
    ConditionalPutReply reply;
    reply.outcome = PutOutcome::kNoReply;
    reply.info.key = op.key;
    reply.message = std::move(story);
    return reply;
  } else {
    return IoError("{}", story);
  }
}

Status NotSent(const Op& op) { return IoError("{}", Story(op, "the request could not be sent")); }

}  // namespace

std::string_view OpName(OpKind kind) {
  switch (kind) {
    case OpKind::kGet: return "get";
    case OpKind::kHead: return "head";
    case OpKind::kPut: return "put";
    case OpKind::kPutIfAbsent: return "put_if_absent";
    case OpKind::kPutIfMatch: return "put_if_match";
    case OpKind::kList: return "list";
    case OpKind::kListFolders: return "list_folders";
    case OpKind::kDelete: return "delete";
    case OpKind::kSync: return "sync";
    case OpKind::kOpenWrite: return "open_write";
    case OpKind::kOpenRead: return "open_read";
  }
  return "unknown";
}

void FaultStore::ResetCounts() {
  for (auto& count : counts_) count = 0;
}

Op FaultStore::Begin(OpKind kind, const std::string& key) {
  ++counts_[static_cast<size_t>(kind)];
  return Op{kind, key, ++sequence_};
}

template <typename Effect>
auto FaultStore::Run(const Op& op, const Fault& fault, Effect effect) -> decltype(effect()) {
  using Reply = decltype(effect());
  switch (fault.action) {
    case FaultAction::kNone:
    case FaultAction::kDropAfter:
      break;
    case FaultAction::kError:
    case FaultAction::kRepeat409:
    case FaultAction::kExists412:
      return NotSent(op);
    case FaultAction::kDropBefore:
      Yield(op, YieldPoint::kBeforeEffect);
      return Lost<Reply>(op);
    case FaultAction::kDelay:
      if (hooks_.defer) hooks_.defer(op, [effect]() mutable { (void)effect(); });
      Yield(op, YieldPoint::kBeforeReply);
      return Lost<Reply>(op);
  }
  Yield(op, YieldPoint::kBeforeEffect);
  Reply reply = effect();
  Yield(op, YieldPoint::kBeforeReply);
  if (fault.action == FaultAction::kDropAfter) return Lost<Reply>(op);
  return reply;
}

Status FaultStore::StoreForeign(const Op& op, const std::shared_ptr<arrow::Buffer>& bytes) {
  std::lock_guard lock(mutex_);
  bool stored = true;
  if (op.kind == OpKind::kPutIfAbsent) {
    TL_ASSIGN_OR_RAISE(const ConditionalPutReply reply, base_->PutIfAbsent(op.key, bytes));
    stored = reply.outcome == PutOutcome::kCreated;
  } else {
    TL_RETURN_NOT_OK(base_->Put(op.key, bytes).status());
  }
  if (stored) Observe(op, bytes);
  return Status::OK();
}

template <typename Effect>
Conditional FaultStore::RunConditional(OpKind kind, const std::string& key, Effect effect) {
  const Op op = Begin(kind, key);
  const Fault fault = Ask(op);
  const auto answer = [&](PutOutcome outcome, std::string_view what) -> Conditional {
    TL_ASSIGN_OR_RAISE(const HeadReply head, base_->Head(key));
    ConditionalPutReply reply;
    reply.outcome = outcome;
    reply.info.key = key;
    reply.date_us = head.date_us;
    reply.message = Story(op, what);
    Yield(op, YieldPoint::kBeforeReply);
    return reply;
  };
  if (fault.action == FaultAction::kRepeat409) {
    Yield(op, YieldPoint::kBeforeEffect);
    return answer(PutOutcome::kRepeat, "409, send it again");
  }
  if (fault.action == FaultAction::kExists412) {
    Yield(op, YieldPoint::kBeforeEffect);
    if (fault.foreign != nullptr) TL_RETURN_NOT_OK(StoreForeign(op, fault.foreign));
    return answer(PutOutcome::kExists, "412, someone else's object is there");
  }
  return Run(op, fault, [this, op, effect]() -> Conditional {
    std::lock_guard lock(mutex_);
    return effect(op);
  });
}

Result<GetReply> FaultStore::Get(const std::string& key) {
  const Op op = Begin(OpKind::kGet, key);
  return Run(op, Ask(op), [this, key] { return base_->Get(key); });
}

Result<HeadReply> FaultStore::Head(const std::string& key) {
  const Op op = Begin(OpKind::kHead, key);
  return Run(op, Ask(op), [this, key] { return base_->Head(key); });
}

Result<PutReply> FaultStore::Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) {
  const Op op = Begin(OpKind::kPut, key);
  return Run(op, Ask(op), [this, op, bytes]() -> Result<PutReply> {
    std::lock_guard lock(mutex_);
    TL_ASSIGN_OR_RAISE(PutReply reply, base_->Put(op.key, bytes));
    Observe(op, bytes);
    return reply;
  });
}

Status FaultStore::Sync(const std::vector<std::string>& keys) {
  const Op op = Begin(OpKind::kSync, keys.empty() ? "" : keys.front());
  return Run(op, Ask(op), [this, keys] { return base_->Sync(keys); });
}

Conditional FaultStore::PutIfAbsent(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) {
  return RunConditional(OpKind::kPutIfAbsent, key, [this, bytes](const Op& op) -> Conditional {
    TL_ASSIGN_OR_RAISE(ConditionalPutReply reply, base_->PutIfAbsent(op.key, bytes));
    if (reply.outcome == PutOutcome::kCreated) Observe(op, bytes);
    return reply;
  });
}

Conditional FaultStore::PutIfMatch(const std::string& key, std::shared_ptr<arrow::Buffer> bytes,
                                   const std::optional<std::string>& expected) {
  return RunConditional(
      OpKind::kPutIfMatch, key, [this, bytes, expected](const Op& op) -> Conditional {
        TL_ASSIGN_OR_RAISE(ConditionalPutReply reply, base_->PutIfMatch(op.key, bytes, expected));
        if (reply.outcome == PutOutcome::kCreated) Observe(op, bytes);
        return reply;
      });
}

Result<ListReply> FaultStore::List(const std::string& prefix) {
  const Op op = Begin(OpKind::kList, prefix);
  return Run(op, Ask(op), [this, op]() -> Result<ListReply> {
    TL_ASSIGN_OR_RAISE(ListReply now, base_->List(op.key));
    if (options_.list_page == 0) return now;
    // Each page continues after the last key of the one before, in what is there by then.
    ListReply torn;
    torn.date_us = now.date_us;
    for (;;) {
      size_t taken = 0;
      bool more = false;
      for (ObjectInfo& info : now.objects) {
        if (!torn.objects.empty() && info.key <= torn.objects.back().key) continue;
        more = taken == options_.list_page;
        if (more) break;
        torn.objects.push_back(std::move(info));
        ++taken;
      }
      if (!more) return torn;
      Yield(op, YieldPoint::kBetweenPages);
      TL_ASSIGN_OR_RAISE(now, base_->List(op.key));
    }
  });
}

Result<std::vector<std::string>> FaultStore::ListFolders(const std::string& prefix) {
  const Op op = Begin(OpKind::kListFolders, prefix);
  return Run(op, Ask(op), [this, prefix] { return base_->ListFolders(prefix); });
}

Status FaultStore::Delete(const std::string& key) {
  const Op op = Begin(OpKind::kDelete, key);
  return Run(op, Ask(op), [this, op] {
    std::lock_guard lock(mutex_);
    Status status = base_->Delete(op.key);
    if (status.ok()) Observe(op, nullptr);
    return status;
  });
}

Result<std::shared_ptr<arrow::io::OutputStream>> FaultStore::OpenWrite(const std::string& key) {
  const Op op = Begin(OpKind::kOpenWrite, key);
  const Fault fault = Ask(op);
  if (fault.action == FaultAction::kError) return NotSent(op);
  TL_ASSIGN_OR_RAISE(const auto stream, base_->OpenWrite(key));
  return std::make_shared<CollectStream>([=, this](std::shared_ptr<arrow::Buffer> bytes) {
    return Run(op, fault, [this, op, stream, bytes]() -> Status {
      std::lock_guard lock(mutex_);
      TL_RETURN_NOT_OK(stream->Write(bytes));
      TL_RETURN_NOT_OK(stream->Close());
      Observe(op, bytes);
      return Status::OK();
    });
  });
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> FaultStore::OpenRead(
    const std::string& key, std::optional<int64_t> size) {
  const Op op = Begin(OpKind::kOpenRead, key);
  return Run(op, Ask(op), [this, key, size] { return base_->OpenRead(key, size); });
}

std::shared_ptr<FaultStore> MakeFaultStore(std::shared_ptr<ObjectStore> base, FaultHooks hooks,
                                           FaultOptions options) {
  return std::make_shared<FaultStore>(std::move(base), std::move(hooks), options);
}

}  // namespace timelake::store
