#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <arrow/io/interfaces.h>

#include "store/forwarding_store.h"

namespace timelake::store {

// A store whose reads and writes can be made to fail, and to wait.
class Moody : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  class File : public arrow::io::RandomAccessFile {
   public:
    File(Moody* store, std::shared_ptr<arrow::io::RandomAccessFile> base)
        : store_(store), base_(std::move(base)) {}
    Status Close() override { return base_->Close(); }
    bool closed() const override { return base_->closed(); }
    Result<int64_t> Tell() const override { return base_->Tell(); }
    Status Seek(int64_t position) override { return base_->Seek(position); }
    Result<int64_t> GetSize() override { return base_->GetSize(); }
    Result<int64_t> Read(int64_t, void*) override { return IoError("not here"); }
    Result<std::shared_ptr<arrow::Buffer>> Read(int64_t) override { return IoError("not here"); }
    Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t at, int64_t size) override {
      ++store_->reads;
      TL_RETURN_NOT_OK(store_->Wait());
      TL_ASSIGN_OR_RAISE(auto bytes, base_->ReadAt(at, size));
      return store_->shorten ? arrow::SliceBuffer(bytes, 0, bytes->size() / 2) : bytes;
    }

   private:
    Moody* store_;
    std::shared_ptr<arrow::io::RandomAccessFile> base_;
  };
  class Stream : public arrow::io::OutputStream {
   public:
    Stream(Moody* store, std::shared_ptr<arrow::io::OutputStream> base)
        : store_(store), base_(std::move(base)) {}
    Status Close() override {
      ++store_->writes;
      TL_RETURN_NOT_OK(store_->Wait());
      return base_->Close();
    }
    Status Abort() override { return base_->Abort(); }
    bool closed() const override { return base_->closed(); }
    Result<int64_t> Tell() const override { return base_->Tell(); }
    Status Write(const void* data, int64_t size) override { return base_->Write(data, size); }

   private:
    Moody* store_;
    std::shared_ptr<arrow::io::OutputStream> base_;
  };
  // Until the store is open.
  Status Wait() {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return open; });
    }
    return failures-- > 0 ? IoError("the store is away") : Status::OK();
  }
  void Open() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    TL_ASSIGN_OR_RAISE(auto file, base_->OpenRead(key, size));
    return std::make_shared<File>(this, std::move(file));
  }
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override {
    ++writes;
    TL_RETURN_NOT_OK(Wait());
    return base_->Put(key, std::move(bytes));
  }
  Status PutAll(const std::vector<PutRequest>& requests) override {
    return ObjectStore::PutAll(requests);  // each by Put
  }
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    TL_ASSIGN_OR_RAISE(auto stream, base_->OpenWrite(key));
    return std::make_shared<Stream>(this, std::move(stream));
  }

  std::atomic<int> reads = 0, writes = 0, failures = 0;
  std::atomic<bool> shorten = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
};

}  // namespace timelake::store
