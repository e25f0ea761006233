#include "store/moved_store.h"

#include "store/scheme.h"

namespace timelake::store {

std::string PlaceOf(const std::string& key, const std::string& old_folder,
                    const std::string& new_folder) {
  const size_t length = old_folder.size();
  const bool below = key.size() > length && key.starts_with(old_folder) && key[length] == '/';
  return below ? new_folder + key.substr(length) : key;
}

namespace {

class MovedStore : public ObjectStore {
 public:
  MovedStore(std::shared_ptr<ObjectStore> base, std::string old_folder, std::string new_folder)
      : base_(std::move(base)), old_(std::move(old_folder)), new_(std::move(new_folder)) {}

  Result<GetReply> Get(const std::string& key) override { return base_->Get(Place(key)); }
  Result<HeadReply> Head(const std::string& key) override { return base_->Head(Place(key)); }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    return base_->OpenRead(Place(key), size);
  }
  Result<ListReply> List(const std::string& prefix) override { return base_->List(prefix); }
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override {
    return base_->ListFolders(prefix);
  }
  std::string scheme() const override { return base_->scheme(); }
  std::string origin() const override { return base_->origin(); }
  std::shared_ptr<ObjectStore> direct() override {
    auto below = base_->direct();
    return below ? MakeMovedStore(std::move(below), old_, new_) : nullptr;
  }
  std::optional<std::string> KeyOfCopied(std::string_view uri) const {
    std::string placed = PlaceOf(std::string(uri), old_, new_);
    if (placed == uri) return std::nullopt;
    return placed;
  }
  bool has_compare_and_swap() const override { return base_->has_compare_and_swap(); }

  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer>) override {
    return Refuse(key);
  }
  Status Sync(const std::vector<std::string>&) override { return Status::OK(); }
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer>) override {
    return Refuse(key);
  }
  Result<ConditionalPutReply> PutIfMatch(const std::string& key, std::shared_ptr<arrow::Buffer>,
                                         const std::optional<std::string>&) override {
    return Refuse(key);
  }
  Status Delete(const std::string& key) override { return Refuse(key); }
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    return Refuse(key);
  }

 private:
  std::string Place(const std::string& key) const { return PlaceOf(key, old_, new_); }
  Status Refuse(const std::string& key) const {
    TL_RETURN_NOT_OK(CheckWritable(*base_, Place(key)));
    return Unsupported(
        "{}: the table was moved from {} to {}; it can be read here, and "
        "written after `timelake relocate`",
        key, old_, new_);
  }

  const std::shared_ptr<ObjectStore> base_;
  const std::string old_;
  const std::string new_;
};

}  // namespace

std::shared_ptr<ObjectStore> MakeMovedStore(std::shared_ptr<ObjectStore> base,
                                            std::string old_folder, std::string new_folder) {
  return std::make_shared<MovedStore>(std::move(base), std::move(old_folder),
                                      std::move(new_folder));
}

std::optional<std::string> KeyOfCopy(const ObjectStore& store, std::string_view uri) {
  const auto* moved = dynamic_cast<const MovedStore*>(&store);
  return moved == nullptr ? std::nullopt : moved->KeyOfCopied(uri);
}

}  // namespace timelake::store
