#include "sql/transaction.h"

#include <algorithm>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/main/client_context.hpp>

#include "base/parallel.h"
#include "base/text.h"
#include "sql/error.h"
#include "sql/metadata_tables.h"
#include "sql/schema_entry.h"
#include "sql/session_options.h"
#include "sql/time_travel.h"

namespace timelake::sql {

namespace {

// Tables loaded at the same time. Loading waits for the store, not for a core.
constexpr int kLoadThreads = 16;

Result<std::shared_ptr<const TableVersion>> LoadOne(table::Catalog& catalog,
                                                    const table::TableName& name,
                                                    table::Catalog::For use) {
  TL_ASSIGN_OR_RAISE(const auto handle, catalog.Open(name, use));
  const table::Version version = handle->known();
  if (!version) return NotFound("table {} does not exist", name.full());
  return CurrentVersion(*handle, version, catalog.session_settings());
}

}  // namespace

LakeTransaction::LakeTransaction(duckdb::TransactionManager& manager,
                                 duckdb::ClientContext& context, LakeContext& lake)
    : duckdb::Transaction(manager, context), lake_(lake) {}

LakeTransaction& LakeTransaction::Get(duckdb::ClientContext& context, duckdb::Catalog& catalog) {
  return duckdb::Transaction::Get(context, catalog).Cast<LakeTransaction>();
}

LakeTransaction::Versions LakeTransaction::Load(const std::vector<table::TableName>& names) {
  Versions versions(names.size(), NotFound("not loaded"));
  const table::Catalog::For use = lake_.use();
  // What a load fails with is its own result.
  (void)ParallelFor(static_cast<int>(names.size()), kLoadThreads, [&](int i) {
    const auto at = static_cast<size_t>(i);
    versions[at] = LoadOne(lake_.catalog(), names[at], use);
    return Status::OK();
  });
  return versions;
}

std::shared_ptr<const TableVersion> LakeTransaction::Pinned(const std::string& full_name) {
  std::lock_guard lock(mutex_);
  const auto found = pinned_.find(full_name);
  return found == pinned_.end() ? nullptr : found->second;
}

void LakeTransaction::Pin(const table::TableName& name,
                          std::shared_ptr<const TableVersion> version) {
  std::lock_guard lock(mutex_);
  pinned_.emplace(name.full(), std::move(version));  // the first one stays
}

std::shared_ptr<const TableVersion> LakeTransaction::Resolve(const table::TableName& name) {
  if (auto known = Pinned(name.full())) return known;
  if (auto loaded = lake_.Loaded(name.full())) {
    Pin(name, std::move(loaded));
    return Pinned(name.full());
  }
  std::vector<table::TableName> wanted = {name};
  for (table::TableName& other : lake_.TakeMentioned()) {
    const bool again = std::any_of(wanted.begin(), wanted.end(), [&](const table::TableName& w) {
      return w.full() == other.full();
    });
    if (!again && !Pinned(other.full())) wanted.push_back(std::move(other));
  }
  const Versions versions = Load(wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (versions[i].ok()) Pin(wanted[i], *versions[i]);
  }
  if (versions[0].ok()) return Pinned(name.full());
  if (KindOf(versions[0].status()) != ErrorKind::kNotFound) Throw(versions[0].status());
  return nullptr;
}

duckdb::CatalogEntry* LakeTransaction::Entry(const TableVersion& version,
                                             const std::string& entry_name, const MakeEntry& make) {
  std::optional<int64_t> snapshot;
  if (version.time_travel) snapshot = version.snapshot->snapshot_id;
  const std::string name_space = version.name.substr(0, version.name.find('.'));
  std::lock_guard lock(mutex_);
  auto& entry = entries_[{name_space + "." + entry_name, snapshot}];
  if (!entry) entry = make();
  return entry.get();
}

std::shared_ptr<const TableVersion> LakeTransaction::At(const TableVersion& version,
                                                        const duckdb::BoundAtClause& at) {
  const auto client = context.lock();
  if (!client) Throw(InternalError("a transaction without a connection"));
  const iceberg::Snapshot& snapshot = SnapshotOf(*client, version, at);
  std::lock_guard lock(mutex_);
  auto& known = snapshots_[{version.name, snapshot.snapshot_id}];
  if (!known) known = AtSnapshot(version, snapshot);
  return known;
}

std::string LakeTransaction::ApplyOptions(std::shared_ptr<const TableVersion>* version) {
  const auto client = context.lock();
  if (!client) return "";
  table::SettingMap options = SessionOptionsOf(*client);
  if (options.empty()) return "";
  std::string text;
  for (const auto& [name, value] : options) text += "\n" + name + "=" + value;
  for (const auto& [name, value] : lake_.catalog().session_settings()) {
    options.emplace(name, value);  // the option comes first
  }
  // Always the same object for the same options: entries of a transaction refer to it.
  std::lock_guard lock(mutex_);
  const int64_t snapshot = (*version)->snapshot ? (*version)->snapshot->snapshot_id : -1;
  const std::string key = (*version)->name + text + ((*version)->time_travel ? "\nAT" : "");
  auto& known = snapshots_[{key, snapshot}];
  if (!known) known = ValueOrThrow(WithSettings(**version, options));
  *version = known;
  return text;
}

std::shared_ptr<const TableVersion> LakeTransaction::Find(table::TableName* name) {
  // Also the text of 'file.csv' arrives here: not every name can be a table's.
  if (!table::ParseTableName(name->full()).ok()) return nullptr;
  if (auto version = Resolve(*name)) return version;
  const std::string wanted = ToLowerAscii(name->table);
  for (const std::string& candidate : TableNames(name->name_space)) {
    if (candidate == name->table || ToLowerAscii(candidate) != wanted) continue;
    const table::TableName spelt{name->name_space, candidate};
    if (auto version = Resolve(spelt)) {
      *name = spelt;
      return version;
    }
  }
  return nullptr;
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeTransaction::Table(
    LakeSchema& schema, const duckdb::EntryLookupInfo& lookup) {
  auto metadata = ParseMetadataName(lookup.GetEntryName());
  table::TableName name{schema.name, metadata ? metadata->table : lookup.GetEntryName()};
  auto version = Find(&name);
  if (!version) return nullptr;
  if (const auto at = lookup.GetAtClause()) version = At(*version, *at);
  if (!metadata) {
    const std::string options = ApplyOptions(&version);
    return Entry(*version, name.table + options,
                 [&] { return LakeTable::Make(schema, name.table, version); });
  }
  metadata->table = name.table;
  const std::string entry_name =
      name.table + ToLowerAscii(lookup.GetEntryName().substr(lookup.GetEntryName().rfind('$')));
  return Entry(*version, entry_name, [&] { return MakeMetadataTable(schema, *metadata, version); });
}

std::optional<std::string> LakeTransaction::FindTable(const LakeSchema& schema,
                                                      const std::string& name) {
  table::TableName full{schema.name, name};
  if (!Find(&full)) return std::nullopt;
  return full.table;
}

std::vector<duckdb::CatalogEntry*> LakeTransaction::AllTables(LakeSchema& schema) {
  std::vector<table::TableName> missing;
  const std::vector<std::string> names = TableNames(schema.name);
  for (const std::string& name : names) {
    table::TableName full{schema.name, name};
    if (!Pinned(full.full())) missing.push_back(std::move(full));
  }
  const Versions versions = Load(missing);
  for (size_t i = 0; i < missing.size(); ++i) {
    if (versions[i].ok()) {
      Pin(missing[i], *versions[i]);
    } else if (KindOf(versions[i].status()) != ErrorKind::kNotFound) {  // not: just dropped
      lake_.catalog().env().Log(LogLevel::kWarning, "table " + missing[i].full() +
                                                        " is left out of the list of tables: " +
                                                        MessageOf(versions[i].status()));
    }
  }
  std::vector<duckdb::CatalogEntry*> entries;
  for (const std::string& name : names) {
    auto version = Pinned(table::TableName{schema.name, name}.full());
    if (!version) continue;
    try {
      entries.push_back(
          Entry(*version, name, [&] { return LakeTable::Make(schema, name, version); }));
    } catch (const std::exception&) {
      // A schema that SQL cannot show (two columns that differ in case only); a query names the
      // reason.
    }
  }
  return entries;
}

std::vector<std::string> LakeTransaction::Namespaces() {
  std::lock_guard lock(mutex_);
  if (!namespaces_) {
    namespaces_ = ValueOrThrow(lake_.catalog().Namespaces());
    lake_.Learn(*namespaces_);
  }
  return *namespaces_;
}

std::vector<std::string> LakeTransaction::TableNames(const std::string& name_space) {
  std::lock_guard lock(mutex_);
  const auto found = tables_.find(name_space);
  if (found != tables_.end()) return found->second;
  auto names = lake_.catalog().Tables(name_space);
  if (!names.ok() && KindOf(names.status()) == ErrorKind::kNotFound) {
    names = std::vector<std::string>();
  }
  return tables_[name_space] = ValueOrThrow(std::move(names));
}

LakeTransactionManager::LakeTransactionManager(duckdb::AttachedDatabase& db, LakeContext& lake)
    : duckdb::TransactionManager(db), lake_(lake) {}

duckdb::Transaction& LakeTransactionManager::StartTransaction(duckdb::ClientContext& context) {
  auto transaction = std::make_unique<LakeTransaction>(*this, context, lake_);
  std::lock_guard lock(mutex_);
  auto* key = transaction.get();
  transactions_[key] = std::move(transaction);
  return *key;
}

void LakeTransactionManager::Forget(duckdb::Transaction& transaction) {
  std::lock_guard lock(mutex_);
  transactions_.erase(&transaction);
}

duckdb::ErrorData LakeTransactionManager::CommitTransaction(duckdb::ClientContext&,
                                                            duckdb::Transaction& transaction) {
  Forget(transaction);
  return duckdb::ErrorData();
}

void LakeTransactionManager::RollbackTransaction(duckdb::Transaction& transaction) {
  Forget(transaction);
}

void LakeTransactionManager::Checkpoint(duckdb::ClientContext&, bool) {}

}  // namespace timelake::sql
