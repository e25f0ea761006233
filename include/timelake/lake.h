#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "timelake/options.h"
#include "timelake/table.h"

namespace timelake {

struct DropOptions {
  bool if_exists = false;
  // Also deletes the data files at once, after the drop is certain. Readers of the table fail.
  bool purge = false;
};

// What a lake's cache of immutable objects has done since the lake was opened, and holds. Blocks
// are of 64 KiB.
struct CacheStats {
  int64_t memory_hits = 0;    // blocks found in memory
  int64_t disk_hits = 0;      // blocks, or whole small objects, found in the folder
  int64_t misses = 0;         // asked of the store
  int64_t requests = 0;       // ranged reads that the misses took
  int64_t bytes_hit = 0;      // found in memory
  int64_t bytes_fetched = 0;  // from the store
  int64_t evictions = 0;      // blocks that left memory for others
  int64_t memory_bytes = 0, memory_limit = 0;
  int64_t disk_bytes = 0, disk_limit = 0;  // of the folder, whoever filled it; 0: no folder
  int64_t damaged = 0;        // files of the folder that were not what was written, removed
  int64_t failed_writes = 0;  // to the folder
};

namespace detail {
class LakeImpl;
}

// A warehouse: a folder or bucket prefix of namespaces of tables. Cheap to copy; thread-safe.
class Lake {
 public:
  // `location`: a path ("~" is expanded) or URI: file://, s3://, memory://. Does no I/O: a folder
  // that is not there yet is made by the first create. Unknown scheme, storage option or setting ->
  // kInvalidArgument.
  static arrow::Result<Lake> Open(std::string_view location, const LakeOptions& options = {});

  explicit Lake(std::shared_ptr<detail::LakeImpl> impl);

  const std::string& location() const;  // URI of the root

  // `name`: "table" (namespace "default") or "namespace.table", of [A-Za-z0-9_-].
  // kAlreadyExists unless `if_not_exists`.
  arrow::Result<Table> CreateTable(std::string_view name,
                                   const std::shared_ptr<arrow::Schema>& schema,
                                   const TableOptions& options);
  // Columns as text: "time:timestamptz, device:string!, v:double" ('!': required).
  arrow::Result<Table> CreateTable(std::string_view name, std::string_view schema,
                                   const TableOptions& options);

  // kNotFound names the table and, if one is near, a similar name.
  arrow::Result<Table> OpenTable(std::string_view name);

  // "namespace.table" of every table that is not dropped, sorted; all namespaces when empty.
  arrow::Result<std::vector<std::string>> ListTables(std::string_view name_space = "");
  arrow::Result<std::vector<std::string>> ListNamespaces();

  // Commits the table's last version. The name can be created again; other handles get an error.
  arrow::Status DropTable(std::string_view name, const DropOptions& options = {});

  // nullopt: nothing is kept (local folders, storage option timelake_cache = off).
  std::optional<CacheStats> cache_stats() const;

  const std::shared_ptr<detail::LakeImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<detail::LakeImpl> impl_;
};

// One row per setting, for `timelake settings` and docs/settings.md.
struct SettingInfo {
  std::string name;
  std::string default_value;
  std::string levels;    // "create", "table", "session", "call", comma-separated
  std::string accepted;  // e.g. "a duration", "1 .. 2147483647", "zstd, lz4, ..."
  std::string description;
};
std::vector<SettingInfo> AllSettings();

}  // namespace timelake
