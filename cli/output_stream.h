#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/io/interfaces.h>

#include "status.h"

namespace timelake::cli {

// Where results go: standard output or a file. A file appears under its name only when `Commit` is
// called, so that a failed query leaves what was there before. Unbuffered: callers hand over large
// pieces. A reader that went away gives BrokenPipe.
class ResultStream : public arrow::io::OutputStream {
 public:
  // Standard output when `path` is empty or "-".
  static Result<std::shared_ptr<ResultStream>> Open(const std::string& path);
  ~ResultStream() override;

  Status Write(const void* data, int64_t size) override;
  Status WriteText(std::string_view text) {
    return Write(text.data(), static_cast<int64_t>(text.size()));
  }
  Status Commit();

  Status Close() override { return Status::OK(); }  // by writers that believe they own it
  Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return false; }

 private:
  ResultStream(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  int fd_;
  std::string name_;  // for messages, and the final name of a file
  std::string part_;  // its name until Commit; empty: nothing to rename
  int64_t position_ = 0;
};

// Writes one piece of text to standard output.
Status PrintOut(std::string_view text);

}  // namespace timelake::cli
