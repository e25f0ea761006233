#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "table/append_fn.h"
#include "table/catalog.h"

namespace timelake::sql {

// What the attached catalog and the session share. Thread-safe.
class LakeContext {
 public:
  LakeContext(std::shared_ptr<table::Catalog> catalog, std::string default_namespace,
              table::AppendFn append = {})
      : catalog_(std::move(catalog)),
        default_namespace_(std::move(default_namespace)),
        append_(std::move(append)) {
    namespaces_.insert(default_namespace_);
  }

  table::Catalog& catalog() const { return *catalog_; }
  const std::string& default_namespace() const { return default_namespace_; }
  const table::AppendFn& append() const { return append_; }  // empty: the session only reads

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
  const std::shared_ptr<table::Catalog> catalog_;
  const std::string default_namespace_;
  const table::AppendFn append_;
  mutable std::mutex mutex_;
  std::set<std::string> namespaces_;
  std::vector<table::TableName> mentioned_;
};

}  // namespace timelake::sql
