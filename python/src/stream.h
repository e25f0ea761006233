#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "arrow_io.h"
#include "fork.h"

namespace timelake::python {

// A result that is read once, by one reader: batches read ahead, then those of `reader`.
// Thread-safe.
class Stream {
 public:
  // `interrupt` stops the statement behind it; `ended` is called once, when the reader has ended,
  // failed or been closed and is destroyed.
  Stream(BatchReaderPtr reader, std::function<void()> interrupt, std::function<void()> ended);
  ~Stream();

  const SchemaPtr& schema() const { return schema_; }

  // Reads ahead up to about `rows` rows, so that a small result holds nothing open.
  arrow::Status ReadAhead(int64_t rows);

  // The next batch, or null at the end.
  arrow::Result<BatchPtr> Next();
  void Interrupt();
  void Close();

  // Batches read ahead, without taking them.
  std::deque<BatchPtr> ahead() const;
  bool ended() const;  // all that is left is in ahead()

 private:
  arrow::Result<BatchPtr> Read();
  void End();

  const SchemaPtr schema_;
  const std::function<void()> interrupt_;
  mutable std::mutex mutex_;  // held while a batch is read
  BatchReaderPtr reader_;
  std::deque<BatchPtr> ahead_;
  std::function<void()> ended_;
  std::mutex interrupt_mutex_;
  bool open_ = true;  // afterwards the session may run someone else's statement
};

// The Python object of a stream.
nb::object WrapStream(std::shared_ptr<Stream> stream);

void BindStream(nb::module_& m);

}  // namespace timelake::python
