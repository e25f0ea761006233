#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/partition_less.h"
#include "write/held_rows.h"
#include "write/newest.h"
#include "write/partition_files.h"
#include "write/run_merger.h"
#include "write/spill.h"

namespace timelake::write {

// An append of more rows than its memory holds: they come part by part, and the files are those
// that one append in memory would write, but for where row groups and files end.
//
// Each part is sorted. Of a partition that is over (no row of it in the last quarter of the part)
// and of input that is in order so far the rows go straight into data files. Of the rest little is
// carried over into the next part, much waits in sorted runs in a SpillFile. In the end the runs of
// each partition are merged; where rows went straight into files that later ones belong before,
// those files are read back as the first run, and replaced. Not thread-safe.
class BoundedAppend {
 public:
  // All pointers outlive it. The finished files are appended to `files` by the destructor, also
  // when the append has failed.
  BoundedAppend(const table::Env* env, const Target* target, const WriteOptions* options,
                int threads, std::vector<StoredFile>* files);
  ~BoundedAppend();

  using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

  // The next part, in the order of arrival; `last`: nothing follows. Gives rows back that must come
  // first in the next part.
  Result<Batches> Add(Batches part, bool last);

  // Merges what waits. Files that are replaced are deleted.
  Status Finish();

  int spec_id() const { return target_->spec.spec_id; }  // of the files
  int64_t duplicates() const { return duplicates_; }
  Result<std::shared_ptr<arrow::RecordBatch>> Newest() { return newest_.Finish(); }

 private:
  struct Lane;
  enum class Way { kSpill, kStraight, kKeepOpen };

  using Readers = std::vector<std::shared_ptr<arrow::RecordBatchReader>>;

  Status CheckCancelled() const;
  Status Prepare(bool sorted);
  Lane* LaneOf(const std::vector<iceberg::Value>& partition);
  Result<bool> Follows(const Lane& lane, const Rows& rows, uint32_t row) const;
  Result<Way> WayOf(const Lane& lane, const Rows& rows, const Arrangement& arrangement,
                    const PartitionRun& run, bool last) const;
  Result<Batches> Write(const Rows& rows, const Arrangement& arrangement, bool last);
  Result<Batches> Carry(const Rows& rows, const std::vector<uint32_t>& order) const;
  Status CloseOpenLane();
  Status AddToOpen(Lane* lane, const Rows& rows, const Arrangement& arrangement,
                   const PartitionRun& run);
  Status Spill(Lane* lane, const Rows& rows, const Arrangement& arrangement,
               const PartitionRun& run);
  Result<SpilledRun> MergeToRun(Readers readers);
  Result<Readers> ReadersOf(const Lane& lane);
  Status Merge(Lane* lane);

  const table::Env* env_;
  const Target* target_;
  std::unique_ptr<const Target> coarse_;  // what `target_` is then
  const WriteOptions* options_;
  int threads_;
  std::vector<StoredFile>* files_;
  MemoryPlan memory_;
  std::vector<OrderColumn> order_;  // of rows within a partition
  // By what two rows differ that are both kept: the order, with dedup without ingest time.
  std::vector<OrderColumn> distinct_;
  FilePlan plan_;
  bool prepared_ = false;
  std::unique_ptr<SpillFile> spill_;  // of the first run on
  std::map<std::vector<iceberg::Value>, std::unique_ptr<Lane>, iceberg::PartitionLess> lanes_;
  Lane* open_lane_ = nullptr;  // the one whose file goes on with the next part
  NewestRows newest_;
  int64_t duplicates_ = 0;
};

}  // namespace timelake::write
