#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/record_batch.h>

#include "maintain/merge_files.h"
#include "write/newest.h"
#include "write/rolling_files.h"
#include "write/sort.h"

namespace timelake::maintain {

// The files of one partition that a merge writes: its rows come in the order of the table, part by
// part.
class MergeOutput {
 public:
  // `group_bytes`: memory for a row group. All but the last outlive it.
  MergeOutput(const table::Env& env, const write::Target& target, const MergeRequest& request,
              int64_t group_bytes);

  // Finished files are in `files`, also after an error.
  Status Begin(std::vector<write::StoredFile>* files);
  Status Add(const write::Rows& rows, const write::Arrangement& arrangement);
  // A row group as it is; the newest of its rows come through AddNewest.
  Status Keep(const write::KeptGroup& group) { return files_->Keep(group); }
  Status AddNewest(const write::Rows& rows, const std::vector<uint32_t>& positions);
  Status Finish();

  write::FileFormat format() const { return files_->format(); }
  // The target without its partition spec: the partition is known, rows need not be asked.
  const write::Target& unpartitioned() const { return unpartitioned_; }
  // As MergedFiles has it, once it is finished.
  std::shared_ptr<arrow::RecordBatch> newest() const { return newest_; }

 private:
  const table::Env& env_;
  const write::Target& target_;
  const MergeRequest& request_;
  const int64_t group_bytes_;
  write::Target unpartitioned_;
  write::FilePlan plan_;
  std::optional<write::RollingFiles> files_;
  write::NewestRows newest_rows_;
  std::shared_ptr<arrow::RecordBatch> newest_;
};

}  // namespace timelake::maintain
