#include "store/write_behind_store.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "base/helpers.h"
#include "store/forwarding_store.h"

namespace timelake::store {
namespace {

constexpr int kThreads = 32;
constexpr int64_t kMostBytes = int64_t{64} << 20;

Helpers* Writers() {
  static std::atomic<Helpers*> helpers = nullptr;
  return HelpersOf(&helpers, kThreads);
}

// Writes that are on their way, by key. Whoever waits for one that no thread has begun does it
// itself. Thread-safe.
class Pending : public std::enable_shared_from_this<Pending> {
 public:
  // Runs `write` on another thread, when there is room for `bytes` more; a second write of a key
  // follows the first.
  void Start(const std::string& key, int64_t bytes, std::function<Status()> write) {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto found = writes_.find(key);
      const bool busy = found != writes_.end() && !found->second.done;
      if (!busy && (bytes_ == 0 || bytes_ + bytes <= kMostBytes)) break;
      if (!RunWaiting(&lock)) changed_.wait(lock);
    }
    writes_[key] = {bytes, std::move(write), false, Status::OK()};
    bytes_ += bytes;
    lock.unlock();
    Writers()->Ask(
        [self = shared_from_this(), key] {
          std::unique_lock own(self->mutex_);
          self->Run(key, &own);
        },
        1);
  }

  // What became of the write; ok if there was none.
  Status Await(const std::string& key) {
    std::unique_lock lock(mutex_);
    Run(key, &lock);
    Status status;
    changed_.wait(lock, [&] {
      const auto found = writes_.find(key);
      if (found == writes_.end()) return true;
      status = found->second.status;
      return found->second.done;
    });
    return status;
  }

  // Until nothing is on its way.
  void AwaitAll() {
    std::unique_lock lock(mutex_);
    while (std::any_of(writes_.begin(), writes_.end(),
                       [](const auto& write) { return !write.second.done; })) {
      if (!RunWaiting(&lock)) changed_.wait(lock);
    }
  }

  // Waits, and no longer remembers that the write failed.
  void Forget(const std::string& key) {
    (void)Await(key);
    const std::lock_guard lock(mutex_);
    writes_.erase(key);
  }

 private:
  struct Write {
    int64_t bytes = 0;
    std::function<Status()> run;  // empty once it has begun
    bool done = false;
    Status status;
  };

  // Does the write, if nobody has begun it; the lock is held before and after.
  void Run(const std::string& key, std::unique_lock<std::mutex>* lock) {
    const auto found = writes_.find(key);
    if (found == writes_.end() || !found->second.run) return;
    const int64_t bytes = found->second.bytes;
    auto run = std::exchange(found->second.run, nullptr);
    lock->unlock();
    Status status = run();
    run = nullptr;  // lets go of the bytes
    lock->lock();
    bytes_ -= bytes;
    // Failures stay until somebody has asked, and deleted what may be there.
    if (status.ok()) writes_.erase(key);
    if (!status.ok()) writes_[key] = {0, nullptr, true, std::move(status)};
    changed_.notify_all();
  }

  // One that has not begun; false: there is none.
  bool RunWaiting(std::unique_lock<std::mutex>* lock) {
    for (const auto& [key, write] : writes_) {
      if (!write.run) continue;
      Run(std::string(key), lock);
      return true;
    }
    return false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Write> writes_;
  int64_t bytes_ = 0;
};

// Closes the store's stream in the background.
class Stream : public arrow::io::OutputStream {
 public:
  Stream(std::string key, std::shared_ptr<arrow::io::OutputStream> base,
         std::shared_ptr<Pending> pending)
      : key_(std::move(key)), base_(std::move(base)), pending_(std::move(pending)) {}

  Status Close() override {
    if (closed_) return Status::OK();
    TL_ASSIGN_OR_RAISE(const int64_t bytes, base_->Tell());
    closed_ = true;
    pending_->Start(key_, bytes, [base = base_] { return base->Close(); });
    return Status::OK();
  }
  Status Abort() override {
    if (closed_) return Status::OK();
    closed_ = true;
    return base_->Abort();
  }
  bool closed() const override { return closed_; }
  Result<int64_t> Tell() const override { return base_->Tell(); }
  Status Write(const void* data, int64_t size) override {
    if (closed_) return InvalidArgument("{}: write to a closed stream", key_);
    return base_->Write(data, size);
  }
  Status Flush() override { return closed_ ? Status::OK() : base_->Flush(); }

 private:
  const std::string key_;
  const std::shared_ptr<arrow::io::OutputStream> base_;
  const std::shared_ptr<Pending> pending_;
  bool closed_ = false;
};

bool IsImmutable(const std::string& key) {
  return key.ends_with(".parquet") || key.ends_with(".avro");
}

class WriteBehindStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  ~WriteBehindStore() override { pending_->AwaitAll(); }

  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override {
    if (!IsImmutable(key) || bytes == nullptr) return base_->Put(key, std::move(bytes));
    PutReply reply;
    reply.info.key = key;
    reply.info.size = bytes->size();
    pending_->Start(key, reply.info.size, [base = base_, key, bytes = std::move(bytes)] {
      return base->Put(key, bytes).status();
    });
    return reply;
  }
  Status PutAll(const std::vector<PutRequest>& requests) override {
    std::vector<PutRequest> others;
    for (const PutRequest& request : requests) {
      if (!IsImmutable(request.key)) {
        others.push_back(request);
        continue;
      }
      TL_RETURN_NOT_OK(Put(request.key, request.bytes).status());
    }
    return others.empty() ? Status::OK() : base_->PutAll(others);
  }
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    TL_ASSIGN_OR_RAISE(auto stream, base_->OpenWrite(key));
    if (!IsImmutable(key)) return stream;
    return std::make_shared<Stream>(key, std::move(stream), pending_);
  }
  Status Sync(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) TL_RETURN_NOT_OK(pending_->Await(key));
    return base_->Sync(keys);
  }

  Result<GetReply> Get(const std::string& key) override {
    TL_RETURN_NOT_OK(pending_->Await(key));
    return base_->Get(key);
  }
  Result<HeadReply> Head(const std::string& key) override {
    TL_RETURN_NOT_OK(pending_->Await(key));
    return base_->Head(key);
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    TL_RETURN_NOT_OK(pending_->Await(key));
    return base_->OpenRead(key, size);
  }
  Status Delete(const std::string& key) override {
    pending_->Forget(key);
    return base_->Delete(key);
  }
  Status DeleteAll(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) pending_->Forget(key);
    return base_->DeleteAll(keys);
  }

  std::shared_ptr<ObjectStore> direct() override { return base_; }

 private:
  const std::shared_ptr<Pending> pending_ = std::make_shared<Pending>();
};

}  // namespace

std::shared_ptr<ObjectStore> MakeWriteBehindStore(std::shared_ptr<ObjectStore> base) {
  return std::make_shared<WriteBehindStore>(std::move(base));
}

}  // namespace timelake::store
