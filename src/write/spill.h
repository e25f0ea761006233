#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "base/error.h"

namespace timelake::write {

// Sorted rows on disk: one Arrow IPC stream inside a SpillFile.
struct SpilledRun {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t rows = 0;
};

// Rows of one append that wait to be merged, compressed (LZ4), in a file without a name: it is gone
// when it is closed or its process ends, however it ends. Not thread-safe.
class SpillFile {
 public:
  using NextBatch = std::function<Result<std::shared_ptr<arrow::RecordBatch>>()>;

  // In `folder`; empty: TMPDIR, else /tmp. An error names the folder and the setting.
  static Result<std::unique_ptr<SpillFile>> Create(const std::string& folder);

  // Appends a run of the batches that `next` gives until it gives null; each may have dictionaries
  // of its own. Compressed on several threads if `parallel`.
  Result<SpilledRun> Write(const std::shared_ptr<arrow::Schema>& schema, const NextBatch& next,
                           bool parallel);

  // The batches of a run, once: what has been read is given back to the file system where it can
  // be. The file must outlive the reader.
  Result<std::shared_ptr<arrow::RecordBatchReader>> Read(const SpilledRun& run) const;

  int64_t bytes_written() const { return end_; }

 private:
  class Reader;

  explicit SpillFile(std::string folder) : folder_(std::move(folder)) {}
  Status WithFolder(const Status& status) const;

  std::string folder_;
  std::shared_ptr<arrow::io::OutputStream> sink_;
  std::shared_ptr<arrow::io::RandomAccessFile> source_;
  int fd_ = -1;  // of `source_`, which owns it
  int64_t end_ = 0;
};

}  // namespace timelake::write
