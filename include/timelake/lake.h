#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "timelake/options.h"
#include "timelake/rollup.h"
#include "timelake/table.h"

namespace timelake {

struct DropOptions {
  bool if_exists = false;
  // Also deletes the data files at once, after the drop is certain. Readers of the table fail.
  bool purge = false;
  // Also drops the rollups that are made from the table; else it is refused while there are any.
  bool cascade = false;
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

// The index by which a web server that lists nothing serves a warehouse.
struct PublishReport {
  struct Table {
    std::string name;  // "namespace.table"
    int64_t version = 0;
    std::string metadata;  // URI of that version
  };
  std::vector<Table> tables;
  std::string index;  // URI of the index
};

// Keys or a token for a bucket, under the names that storage options have for them:
// aws_access_key_id with aws_secret_access_key and perhaps aws_session_token;
// google_oauth_access_token; azure_storage_token, azure_storage_sas_key or
// azure_storage_account_key.
struct StorageCredentials {
  std::map<std::string, std::string> keys;
  int64_t expires_us = 0;  // microseconds UTC since 1970; 0: they do not expire
};

// Asked when the first request is made, and again five minutes before they expire or when the store
// says that they have. From any thread, one at a time for a lake. Must not call into the library.
using CredentialsCallback = std::function<arrow::Result<StorageCredentials>()>;

namespace detail {
class LakeImpl;
}

// A warehouse: a folder or bucket prefix of namespaces of tables. Cheap to copy; thread-safe.
class Lake {
 public:
  // `location`: a path ("~" is expanded) or URI: file://, s3://, gs://, az://, abfss://, memory://;
  // to be read only: http://, https://. Makes no request: a folder that is not there yet is made by
  // the first create. Unknown scheme, storage option or setting -> kInvalidArgument.
  // `credentials`, for s3://, gs:// and az://, stand in the place of those of `storage_options` and
  // of the environment.
  static arrow::Result<Lake> Open(std::string_view location, const LakeOptions& options = {},
                                  CredentialsCallback credentials = nullptr);

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

  // Writes the index of all tables to the root of the warehouse: timelake-index.json, for readers
  // over http:// and https:// (docs/object-stores.md), and timelake-tables.json, for those of the
  // Rust implementation. Versions that come later are found without it; write it again when tables
  // have been created or dropped.
  arrow::Result<PublishReport> Publish();
  // Makes a rollup by its defining query, and fills it: "SELECT host, time_bucket('1m', time) AS
  // bucket, avg(load) AS load FROM cpu GROUP BY ALL". kInvalidArgument, kUnsupported: something in
  // the query cannot be kept; the message says what can. kAlreadyExists.
  arrow::Result<RollupRefresh> CreateRollup(std::string_view name, std::string_view select,
                                            const RollupOptions& options = {});
  // Brings it up to the newest snapshot of its source. Appends and Maintain do so by themselves.
  // kConflict: another refresh was faster.
  arrow::Result<RollupRefresh> RefreshRollup(std::string_view name,
                                             const RefreshRollupOptions& options = {});
  // Of all namespaces, sorted.
  arrow::Result<std::vector<RollupInfo>> ListRollups();
  // kInvalidArgument: a table that is no rollup.
  arrow::Status DropRollup(std::string_view name, bool if_exists = false);

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
