#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "base/error.h"

namespace timelake::store {

// A file of known size that is read in ranges: those that ReadRange is asked for lie in the file,
// and are not empty.
class RangedFile : public arrow::io::RandomAccessFile {
 public:
  explicit RangedFile(int64_t size) : size_(size) {}

  virtual Result<std::shared_ptr<arrow::Buffer>> ReadRange(int64_t position, int64_t bytes) = 0;

  Status Close() override {
    closed_ = true;
    return Status::OK();
  }
  bool closed() const override { return closed_; }
  Result<int64_t> Tell() const override { return position_; }
  Status Seek(int64_t position) override {
    if (position < 0) return InvalidArgument("seek to {}", position);
    position_ = position;
    return Status::OK();
  }
  Result<int64_t> GetSize() override { return size_; }

  Result<int64_t> Read(int64_t bytes, void* out) override {
    TL_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, bytes, out));
    position_ += read;
    return read;
  }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    TL_ASSIGN_OR_RAISE(auto read, ReadAt(position_, bytes));
    position_ += read->size();
    return read;
  }
  Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override {
    TL_ASSIGN_OR_RAISE(const auto read, ReadAt(position, bytes));
    std::memcpy(out, read->data(), static_cast<size_t>(read->size()));
    return read->size();
  }
  // Fewer bytes only at the end of the file.
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override {
    if (closed_) return InvalidArgument("read from a closed file");
    if (position < 0 || bytes < 0) return InvalidArgument("read {} bytes at {}", bytes, position);
    bytes = std::min(bytes, std::max<int64_t>(0, size_ - position));
    if (bytes == 0) return arrow::Buffer::FromString("");
    return ReadRange(position, bytes);
  }

 private:
  const int64_t size_;
  std::atomic<bool> closed_ = false;
  int64_t position_ = 0;
};

}  // namespace timelake::store
