#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/record_batch.h>
#include <duckdb/parallel/interrupt.hpp>

namespace timelake::sql {

// Arrow batches on their way from the threads that make them to the one reader. Bounded: who would
// add to a full queue is told to wait and called back when there is room.
//
// Where the order of a result counts and several threads make it, each batch belongs to a part of
// the result by its number; a part leaves when all parts before it are complete.
class ResultQueue {
 public:
  enum class Admission { kYes, kWait, kClosed };

  // Before each addition: whether it may be made. After kWait `waiting` is called back.
  Admission Admit(uint64_t part, const duckdb::InterruptState& waiting);

  // Never waits. `full` says that the batch was sent because it had grown enough.
  void Push(uint64_t part, std::shared_ptr<arrow::RecordBatch> batch, int64_t bytes, bool full);

  // All parts before this one are complete.
  void Advance(uint64_t first_open);
  void AdvanceToEnd();

  // The next batch, or several small ones in a row; empty if there is none yet.
  std::vector<std::shared_ptr<arrow::RecordBatch>> Pop();

  // Until a batch can be had, at most so long.
  void WaitForBatch(std::chrono::microseconds at_most);

  // Whether a full batch has come, or somebody had to wait: the result is a large one.
  bool large() const;
  // Bytes of batches that have not been taken.
  int64_t bytes() const;

  // No more batches are wanted; what is here is dropped.
  void Close();

 private:
  struct Entry {
    std::shared_ptr<arrow::RecordBatch> batch;
    int64_t bytes = 0;
  };

  std::shared_ptr<arrow::RecordBatch> PopOne();

  // Who waits; to be called back without the lock.
  std::vector<duckdb::InterruptState> TakeWaiting();

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Entry> ready_;
  std::map<uint64_t, std::vector<Entry>> later_;  // by part
  std::vector<duckdb::InterruptState> waiting_;
  uint64_t first_open_ = 0;
  int64_t ready_bytes_ = 0;
  int64_t later_bytes_ = 0;
  bool large_ = false;
  bool closed_ = false;
};

}  // namespace timelake::sql
