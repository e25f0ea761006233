#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "iceberg/manifest.h"
#include "write/combine.h"
#include "write/gather.h"
#include "write/parquet_writer.h"
#include "write/sort.h"
#include "write/write.h"

namespace timelake::write {

// A file under its store key.
struct StoredFile {
  std::string key;
  iceberg::DataFile file;
};

// The data files of one append. Thread-safe: partitions may be written at once.
class PartitionWriter {
 public:
  struct Plan {
    const table::Env* env;
    const Target* target;
    const Rows* rows;
    const Arrangement* arrangement;
    std::function<bool()> cancelled;
    int64_t now_ms = 0;                             // of file names
    int threads = 1;                                // of one partition
    arrow::internal::Executor* executor = nullptr;  // ... where columns are encoded; null: in place
  };

  static Result<PartitionWriter> Make(Plan plan);

  // Writes partition `i` of the arrangement: one file, or several near `target-file-size-bytes`.
  // Each finished file is appended to `files`, also when a later one fails. `seed` decides their
  // names.
  Status Write(size_t i, uint64_t seed, std::vector<StoredFile>* files) const;

 private:
  struct Progress;

  explicit PartitionWriter(Plan plan) : plan_(std::move(plan)) {}

  int64_t GroupRows() const;
  Status WriteGroup(const RowSlice& slice, const FileFormat& format, DataFileWriter* writer) const;
  Status FinishFile(const PartitionRun& run, Progress* progress,
                    std::vector<StoredFile>* files) const;

  Plan plan_;
  std::string folder_key_, folder_uri_;  // of data/, with a trailing slash
  std::vector<SortedBy> sorting_;
  double row_bytes_ = 0;  // in memory
};

}  // namespace timelake::write
