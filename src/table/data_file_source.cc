#include "table/data_file_source.h"

#include <string_view>

namespace timelake::table {
namespace {

bool HasKind(const Status& status) { return status.detail() != nullptr; }

// Gives a store's error its kind where the store left it to Arrow's code.
Status Tagged(const Status& status) {
  if (status.ok() || HasKind(status)) return status;
  return MakeError(
      KindOf(status) == ErrorKind::kInvalidArgument ? ErrorKind::kCorrupt : ErrorKind::kIo,
      status.message());
}

template <typename T>
Result<T> Tagged(Result<T> result) {
  if (result.ok()) return result;
  return Tagged(result.status());
}

// Reads by position only. Thread-safe as far as the store's file is.
class Source : public arrow::io::RandomAccessFile {
 public:
  explicit Source(std::shared_ptr<arrow::io::RandomAccessFile> file) : file_(std::move(file)) {}

  Result<int64_t> GetSize() override { return Tagged(file_->GetSize()); }
  Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override {
    return Tagged(file_->ReadAt(position, bytes, out));
  }
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override {
    return Tagged(file_->ReadAt(position, bytes));
  }
  Status WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override {
    return file_->WillNeed(ranges);
  }

  Status Seek(int64_t position) override { return Tagged(file_->Seek(position)); }
  Result<int64_t> Tell() const override { return file_->Tell(); }
  Result<int64_t> Read(int64_t bytes, void* out) override {
    return Tagged(file_->Read(bytes, out));
  }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    return Tagged(file_->Read(bytes));
  }
  Status Close() override { return Tagged(file_->Close()); }
  bool closed() const override { return file_->closed(); }

 private:
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

}  // namespace

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenSource(const Env& env,
                                                                const std::string& uri,
                                                                std::optional<int64_t> size) {
  TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*env.store, uri));
  auto file = env.store->OpenRead(key, size);
  if (!file.ok()) {
    if (KindOf(file.status()) == ErrorKind::kNotFound) return NotFound("{} is missing", uri);
    return WithContext(file.status(), uri);
  }
  return std::make_shared<Source>(*std::move(file));
}

Status ParquetError(const std::string& uri, const std::string& where, const Status& status) {
  if (status.ok()) return status;
  const std::string place = where.empty() ? uri : uri + ": " + where;
  if (HasKind(status)) return WithContext(status, place);
  const std::string& message = status.message();
  // Parquet has no type for what it does not do, only this beginning (ParquetException::NYI).
  const bool unsupported =
      status.IsNotImplemented() || message.rfind("Not yet implemented", 0) == 0;
  if (status.IsOutOfMemory()) return IoError("{}: out of memory: {}", place, message);
  return MakeError(unsupported ? ErrorKind::kUnsupported : ErrorKind::kCorrupt,
                   place + ": " + message);
}

}  // namespace timelake::table
