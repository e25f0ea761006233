#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "base/error.h"

namespace timelake::store {

// Where a large object goes in parts: the requests of one kind of store.
class PartTarget {
 public:
  struct Part {
    size_t index = 0;
    int64_t offset = 0;
    bool last = false;
    std::shared_ptr<arrow::Buffer> bytes;
  };

  virtual ~PartTarget() = default;

  virtual std::string place() const = 0;  // for messages
  virtual int parallel() const = 0;       // parts at once; 1: they must come in their order
  virtual size_t max_parts() const = 0;

  virtual Status PutWhole(std::shared_ptr<arrow::Buffer> bytes) = 0;
  virtual Status Begin() = 0;
  virtual Status Send(const Part& part) = 0;  // from several threads, if parallel() > 1
  virtual Status Complete(size_t parts, int64_t bytes) = 0;
  virtual void Drop() = 0;  // what Begin began; best effort
};

// A new object: put whole if it is small, else in parts that are sent while more is written. It
// appears when Close has returned ok; destroyed or aborted before, nothing is left. Not
// thread-safe.
std::shared_ptr<arrow::io::OutputStream> MakePartUpload(std::unique_ptr<PartTarget> target);

}  // namespace timelake::store
