#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <duckdb/transaction/transaction.hpp>
#include <duckdb/transaction/transaction_manager.hpp>

#include "sql/lake_context.h"
#include "sql/table_entry.h"

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
  duckdb::optional_ptr<duckdb::CatalogEntry> Table(LakeSchema& schema, const std::string& name);

  // Entries of all tables of a namespace that can be opened, loaded concurrently. The others are
  // logged.
  std::vector<duckdb::CatalogEntry*> AllTables(LakeSchema& schema);

  std::vector<std::string> Namespaces();
  std::vector<std::string> TableNames(const std::string& name_space);

 private:
  using Versions = std::vector<Result<std::shared_ptr<const TableVersion>>>;

  Versions Load(const std::vector<table::TableName>& names);
  void Pin(const table::TableName& name, std::shared_ptr<const TableVersion> version);
  std::shared_ptr<const TableVersion> Pinned(const std::string& full_name);
  std::shared_ptr<const TableVersion> Resolve(const table::TableName& name);
  duckdb::CatalogEntry* Entry(LakeSchema& schema, std::shared_ptr<const TableVersion> version,
                              const std::string& table_name);

  LakeContext& lake_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const TableVersion>> pinned_;  // by exact full name
  // Plans point to entries: they live until the transaction ends.
  std::map<std::string, std::unique_ptr<LakeTable>> entries_;
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
