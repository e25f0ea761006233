#include "store/metered_store.h"

namespace timelake::store {
namespace {

using Metric = std::function<void(const char*, int64_t)>;

class MeteredFile : public arrow::io::RandomAccessFile {
 public:
  MeteredFile(std::shared_ptr<arrow::io::RandomAccessFile> base, Metric metric)
      : base_(std::move(base)), metric_(std::move(metric)) {}

  Status Close() override { return base_->Close(); }
  bool closed() const override { return base_->closed(); }
  Result<int64_t> Tell() const override { return base_->Tell(); }
  Status Seek(int64_t position) override { return base_->Seek(position); }
  Result<int64_t> GetSize() override { return base_->GetSize(); }
  Result<int64_t> Read(int64_t size, void* out) override { return Count(base_->Read(size, out)); }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    return Count(base_->Read(size));
  }
  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    return Count(base_->ReadAt(position, size, out));
  }
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    return Count(base_->ReadAt(position, size));
  }

 private:
  Result<int64_t> Count(Result<int64_t> read) {
    if (read.ok()) Tell(*read);
    return read;
  }
  Result<std::shared_ptr<arrow::Buffer>> Count(Result<std::shared_ptr<arrow::Buffer>> read) {
    if (read.ok()) Tell((*read)->size());
    return read;
  }
  void Tell(int64_t bytes) {
    metric_("store.read_at", 1);
    metric_("store.bytes_read", bytes);
  }

  std::shared_ptr<arrow::io::RandomAccessFile> base_;
  Metric metric_;
};

class MeteredStream : public arrow::io::OutputStream {
 public:
  MeteredStream(std::shared_ptr<arrow::io::OutputStream> base, Metric metric)
      : base_(std::move(base)), metric_(std::move(metric)) {}

  Status Close() override { return base_->Close(); }
  Status Abort() override { return base_->Abort(); }
  bool closed() const override { return base_->closed(); }
  Result<int64_t> Tell() const override { return base_->Tell(); }
  Status Write(const void* data, int64_t size) override {
    metric_("store.bytes_written", size);
    return base_->Write(data, size);
  }
  Status Flush() override { return base_->Flush(); }

 private:
  std::shared_ptr<arrow::io::OutputStream> base_;
  Metric metric_;
};

class MeteredStore : public ObjectStore {
 public:
  MeteredStore(std::shared_ptr<ObjectStore> base, Metric metric)
      : base_(std::move(base)), metric_(std::move(metric)) {}

  Result<GetReply> Get(const std::string& key) override {
    metric_("store.get", 1);
    auto reply = base_->Get(key);
    if (reply.ok() && reply->found) metric_("store.bytes_read", reply->bytes->size());
    return reply;
  }
  Result<HeadReply> Head(const std::string& key) override {
    metric_("store.head", 1);
    return base_->Head(key);
  }
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override {
    Written("store.put", *bytes);
    return base_->Put(key, std::move(bytes));
  }
  Status PutAll(const std::vector<PutRequest>& requests) override {
    for (const auto& request : requests) Written("store.put", *request.bytes);
    return base_->PutAll(requests);
  }
  Status Sync(const std::vector<std::string>& keys) override {
    metric_("store.sync", static_cast<int64_t>(keys.size()));
    return base_->Sync(keys);
  }
  void SyncSoon(const std::vector<std::string>& keys) override { base_->SyncSoon(keys); }
  std::shared_ptr<StagedPut> Stage(const std::string& key,
                                   const std::shared_ptr<arrow::Buffer>& bytes) override {
    return base_->Stage(key, bytes);
  }
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer> bytes) override {
    Written("store.put_if_absent", *bytes);
    return base_->PutIfAbsent(key, std::move(bytes));
  }
  Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                         std::shared_ptr<arrow::Buffer> bytes,
                                         const std::optional<std::string>& expected) override {
    Written("store.put_if_match", *bytes);
    return base_->PutIfMatch(key, std::move(bytes), expected);
  }
  bool has_compare_and_swap() const override { return base_->has_compare_and_swap(); }
  Result<ListReply> List(const std::string& prefix) override {
    metric_("store.list", 1);
    return base_->List(prefix);
  }
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override {
    metric_("store.list_folders", 1);
    return base_->ListFolders(prefix);
  }
  Status Delete(const std::string& key) override {
    metric_("store.delete", 1);
    return base_->Delete(key);
  }
  Status DeleteAll(const std::vector<std::string>& keys) override {
    metric_("store.delete", static_cast<int64_t>(keys.size()));
    return base_->DeleteAll(keys);
  }
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    metric_("store.open_write", 1);
    TL_ASSIGN_OR_RAISE(auto stream, base_->OpenWrite(key));
    return std::make_shared<MeteredStream>(std::move(stream), metric_);
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    metric_("store.open_read", 1);
    TL_ASSIGN_OR_RAISE(auto file, base_->OpenRead(key, size));
    return std::make_shared<MeteredFile>(std::move(file), metric_);
  }
  std::string scheme() const override { return base_->scheme(); }
  std::string origin() const override { return base_->origin(); }

 private:
  void Written(const char* name, const arrow::Buffer& bytes) {
    metric_(name, 1);
    metric_("store.bytes_written", bytes.size());
  }

  std::shared_ptr<ObjectStore> base_;
  Metric metric_;
};

}  // namespace

std::shared_ptr<ObjectStore> MakeMeteredStore(std::shared_ptr<ObjectStore> base, Metric metric) {
  return std::make_shared<MeteredStore>(std::move(base), std::move(metric));
}

}  // namespace timelake::store
