#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "timelake/lake.h"
#include "timelake/table.h"

namespace timelake {

enum class FileFormat { kAuto, kParquet, kCsv, kTsv };

struct ReadFilesOptions {
  FileFormat format =
      FileFormat::kAuto;  // by suffix (.parquet .csv .tsv, each also .gz) and magic bytes
  // Spellings of NULL besides the empty field. Default: NA, N/A, null, NULL, Null, in columns that
  // are not text (there only an unquoted empty field is NULL). A list given here holds for all
  // columns. Binary and fixed columns: "\xHH" is one byte, everything else stands for itself.
  std::optional<std::vector<std::string>> null_values;
  std::string delimiter;  // empty: ',' for CSV, tab for TSV
  // Stops the inference of types, which reads all of a text file; polled between batches. Imports
  // take AppendOptions::cancelled where this is empty.
  std::function<bool()> cancelled;
};

struct ImportOptions {
  ReadFilesOptions read;
  AppendOptions append;  // batch_id: "-<number>" is added when there are several commits
  // A commit ends with the file in which it reaches so many rows; 0: one commit per file. A file is
  // never divided, whatever its size: memory is bounded by the setting write-memory-bytes.
  int64_t rows_per_commit = 10'000'000;
  std::function<void(int64_t rows, int64_t bytes_done, int64_t bytes_total)> progress;
};

struct ImportResult {
  int64_t rows = 0;
  int64_t skipped = 0;
  int64_t files = 0;  // data files
  int64_t bytes = 0;
  int64_t commits = 0;
  int64_t duplicates = 0;  // commits whose batch id was known
  int64_t version = 0;
  std::vector<std::string> added_columns;  // that the table has got: setting `new-columns`
};

// Files that `paths` name: files, folders (their files of one format, sorted), globs (sorted). A
// path that matches nothing -> kNotFound.
arrow::Result<std::vector<std::string>> ExpandFiles(const std::vector<std::string>& paths,
                                                    FileFormat format = FileFormat::kAuto);

// Schema of a file, types inferred from all of it: never a type that would lose a value.
arrow::Result<std::shared_ptr<arrow::Schema>> InferSchema(const std::string& path,
                                                          const ReadFilesOptions& options = {});

// Appends files to a table, types as the table declares. A value that does not fit ->
// kInvalidArgument naming file, line, column and text; nothing of that file is committed.
// `committed`, if given, says what earlier commits of the same call hold, also after an error.
arrow::Result<ImportResult> ImportFiles(Table& table, const std::vector<std::string>& files,
                                        const ImportOptions& options = {},
                                        ImportResult* committed = nullptr);

// The rows of files as ImportFiles appends them, for Table::Append or an Appender; errors name file
// and line or row. Of the options those of reading, and of `append` on_future and settings.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ReadFiles(
    const Table& table, const std::vector<std::string>& files, const ImportOptions& options = {});

// Creates the table from the first file's schema, then ImportFiles. A failure before anything was
// committed drops the just created table.
arrow::Result<ImportResult> CreateAndImport(Lake& lake, std::string_view name,
                                            const std::vector<std::string>& files,
                                            const TableOptions& table_options,
                                            const ImportOptions& options = {},
                                            ImportResult* committed = nullptr);

struct AppenderOptions {
  // batch_id: "-<number>" is added for each commit, so no other run may have the same; empty: a
  // random one.
  AppendOptions append;
  int64_t flush_rows = 100'000;      // a commit begins when so many rows wait,
  int64_t flush_interval_ms = 1000;  // or when the oldest of them has waited so long
  // A local file that keeps the rows which were taken and are not committed yet; empty: none.
  // Append then returns when they are on the disk. Open commits what an earlier process left in it,
  // once, and Close removes it. For one table and one appender at a time.
  std::string write_ahead = {};
};

struct AppenderStats {
  int64_t rows = 0;     // durable
  int64_t skipped = 0;  // dropped by `on_future = skip`
  int64_t commits = 0;
  int64_t version = 0;    // of the last commit
  int64_t recovered = 0;  // rows that Open found in the write-ahead file and committed
};

// Turns many small writes into few commits. Rows wait in memory, and while one commit is under way
// the next gathers; what is not yet acknowledged is lost with the process, unless there is a
// write-ahead file. A commit whose outcome is unknown is repeated with its batch id. Thread-safe.
class Appender {
 public:
  // kInvalidArgument: the write-ahead file is in use, or of another table. kCorrupt: it is damaged.
  // Errors of commits of what it holds leave it as it is.
  static arrow::Result<std::shared_ptr<Appender>> Open(const Table& table,
                                                       const AppenderOptions& options = {});
  // As Close; an error goes to the log.
  ~Appender();

  // Takes all rows of `reader`, or none: what does not fit is refused here, as by Table::Append,
  // and does no harm to the rows of others. Returns the number of this write. Waits while more than
  // four commits' rows are waiting.
  arrow::Result<int64_t> Append(arrow::RecordBatchReader* reader);
  arrow::Result<int64_t> Append(const std::shared_ptr<arrow::RecordBatch>& batch);

  // Waits until a write is durable; the error of the commit that it was in.
  arrow::Status Wait(int64_t write);

  // Commits what waits, and waits for it. The first error since the last Flush: the rows of that
  // commit are not in the table (but see kCommitUnknown), later ones may be.
  arrow::Result<AppenderStats> Flush();

  // Flush, then nothing more is taken. Closing again is fine.
  arrow::Result<AppenderStats> Close();

 private:
  class Impl;
  explicit Appender(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace timelake
