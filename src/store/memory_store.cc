#include "store/memory_store.h"

#include <algorithm>

#include <arrow/io/memory.h>

#include "store/collect_stream.h"

namespace timelake::store {
namespace {

Status CheckKey(const std::string& key) {
  return key.empty() ? InvalidArgument("the key of an object is empty") : Status::OK();
}

// The caller's buffer may be a view of memory that it will change.
Result<std::shared_ptr<arrow::Buffer>> Copy(const std::string& key,
                                            const std::shared_ptr<arrow::Buffer>& bytes) {
  TL_RETURN_NOT_OK(CheckKey(key));
  if (bytes == nullptr) return InvalidArgument("{}: put without bytes", key);
  return bytes->CopySlice(0, bytes->size());
}

}  // namespace

ObjectInfo MemoryStore::Store(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) {
  Object& object = objects_[key];
  object.info.key = key;
  object.info.size = bytes->size();
  object.info.mtime_us = clock_->NowMicros();
  object.info.identity = std::to_string(++last_generation_);
  object.bytes = std::move(bytes);
  return object.info;
}

Result<GetReply> MemoryStore::Get(const std::string& key) {
  TL_RETURN_NOT_OK(CheckKey(key));
  std::lock_guard lock(mutex_);
  GetReply reply;
  reply.date_us = clock_->NowMicros();
  reply.info.key = key;
  if (const auto found = objects_.find(key); found != objects_.end()) {
    reply.found = true;
    reply.bytes = found->second.bytes;
    reply.info = found->second.info;
  }
  return reply;
}

Result<HeadReply> MemoryStore::Head(const std::string& key) {
  TL_ASSIGN_OR_RAISE(GetReply got, Get(key));
  return HeadReply{got.found, std::move(got.info), got.date_us};
}

Result<PutReply> MemoryStore::Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) {
  TL_ASSIGN_OR_RAISE(bytes, Copy(key, bytes));
  std::lock_guard lock(mutex_);
  PutReply reply;
  reply.info = Store(key, std::move(bytes));
  reply.date_us = reply.info.mtime_us;
  return reply;
}

Status MemoryStore::Sync(const std::vector<std::string>& keys) {
  std::lock_guard lock(mutex_);
  for (const std::string& key : keys) {
    if (!objects_.contains(key)) return NotFound("{}: no such object to sync", key);
  }
  return Status::OK();
}

Result<ConditionalPutReply> MemoryStore::PutIfAbsent(const std::string& key,
                                                     std::shared_ptr<arrow::Buffer> bytes) {
  return PutIfMatch(key, std::move(bytes), std::nullopt);
}

Result<ConditionalPutReply> MemoryStore::PutIfMatch(const std::string& key,
                                                    std::shared_ptr<arrow::Buffer> bytes,
                                                    const std::optional<std::string>& expected) {
  TL_ASSIGN_OR_RAISE(bytes, Copy(key, bytes));
  std::lock_guard lock(mutex_);
  ConditionalPutReply reply;
  const auto found = objects_.find(key);
  const bool as_expected =
      found == objects_.end() ? !expected.has_value() : found->second.info.identity == expected;
  if (as_expected) {
    reply.outcome = PutOutcome::kCreated;
    reply.info = Store(key, std::move(bytes));
    reply.date_us = reply.info.mtime_us;
  } else {
    reply.outcome = PutOutcome::kExists;
    reply.info.key = key;
    reply.date_us = clock_->NowMicros();
    reply.message = key + (expected ? " is not the object that was expected" : " exists");
  }
  return reply;
}

Result<ListReply> MemoryStore::List(const std::string& prefix) {
  std::lock_guard lock(mutex_);
  ListReply reply;
  reply.date_us = clock_->NowMicros();
  for (auto at = objects_.lower_bound(prefix);
       at != objects_.end() && at->first.starts_with(prefix); ++at) {
    reply.objects.push_back(at->second.info);
  }
  return reply;
}

Result<std::vector<std::string>> MemoryStore::ListFolders(const std::string& prefix) {
  if (!prefix.ends_with('/')) return InvalidArgument("'{}' must end in '/'", prefix);
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  auto at = objects_.lower_bound(prefix);
  while (at != objects_.end() && at->first.starts_with(prefix)) {
    const size_t slash = at->first.find('/', prefix.size());
    if (slash == std::string::npos) {
      ++at;
      continue;
    }
    names.push_back(at->first.substr(prefix.size(), slash - prefix.size()));
    at = objects_.lower_bound(prefix + names.back() + static_cast<char>('/' + 1));  // past "name/"
  }
  // "a-" < "a/" in keys but "a" < "a-" as names.
  std::sort(names.begin(), names.end());
  return names;
}

Status MemoryStore::Delete(const std::string& key) {
  TL_RETURN_NOT_OK(CheckKey(key));
  std::lock_guard lock(mutex_);
  objects_.erase(key);
  return Status::OK();
}

Result<std::shared_ptr<arrow::io::OutputStream>> MemoryStore::OpenWrite(const std::string& key) {
  TL_RETURN_NOT_OK(CheckKey(key));
  return std::make_shared<CollectStream>([this, key](std::shared_ptr<arrow::Buffer> bytes) {
    std::lock_guard lock(mutex_);
    Store(key, std::move(bytes));
    return Status::OK();
  });
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> MemoryStore::OpenRead(
    const std::string& key, std::optional<int64_t> /*size*/) {
  TL_ASSIGN_OR_RAISE(const GetReply got, Get(key));
  if (!got.found) return NotFound("{}: no such object", key);
  return std::make_shared<arrow::io::BufferReader>(got.bytes);
}

std::optional<MemoryStore::Object> MemoryStore::Find(const std::string& key) const {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? std::nullopt : std::make_optional(found->second);
}

void MemoryStore::Restore(const std::string& key, std::optional<Object> object) {
  std::lock_guard lock(mutex_);
  if (object.has_value()) {
    objects_[key] = *std::move(object);
  } else {
    objects_.erase(key);
  }
}

std::shared_ptr<ObjectStore> MakeMemoryStore(std::shared_ptr<Clock> clock) {
  return std::make_shared<MemoryStore>(std::move(clock));
}

std::shared_ptr<ObjectStore> SharedMemoryStore(const std::string& name) {
  static std::mutex mutex;
  static auto& stores = *new std::map<std::string, std::shared_ptr<ObjectStore>>();
  std::lock_guard lock(mutex);
  std::shared_ptr<ObjectStore>& store = stores[name];
  if (store == nullptr) store = MakeMemoryStore(SystemClock());
  return store;
}

}  // namespace timelake::store
