#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "scan/predicate.h"
#include "table/env.h"

namespace timelake::scan {

// A data file with all that concerns reading it.
struct ScanFile {
  iceberg::DataFile file;
  int spec_id = 0;
  int64_t sequence_number = 0;
  // Delete files that apply to it (specification, "Scan Planning": sequence numbers, partitions).
  std::vector<std::shared_ptr<const iceberg::DataFile>> position_deletes;
  std::vector<std::shared_ptr<const iceberg::DataFile>> equality_deletes;
};

struct Counters {
  std::atomic<int64_t> manifests_total{0}, manifests_pruned{0};
  std::atomic<int64_t> files_total{0}, files_pruned{0};
  std::atomic<int64_t> row_groups_total{0}, row_groups_pruned{0};
  // Rows before deletes; compressed bytes of the columns read.
  std::atomic<int64_t> rows_read{0}, bytes_read{0};
};

struct Plan {
  std::vector<ScanFile> files;         // ordered by path
  std::shared_ptr<Counters> counters;
};

// Manifests are opened concurrently; pruned by partition summaries, then files by partition values
// and bounds. Files of pruned manifests count as pruned.
// The predicate is in terms of the current schema. `snapshot` null: an empty plan.
Result<Plan> PlanFiles(const table::Env& env, const iceberg::TableMetadata& metadata,
                       const iceberg::Snapshot* snapshot, const Predicate& predicate);

// True when no row of a file with these facts can pass (pure; the heart of file pruning).
bool CanSkipFile(const iceberg::DataFile& file, const iceberg::PartitionSpec& spec,
                 const iceberg::Schema& schema, const Predicate& predicate);

// A unit of work: some row groups of one file, after row-group pruning.
struct Morsel {
  size_t file = 0;  // in Plan::files
  std::vector<int> row_groups;
};

// Columns to read, in output order: top-level field ids of the schema.
struct ScanRequest {
  iceberg::Schema schema;   // the snapshot's or the current one
  std::vector<int> field_ids;
  Predicate predicate;
  int64_t batch_rows = 2048;
  // Strings come as dictionary<int32, string> from those row groups that store them so, from
  // others plain: a reader's schema may differ from the scanner's in this.
  bool keep_dictionaries = false;
};

// Runs a plan. Thread-safe: each worker calls Next for a morsel's reader. Delete files are
// applied; rows are NOT filtered by the predicate (only files and row groups are pruned).
class Scanner {
 public:
  static Result<std::shared_ptr<Scanner>> Make(const table::Env& env,
                                               const iceberg::TableMetadata& metadata, Plan plan,
                                               ScanRequest request);
  virtual ~Scanner() = default;

  virtual std::shared_ptr<arrow::Schema> schema() const = 0;

  // The next morsel's batches, or null when all are handed out. Any thread.
  virtual Result<std::shared_ptr<arrow::RecordBatchReader>> Next() = 0;

  virtual const Plan& plan() const = 0;
};

}  // namespace timelake::scan
