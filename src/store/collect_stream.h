#pragma once

#include <functional>
#include <memory>

#include <arrow/buffer_builder.h>
#include <arrow/io/interfaces.h>

#include "base/error.h"

namespace timelake::store {

// An output stream that collects its bytes and hands them over when it is closed; what the
// hand-over returns is what Close returns. Abort and destruction hand over nothing. Not
// thread-safe.
class CollectStream : public arrow::io::OutputStream {
 public:
  using HandOver = std::function<Status(std::shared_ptr<arrow::Buffer>)>;
  explicit CollectStream(HandOver hand_over) : hand_over_(std::move(hand_over)) {}

  Status Write(const void* data, int64_t size) override {
    if (closed()) return InvalidArgument("write to a closed stream");
    return bytes_.Append(data, size);
  }
  using arrow::io::OutputStream::Write;

  Result<int64_t> Tell() const override { return bytes_.length(); }

  Status Close() override {
    if (closed()) return Status::OK();
    const HandOver hand_over = std::exchange(hand_over_, nullptr);
    TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, bytes_.Finish());
    return hand_over(std::move(bytes));
  }

  Status Abort() override {
    hand_over_ = nullptr;
    return Status::OK();
  }

  bool closed() const override { return hand_over_ == nullptr; }

 private:
  HandOver hand_over_;  // null once closed
  arrow::BufferBuilder bytes_;
};

}  // namespace timelake::store
