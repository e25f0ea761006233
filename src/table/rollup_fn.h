#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace timelake::table {

// A statement about rollups, as SQL or the public API has it.
struct RollupStatement {
  enum class Kind { kCreate, kRefresh, kAlter, kDrop, kShow };
  Kind kind = Kind::kShow;
  std::string name;        // "namespace.table"
  std::string name_space;  // in which `select` finds tables without one
  std::string select;      // kCreate: the defining query
  bool or_replace = false;
  bool if_not_exists = false;
  bool if_exists = false;
  bool full = false;      // kRefresh: all buckets
  int64_t max_bytes = 0;  // of the source that one refresh reads; 0: no limit
  // kCreate, kAlter: settings; nullopt: back to the default.
  std::map<std::string, std::optional<std::string>> settings;
  std::function<bool()> cancelled;  // polled from several threads
};

// What became of one rollup; kShow: what it is.
struct RollupResult {
  std::string rollup;
  int64_t rows = 0;     // written
  int64_t buckets = 0;  // time ranges that were computed anew
  int64_t left = 0;     // time ranges that max_bytes left for the next refresh
  bool changed = false;
  std::string source;
  std::string width;
  std::vector<std::string> keys;
  std::vector<std::string> aggregates;  // "avg(temp) AS mean_temp"
  std::string filter;
  std::string refresh_interval;
  std::string retention;
  int64_t source_sequence = -1;  // up to which it is refreshed; -1: never was
  bool stale = false;            // the source has changed since
};

// Runs it. Injected where SQL is parsed, because the layer that does it lies above.
using RollupFn = std::function<Result<std::vector<RollupResult>>(const RollupStatement&)>;

}  // namespace timelake::table
