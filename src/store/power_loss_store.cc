#include "store/power_loss_store.h"

#include <algorithm>

#include "store/collect_stream.h"

namespace timelake::store {
namespace {

// What a disk may hold under a name that was written in time while its bytes were not.
Result<std::shared_ptr<arrow::Buffer>> Torn(const arrow::Buffer& bytes, Random* random) {
  const bool truncated = random->Below(2) == 0;
  const int64_t whole = static_cast<int64_t>(random->Below(bytes.size()));  // bytes that survive
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> torn,
                     arrow::AllocateBuffer(truncated ? whole : bytes.size()));
  std::copy_n(bytes.data(), whole, torn->mutable_data());
  std::fill(torn->mutable_data() + whole, torn->mutable_data() + torn->size(), uint8_t{0});
  return torn;
}

}  // namespace

void PowerLossStore::Note(const std::string& key, std::optional<MemoryStore::Object> before,
                          bool may_tear) {
  // What is certain stays what it was before the first change.
  undecided_.try_emplace(key, Undecided{std::move(before)}).first->second.may_tear = may_tear;
}

void PowerLossStore::PowerLoss(Random* random) {
  std::lock_guard lock(mutex_);
  ++losses_;
  for (auto& [key, undecided] : undecided_) {
    std::optional<MemoryStore::Object> now = disk_->Find(key);
    const bool may_tear = now.has_value() && undecided.may_tear;
    const uint64_t fate = random == nullptr ? 0 : random->Below(may_tear ? 3 : 2);
    if (fate == 0) {
      disk_->Restore(key, std::move(undecided.durable));
    } else if (fate == 2) {
      Result<std::shared_ptr<arrow::Buffer>> torn = Torn(*now->bytes, random);
      if (!torn.ok()) continue;
      now->bytes = *std::move(torn);
      now->info.size = now->bytes->size();
      disk_->Restore(key, std::move(now));
    }
  }
  undecided_.clear();
}

Result<PutReply> PowerLossStore::Put(const std::string& key,
                                     std::shared_ptr<arrow::Buffer> bytes) {
  std::lock_guard lock(mutex_);
  std::optional<MemoryStore::Object> before = disk_->Find(key);
  TL_ASSIGN_OR_RAISE(PutReply reply, disk_->Put(key, std::move(bytes)));
  Note(key, std::move(before), true);
  return reply;
}

Status PowerLossStore::Sync(const std::vector<std::string>& keys) {
  std::lock_guard lock(mutex_);
  TL_RETURN_NOT_OK(disk_->Sync(keys));
  for (const std::string& key : keys) undecided_.erase(key);
  return Status::OK();
}

Result<ConditionalPutReply> PowerLossStore::PutIfAbsent(const std::string& key,
                                                        std::shared_ptr<arrow::Buffer> bytes) {
  std::lock_guard lock(mutex_);
  TL_ASSIGN_OR_RAISE(ConditionalPutReply reply, disk_->PutIfAbsent(key, std::move(bytes)));
  if (reply.outcome == PutOutcome::kCreated) undecided_.erase(key);
  return reply;
}

Result<ConditionalPutReply> PowerLossStore::PutIfMatch(const std::string& key,
                                                       std::shared_ptr<arrow::Buffer> bytes,
                                                       const std::optional<std::string>& expected) {
  std::lock_guard lock(mutex_);
  std::optional<MemoryStore::Object> before = disk_->Find(key);
  TL_ASSIGN_OR_RAISE(ConditionalPutReply reply,
                     disk_->PutIfMatch(key, std::move(bytes), expected));
  if (reply.outcome == PutOutcome::kCreated) Note(key, std::move(before), false);
  return reply;
}

Status PowerLossStore::Delete(const std::string& key) {
  std::lock_guard lock(mutex_);
  std::optional<MemoryStore::Object> before = disk_->Find(key);
  TL_RETURN_NOT_OK(disk_->Delete(key));
  Note(key, std::move(before), false);
  return Status::OK();
}

Result<std::shared_ptr<arrow::io::OutputStream>> PowerLossStore::OpenWrite(
    const std::string& key) {
  std::lock_guard lock(mutex_);
  return std::make_shared<CollectStream>(
      [this, key, losses = losses_](std::shared_ptr<arrow::Buffer> bytes) {
        {
          std::lock_guard guard(mutex_);
          if (losses != losses_) return IoError("{}: the power was lost while it was written", key);
        }
        return Put(key, std::move(bytes)).status();
      });
}

}  // namespace timelake::store
