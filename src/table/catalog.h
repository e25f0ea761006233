#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "table/contract.h"
#include "table/env.h"
#include "table/handle.h"
#include "table/settings.h"

namespace timelake::table {

// The tables of one warehouse folder. Thread-safe. Handles are shared: opening a table twice gives
// the same handle, so that what one use learnt of the newest version serves the next.
class Catalog {
 public:
  Catalog(Env env, std::string root_key, SettingMap session_settings);

  const Env& env() const { return env_; }
  std::string location_uri() const;
  const SettingMap& session_settings() const { return session_settings_; }

  Result<std::vector<std::string>> Namespaces();  // sorted
  Result<std::vector<std::string>> Tables(
      const std::string& name_space);  // sorted, dropped ones left out

  // The table's handle, refreshed to the newest version: of now, or for one who only reads as
  // LoadForReader has it. kNotFound (with a near name) when it is missing or dropped.
  enum class For { kWriting, kReading };
  Result<std::shared_ptr<Handle>> Open(const TableName& name, For use = For::kWriting);

  Result<std::shared_ptr<Handle>> Create(const TableName& name, const iceberg::Schema& schema,
                                         const TableOptions& options);
  // A table that is not there yet: its handle and the metadata to commit. Keep it once it is there.
  struct Draft {
    std::shared_ptr<Handle> handle;
    iceberg::TableMetadata metadata;
  };
  Result<Draft> MakeDraft(const TableName& name, const iceberg::Schema& schema,
                          const TableOptions& options) const;
  void Keep(const TableName& name, std::shared_ptr<Handle> handle);
  Status Drop(const TableName& name, bool if_exists, bool purge);

  // Forgets the shared handle, e.g. after the table was found dropped or replaced.
  void Evict(const TableName& name);

  // Key of the table folder.
  std::string FolderOf(const TableName& name) const;

 private:
  std::shared_ptr<Handle> Shared(const TableName& name);
  Status MissingTable(const TableName& name);

  Env env_;
  std::string root_;
  SettingMap session_settings_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Handle>> handles_;  // by full name
};

}  // namespace timelake::table
