#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "maintain/live_file.h"
#include "scan/delete_index.h"
#include "table/env.h"
#include "write/write.h"

namespace timelake::maintain {

// Times, both included.
struct TimeWindow {
  int64_t first = 0;
  int64_t last = 0;
};

// What one version of a table says of its files: the input of plans, and of the look at a newer
// version before an outcome is committed. Not copied: parts point at each other.
class LiveFiles {
 public:
  // `target`: the table as maintenance writes it. `window`: only files that may have rows in it are
  // looked for, and those that may have others are unfit, so that of each fit file all that may
  // share a time with it are there. All of a table with delete files, which may apply to any.
  static Result<std::unique_ptr<LiveFiles>> Read(
      const table::Env& env, std::shared_ptr<const iceberg::TableMetadata> metadata,
      const write::Target& target, std::optional<TimeWindow> window = std::nullopt);

  const iceberg::TableMetadata& metadata() const { return *metadata_; }
  const std::vector<LiveFile>& files() const { return files_; }
  const MeetFn& meet() const { return meet_; }

  // "time_day=2026-01-03"; empty: unpartitioned.
  std::string PartitionText(const Home& partition) const;

  // Live delete files, by path.
  const std::vector<std::string>& delete_paths() const { return delete_paths_; }
  // Those that no live file needs: all to which they apply are `done` with them.
  std::set<std::string> UnneededDeletes(
      const std::function<bool(const scan::ScanFile&, const iceberg::DataFile&)>& done) const;
  // Which of them apply to a file.
  const scan::DeleteIndex& deletes() const { return deletes_; }

 private:
  LiveFiles(const table::Env& env, std::shared_ptr<const iceberg::TableMetadata> metadata)
      : metadata_(std::move(metadata)), deletes_(env.store) {}

  Status ReadDeletes(const table::Env& env);
  LiveFile Describe(const scan::ScanFile& file, const write::Target& target,
                    const std::optional<TimeWindow>& window) const;

  std::shared_ptr<const iceberg::TableMetadata> metadata_;
  scan::Plan plan_;
  scan::KeyColumns columns_;
  MeetFn meet_;
  std::vector<LiveFile> files_;
  std::vector<std::string> delete_paths_;
  scan::DeleteIndex deletes_;
};

}  // namespace timelake::maintain
