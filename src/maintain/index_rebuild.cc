#include "maintain/index_rebuild.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "index/last_value_index.h"
#include "index/next_index.h"
#include "maintain/live_files.h"
#include "maintain/newest_of.h"
#include "table/rewrite.h"

namespace timelake::maintain {
namespace {

Result<std::optional<table::IndexObject>> WholeTable(const table::Handle& handle,
                                                     const table::Version& base,
                                                     int64_t snapshot_id, const LiveFiles& live) {
  const table::Env& env = handle.env();
  TL_ASSIGN_OR_RAISE(const table::Contract contract, table::ReadContract(*base.metadata));
  std::vector<const scan::ScanFile*> files;
  for (const LiveFile& file : live.files()) files.push_back(file.file);
  TL_ASSIGN_OR_RAISE(const auto rows, NewestOf(env, live, std::move(files), contract));
  TL_ASSIGN_OR_RAISE(auto object, index::WholeIndex(env, handle.folder(), snapshot_id, rows,
                                                    *iceberg::CurrentSchema(*base.metadata)));
  return object;
}

}  // namespace

Result<IndexRebuildReport> RunIndexRebuild(table::Handle& handle, const write::Target& target,
                                           int64_t max_bytes, const table::CommitOptions& options) {
  const table::Env& env = handle.env();
  IndexRebuildReport report;
  const auto plan = [&](const table::Version& base,
                        int64_t) -> Result<std::optional<table::Rewrite>> {
    const iceberg::Snapshot* head = iceberg::CurrentSnapshot(*base.metadata);
    if (head == nullptr) return std::nullopt;
    TL_ASSIGN_OR_RAISE(const table::Contract contract, table::ReadContract(*base.metadata));
    if (!contract.is_time_series()) return std::nullopt;
    TL_ASSIGN_OR_RAISE(const auto valid, index::ValidAt(env, *base.metadata, *head, contract));
    if (valid) return std::nullopt;
    TL_ASSIGN_OR_RAISE(auto read, LiveFiles::Read(env, base.metadata, target));
    const std::shared_ptr<const LiveFiles> live = std::move(read);
    if (!live->delete_paths().empty()) return std::nullopt;
    int64_t bytes = 0;
    for (const LiveFile& file : live->files()) bytes += file.file->data->file_size_in_bytes;
    report.bytes_left = max_bytes > 0 && bytes > max_bytes ? bytes : 0;
    if (report.bytes_left > 0) return std::nullopt;
    table::Rewrite rewrite;
    rewrite.operation = "replace";
    rewrite.index = [&handle, live](const table::Version& on, int64_t snapshot_id) {
      return WholeTable(handle, on, snapshot_id, *live);
    };
    return rewrite;
  };
  TL_ASSIGN_OR_RAISE(const auto committed, table::CommitRewrite(handle, plan, options));
  report.rebuilt = committed.committed;
  return report;
}

}  // namespace timelake::maintain
