#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <arrow/buffer.h>

#include "base/error.h"

namespace timelake::store {

// Pieces of immutable objects in a local folder that processes share. A piece is a file: written
// under another name and renamed, with its own name, length and checksum in it, so that whatever a
// crash, a full disk or another program leaves is a miss and never wrong bytes. All processes count
// what they add together; beyond the budget (which a sixteenth may exceed) one of them, under a
// lock, removes what was used least recently. Thread-safe. Failures to write are counted, not
// reported: a cache that cannot keep is a slow cache.
class DiskCache {
 public:
  // Makes the folder, for its owner alone. An error names it.
  static Result<std::shared_ptr<DiskCache>> Open(std::string folder, int64_t budget_bytes);

  // Null: not there, or damaged (then it is removed).
  std::shared_ptr<arrow::Buffer> Load(const std::string& name);
  ~DiskCache();

  void Store(const std::string& name, const arrow::Buffer& bytes);

  // Removes the least recently used files until nine tenths of the budget are left, if there is
  // more than the budget, and what writers that died left. False: another process is at it.
  bool Sweep();

  int64_t damaged() const { return damaged_; }  // files found so and removed
  int64_t failed_writes() const { return failed_; }
  int64_t limit() const { return budget_; }
  int64_t bytes();  // of the files in the folder now

 private:
  DiskCache(std::string folder, int64_t budget) : folder_(std::move(folder)), budget_(budget) {}
  // Bytes added since the last sweep, plus one; 0: it is not known what there is.
  std::atomic_ref<int64_t> added() const { return std::atomic_ref<int64_t>(*added_); }
  std::string PathOf(const std::string& name) const;
  bool IsFullFor(int64_t size) const;
  bool SweepAlone();  // under `sweeping_`

  const std::string folder_;
  const int64_t budget_;
  int64_t* added_ = nullptr;  // in a file that all processes have in memory
  std::atomic<int64_t> damaged_ = 0;
  std::atomic<int64_t> failed_ = 0;
  std::mutex sweeping_;
};

}  // namespace timelake::store
