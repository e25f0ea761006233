#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "scan/predicate.h"
#include "table/env.h"
#include "table/row_ranges.h"

namespace timelake::scan {

// A data file with all that concerns reading it.
struct ScanFile {
  std::shared_ptr<const iceberg::DataFile> data;  // never null
  int spec_id = 0;
  int64_t sequence_number = 0;
  std::optional<int64_t> snapshot_id;  // that added it
  // Delete files that apply to it (specification, "Scan Planning": sequence numbers, partitions).
  std::vector<std::shared_ptr<const iceberg::DataFile>> position_deletes;
  std::vector<std::shared_ptr<const iceberg::DataFile>> equality_deletes;
  // Positions of rows that a later write replaced, ascending; null: none (see superseded.h).
  std::shared_ptr<const std::vector<int64_t>> superseded;
};

// What a scan looked at, left out and read. "total" counts what was left when the step before had
// pruned: row groups of the files that are read, pages and rows of their row groups.
struct Counters {
  using Count = std::atomic<int64_t>;
  Count manifests_total{0}, manifests_pruned{0};
  Count files_total{0}, files_pruned{0};
  Count row_groups_total{0}, row_groups_pruned{0};
  Count pages_total{0}, pages_read{0};  // of the columns asked for, where an index tells them apart
  Count rows_total{0};                  // of the row groups that are read
  Count rows_read{0};                   // left by the page index, before filters and deletes
  Count rows_passed{0};                 // handed out
  Count rows_superseded{0};             // known in the files of the plan
  Count bytes_read{0};                  // compressed
  Count values_decoded{0};
};

struct Plan {
  std::vector<ScanFile> files;  // ordered by path
  std::shared_ptr<Counters> counters;
};

// Manifests are opened concurrently; pruned by partition summaries, then files by partition values
// and bounds. Files of pruned manifests count as pruned.
// The predicate is in terms of the current schema. `snapshot` null: an empty plan.
Result<Plan> PlanFiles(const table::Env& env, const iceberg::TableMetadata& metadata,
                       const iceberg::Snapshot* snapshot, const Predicate& predicate);

// Which data files that plan has, in no particular order: all that statistics need, and much
// cheaper with many files.
using FileList = std::vector<std::shared_ptr<const iceberg::DataFile>>;
Result<FileList> ListFiles(const table::Env& env, const iceberg::TableMetadata& metadata,
                           const iceberg::Snapshot* snapshot, const Predicate& predicate);

// True when no row of a file with these facts can pass (pure; the heart of file pruning).
bool CanSkipFile(const iceberg::DataFile& file, const iceberg::PartitionSpec& spec,
                 const iceberg::Schema& schema, const Predicate& predicate);

// A filter of one column, as the engine above sees it: RowFilter decides rows by its number.
struct ColumnFilter {
  int field_id = 0;
  std::vector<ColumnTest> tests;  // hold for every row that passes
  bool exact = false;             // a row for which they hold passes
};

// Applies the filters of a request to rows; belongs to one thread.
class RowFilter {
 public:
  virtual ~RowFilter() = default;

  // Takes those positions in the column out of `rows` that do not pass.
  virtual Status Keep(size_t filter, const std::shared_ptr<arrow::ArrayData>& column,
                      table::RowRanges* rows) = 0;
};

// Which files are read first.
struct FileOrder {
  int field_id = 0;
  bool descending = false;
};

// A row of a scan as a number: the place of its file in the plan of the scanner, and its position
// in the file.
struct RowId {
  static constexpr int kPositionBits = 40;
  static constexpr int64_t kMostFiles = int64_t{1} << (63 - kPositionBits);

  size_t file = 0;
  int64_t position = 0;

  static RowId From(int64_t number) {
    return {static_cast<size_t>(number >> kPositionBits),
            number & ((int64_t{1} << kPositionBits) - 1)};
  }
  int64_t number() const { return (static_cast<int64_t>(file) << kPositionBits) | position; }
  auto operator<=>(const RowId&) const = default;
};

// Columns to read, in output order: top-level field ids of the schema.
struct ScanRequest {
  iceberg::Schema schema;  // the snapshot's or the current one
  std::vector<int> field_ids;
  Predicate predicate;                // prunes only
  std::vector<ColumnFilter> filters;  // rows that do not pass are not handed out
  // Tests that have come to hold since the scan began (of a top-N operator above). Any thread.
  std::function<std::vector<ColumnTest>()> live_tests;
  std::optional<FileOrder> order;
  int64_t batch_rows = 65536;
  // Strings come as dictionary<int32, string> from those row groups that store them so, from
  // others plain: a reader's schema may differ from the scanner's in this.
  bool keep_dictionaries = false;
  // Batches have one more column at the end: which row it is, see RowId.
  bool row_ids = false;
  int threads = 1;  // that will call Next: decides how finely work is cut
};

// Runs a plan. Thread-safe: each worker calls Next for a morsel's reader. Deleted rows and rows
// that a filter refuses are left out.
class Scanner {
 public:
  static Result<std::shared_ptr<Scanner>> Make(const table::Env& env,
                                               const iceberg::TableMetadata& metadata, Plan plan,
                                               ScanRequest request);
  virtual ~Scanner() = default;

  virtual std::shared_ptr<arrow::Schema> schema() const = 0;

  // The next morsel's batches, or null when all are handed out, also to other threads. Any thread;
  // `filter` is that thread's, it lives as long as the reader (null: the request has no filters).
  // `first`, if given, is set to the morsel's first row, which a filter may refuse.
  virtual Result<std::shared_ptr<arrow::RecordBatchReader>> Next(RowFilter* filter = nullptr,
                                                                 RowId* first = nullptr) = 0;

  virtual const Plan& plan() const = 0;
};

// A scan of rows in memory: `batch` has the columns of the request's schema.
std::shared_ptr<Scanner> ScanBatch(std::shared_ptr<arrow::RecordBatch> batch, ScanRequest request);

}  // namespace timelake::scan
