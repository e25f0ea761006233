#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "iceberg/manifest.h"
#include "write/combine.h"
#include "write/gather.h"
#include "write/parquet_writer.h"
#include "write/write.h"

namespace timelake::write {

struct KeptGroup;

// A file under its store key.
struct StoredFile {
  std::string key;
  iceberg::DataFile file;
};

// What the files of one append have in common.
struct FilePlan {
  // Where and under which names; how the rows are sorted.
  static Result<FilePlan> Make(const table::Env& env, const Target& target, bool sorted);

  const table::Env* env = nullptr;
  const Target* target = nullptr;
  bool sorted = false;  // by `target->order`
  std::vector<SortedBy> sorting;
  std::string folder_key, folder_uri;  // of data/, with a trailing slash
  int64_t now_ms = 0;                  // of file names
  std::function<bool()> cancelled;
  int64_t group_bytes = INT64_MAX;  // of a row group in memory, at most
  bool even_groups = false;         // row groups of one Add are equally long
};

// The data files of one partition, written row group by row group; a new one begins near
// `target-file-size-bytes`. Not thread-safe, but several may be used at once. Destroying it without
// Finish leaves the unfinished file unborn.
class RollingFiles {
 public:
  // Finished files are appended to `files`, also when a later one fails. `seed` decides their
  // names: no two of an append may have the same. `threads`: columns at once.
  static Result<RollingFiles> Make(const FilePlan* plan, std::vector<iceberg::Value> partition,
                                   uint64_t seed, int threads, std::vector<StoredFile>* files);

  // Appends the rows order[begin, end), which follow those before in the order of the table.
  // `in_place`: order[i] is i for all of them.
  Status Add(const Rows& rows, const std::vector<uint32_t>& order, int64_t begin, int64_t end,
             bool in_place);

  // Appends the rows of a row group, which follow those before, without looking at them. `group` is
  // of a KeptFile of `format()`.
  Status Keep(const KeptGroup& group);
  // What files of this partition have in common, whatever their rows: without plans of columns.
  FileFormat format() const;

  Status Finish();

 private:
  // The file being written.
  struct Open {
    std::string name;  // below data/
    FileFormat format;
    std::unique_ptr<DataFileWriter> writer;
    double rows = 0;
    double flushed_rows = 0;    // of which in row groups that have left for the sink
    double bytes = 0;           // size of those
    arrow::ArrayVector recent;  // its columns, if it is small and made of one row group
  };

  int64_t GroupRows(const Rows& rows, int64_t count) const;
  Result<FileFormat> FormatOf(const Rows& rows, const std::vector<uint32_t>& order, int64_t begin,
                              int64_t end, int64_t group_rows) const;
  Status Begin(FileFormat format);
  Status WriteGroup(const Rows& rows, const RowSlice& slice);
  void KeepRecent(const std::string& uri);
  Status CountGroup(int64_t rows);

  const FilePlan* plan_ = nullptr;
  std::vector<iceberg::Value> partition_;
  std::string folder_;  // below data/, with a trailing slash
  std::shared_ptr<Random> random_;
  int threads_ = 1;
  std::vector<StoredFile>* files_ = nullptr;
  Open open_;
  double ratio_ = 0;  // of size in files to size in memory, as seen so far
};

}  // namespace timelake::write
