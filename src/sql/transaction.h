#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <duckdb/transaction/transaction.hpp>
#include <duckdb/transaction/transaction_manager.hpp>

#include "sql/lake_context.h"
#include "sql/table_entry.h"

namespace duckdb {
class BoundAtClause;
}

namespace timelake::sql {

class LakeSchema;

// What one query (or BEGIN ... COMMIT) has seen of the lake. A table is pinned at the version that
// its first lookup finds, so all its mentions read one snapshot; lists are read once. Thread-safe.
class LakeTransaction : public duckdb::Transaction {
 public:
  LakeTransaction(duckdb::TransactionManager& manager, duckdb::ClientContext& context,
                  LakeContext& lake);

  static LakeTransaction& Get(duckdb::ClientContext& context, duckdb::Catalog& catalog);

  // The entry of a table, name in any case; null when there is none. Other errors are thrown.
  // `lookup` may have an AT clause: it chooses among the snapshots of the pinned version.
  duckdb::optional_ptr<duckdb::CatalogEntry> Table(LakeSchema& schema,
                                                   const duckdb::EntryLookupInfo& lookup);

  // The exact name of a table, given in any case.
  std::optional<std::string> FindTable(const LakeSchema& schema, const std::string& name);

  // Entries of all tables of a namespace that can be opened, loaded concurrently. The others are
  // logged.
  std::vector<duckdb::CatalogEntry*> AllTables(LakeSchema& schema);

  // The versions of tables that were looked up, by full name.
  std::map<std::string, std::shared_ptr<const TableVersion>> pinned() {
    std::lock_guard lock(mutex_);
    return pinned_;
  }

  std::vector<std::string> Namespaces();
  std::vector<std::string> TableNames(const std::string& name_space);

 private:
  using Versions = std::vector<Result<std::shared_ptr<const TableVersion>>>;

  Versions Load(const std::vector<table::TableName>& names);
  void Pin(const table::TableName& name, std::shared_ptr<const TableVersion> version);
  std::shared_ptr<const TableVersion> Pinned(const std::string& full_name);
  std::shared_ptr<const TableVersion> Resolve(const table::TableName& name);
  // The pinned version of a table, name in any case; corrects `name`.
  std::shared_ptr<const TableVersion> Find(table::TableName* name);
  // The same version with the snapshot of an AT clause.
  std::shared_ptr<const TableVersion> At(const TableVersion& version,
                                         const duckdb::BoundAtClause& at);
  // The version as the options of the connection want it; their text.
  std::string ApplyOptions(std::shared_ptr<const TableVersion>* version);
  // The entry `entry_name` of a table at one of its snapshots; `make` is called for a new one.
  using MakeEntry = std::function<std::unique_ptr<duckdb::TableCatalogEntry>()>;
  duckdb::CatalogEntry* Entry(const TableVersion& version, const std::string& entry_name,
                              const MakeEntry& make);

  LakeContext& lake_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const TableVersion>> pinned_;  // by exact full name
  // Plans point to entries: they live until the transaction ends.
  using EntryKey = std::pair<std::string, std::optional<int64_t>>;  // full name, snapshot of AT
  std::map<EntryKey, std::unique_ptr<duckdb::TableCatalogEntry>> entries_;
  std::map<EntryKey, std::shared_ptr<const TableVersion>> snapshots_;
  std::optional<std::vector<std::string>> namespaces_;
  std::map<std::string, std::vector<std::string>> tables_;
};

class LakeTransactionManager : public duckdb::TransactionManager {
 public:
  LakeTransactionManager(duckdb::AttachedDatabase& db, LakeContext& lake);

  duckdb::Transaction& StartTransaction(duckdb::ClientContext& context) override;
  duckdb::ErrorData CommitTransaction(duckdb::ClientContext& context,
                                      duckdb::Transaction& transaction) override;
  void RollbackTransaction(duckdb::Transaction& transaction) override;
  void Checkpoint(duckdb::ClientContext& context, bool force) override;

 private:
  void Forget(duckdb::Transaction& transaction);

  LakeContext& lake_;
  std::mutex mutex_;
  std::map<duckdb::Transaction*, std::unique_ptr<LakeTransaction>> transactions_;
};

}  // namespace timelake::sql
