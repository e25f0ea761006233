#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/object_store.h"

namespace timelake::store {

// A store that asks another one for all that a class derived from it does not do itself.
class ForwardingStore : public ObjectStore {
 public:
  explicit ForwardingStore(std::shared_ptr<ObjectStore> base) : base_(std::move(base)) {}

  Result<GetReply> Get(const std::string& key) override { return base_->Get(key); }
  Result<HeadReply> Head(const std::string& key) override { return base_->Head(key); }
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override {
    return base_->Put(key, std::move(bytes));
  }
  Status PutAll(const std::vector<PutRequest>& requests) override {
    return base_->PutAll(requests);
  }
  Status Sync(const std::vector<std::string>& keys) override { return base_->Sync(keys); }
  void SyncSoon(const std::vector<std::string>& keys) override { base_->SyncSoon(keys); }
  std::shared_ptr<StagedPut> Stage(const std::string& key,
                                   const std::shared_ptr<arrow::Buffer>& bytes) override {
    return base_->Stage(key, bytes);
  }
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer> bytes) override {
    return base_->PutIfAbsent(key, std::move(bytes));
  }
  Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                         std::shared_ptr<arrow::Buffer> bytes,
                                         const std::optional<std::string>& expected) override {
    return base_->PutIfMatch(key, std::move(bytes), expected);
  }
  bool has_compare_and_swap() const override { return base_->has_compare_and_swap(); }
  Result<ListReply> List(const std::string& prefix) override { return base_->List(prefix); }
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override {
    return base_->ListFolders(prefix);
  }
  Status Delete(const std::string& key) override { return base_->Delete(key); }
  Status DeleteAll(const std::vector<std::string>& keys) override { return base_->DeleteAll(keys); }
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    return base_->OpenWrite(key);
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size = std::nullopt) override {
    return base_->OpenRead(key, size);
  }
  std::string scheme() const override { return base_->scheme(); }
  std::string origin() const override { return base_->origin(); }

 protected:
  const std::shared_ptr<ObjectStore> base_;
};

}  // namespace timelake::store
