#pragma once

#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "table/append_fn.h"
#include "table/catalog.h"
#include "table/rollup_fn.h"
#include "table/row_delete.h"

namespace timelake::sql {

struct TableVersion;

// What the attached catalog and the session share. Thread-safe.
class LakeContext {
 public:
  LakeContext(std::shared_ptr<table::Catalog> catalog, std::string default_namespace,
              table::AppendFn append = {}, table::DeleteFn erase = {}, table::RollupFn rollups = {})
      : catalog_(std::move(catalog)),
        default_namespace_(std::move(default_namespace)),
        append_(std::move(append)),
        erase_(std::move(erase)),
        rollups_(std::move(rollups)) {
    namespaces_.insert(default_namespace_);
  }

  // Gives an engine that no statement is running on to other work: another lake, what else is known
  // of the last one forgotten. null: to none.
  void Reuse(std::shared_ptr<table::Catalog> catalog, table::AppendFn append, table::DeleteFn erase,
             table::RollupFn rollups) {
    std::lock_guard lock(mutex_);
    catalog_ = std::move(catalog);
    append_ = std::move(append);
    erase_ = std::move(erase);
    rollups_ = std::move(rollups);
    namespaces_ = {default_namespace_};
    mentioned_.clear();
    loaded_.clear();
    pinned_.clear();
    refreshed_.clear();
    stale_ = false;
  }

  table::Catalog& catalog() const { return *catalog_; }
  const std::string& default_namespace() const { return default_namespace_; }
  const table::AppendFn& append() const { return append_; }    // empty: the session only reads
  const table::DeleteFn& erase() const { return erase_; }      // likewise
  const table::RollupFn& rollups() const { return rollups_; }  // likewise

  // A DELETE found that the files it had read are others by now: run again, it may succeed. One
  // statement runs at a time.
  void NoteStale() { stale_ = true; }
  bool TakeStale() { return stale_.exchange(false); }

  // Namespaces that were seen once, and the session's own even before it exists. So that neither a
  // bare table name nor a function name (DuckDB looks for those in our catalog too) costs a
  // request.
  bool IsKnown(const std::string& name_space) const {
    std::lock_guard lock(mutex_);
    return namespaces_.count(name_space) > 0;
  }
  std::vector<std::string> known_namespaces() const {
    std::lock_guard lock(mutex_);
    return {namespaces_.begin(), namespaces_.end()};
  }
  void Learn(const std::vector<std::string>& namespaces) {
    std::lock_guard lock(mutex_);
    namespaces_.insert(namespaces.begin(), namespaces.end());
  }

  // DuckDB looks for each function in a schema "main" of our catalog, too. As long as no statement
  // of the session has said that word, no such namespace can be meant, and none is looked for.
  void NoteText(std::string_view text) {
    constexpr std::string_view kMain = "main";
    const auto same = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    };
    if (std::search(text.begin(), text.end(), kMain.begin(), kMain.end(), same) != text.end()) {
      main_is_named_ = true;
    }
  }
  bool main_is_named() const { return main_is_named_; }

  // Whether the statement about to run only reads: then versions that were just asked for will do.
  void SetReading(bool reading) { reading_ = reading; }
  table::Catalog::For use() const {
    return reading_ ? table::Catalog::For::kReading : table::Catalog::For::kWriting;
  }

  // Versions of tables that were loaded to see how a statement is best run: it sees the same.
  using Versions = std::map<std::string, std::shared_ptr<const TableVersion>>;  // by full name
  void SetLoaded(Versions versions) {
    std::lock_guard lock(mutex_);
    loaded_ = std::move(versions);
  }
  std::shared_ptr<const TableVersion> Loaded(const std::string& name) const {
    std::lock_guard lock(mutex_);
    const auto found = loaded_.find(name);
    if (found != loaded_.end()) return found->second;
    const auto pinned = pinned_.find(name);
    return pinned == pinned_.end() ? nullptr : pinned->second;
  }

  // Of the refresh of a rollup: the version of its source that all statements see, and its name, as
  // it is not made from itself.
  void Pin(Versions versions, std::string refreshed) {
    std::lock_guard lock(mutex_);
    pinned_ = std::move(versions);
    refreshed_ = std::move(refreshed);
  }
  std::string refreshed() const {
    std::lock_guard lock(mutex_);
    return refreshed_;
  }

  // The tables that the statement about to run seems to read: loaded at once when the first of them
  // is asked for. Only a hint; a name may be that of a view or of nothing.
  void SetMentioned(std::vector<table::TableName> tables) {
    std::lock_guard lock(mutex_);
    mentioned_ = std::move(tables);
  }
  std::vector<table::TableName> TakeMentioned() {
    std::lock_guard lock(mutex_);
    return std::exchange(mentioned_, {});
  }

 private:
  // These change only where nothing runs.
  std::shared_ptr<table::Catalog> catalog_;
  const std::string default_namespace_;
  table::AppendFn append_;
  table::DeleteFn erase_;
  table::RollupFn rollups_;
  std::atomic<bool> stale_{false};
  std::atomic<bool> reading_{false};
  std::atomic<bool> main_is_named_{false};
  mutable std::mutex mutex_;
  std::set<std::string> namespaces_;
  std::vector<table::TableName> mentioned_;
  Versions loaded_, pinned_;
  std::string refreshed_;
};

}  // namespace timelake::sql
