#pragma once

#include <memory>
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
