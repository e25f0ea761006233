#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include <arrow/buffer.h>

#include "sql/error.h"

namespace timelake::sql {

// Bytes that become an Arrow buffer. It expects each buffer to become as large as the last one.
class GrowingBuffer {
 public:
  int64_t size() const { return size_; }
  uint8_t* data() { return buffer_ ? buffer_->mutable_data() : nullptr; }

  // Room for `more` bytes behind the end; they do not belong to it yet. The pointer holds until the
  // next call.
  uint8_t* Reserve(int64_t more) {
    const int64_t needed = size_ + more;
    if (!buffer_ || needed > buffer_->capacity()) Grow(needed);
    return buffer_->mutable_data() + size_;
  }

  void Advance(int64_t bytes) { size_ += bytes; }

  std::shared_ptr<arrow::Buffer> Finish() {
    Reserve(0);
    // Whoever keeps many results should not keep what they did not need.
    const bool shrink = buffer_->capacity() > size_ + size_ / 64 + 1024;
    ThrowIfError(buffer_->Resize(size_, shrink));
    buffer_->ZeroPadding();
    expected_ = std::exchange(size_, 0);
    return std::exchange(buffer_, nullptr);
  }

 private:
  void Grow(int64_t needed) {
    if (!buffer_) {
      // A little more, so that a batch that is a little larger does not grow again.
      const int64_t likely = expected_ + expected_ / 16 + 64;
      buffer_ = ValueOrThrow(arrow::AllocateResizableBuffer(std::max(needed, likely)));
      return;
    }
    ThrowIfError(buffer_->Resize(std::max(needed, 2 * buffer_->capacity()), false));
  }

  std::unique_ptr<arrow::ResizableBuffer> buffer_;
  int64_t size_ = 0;
  int64_t expected_ = 0;
};

}  // namespace timelake::sql
