#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace timelake {

// A rollup is a table of aggregates of another table, one row a group and time bucket, that is kept
// up to date from what changes there. docs/rollups.md.

struct RollupOptions {
  bool or_replace = false;     // a rollup of that name is made anew; no other table is
  bool if_not_exists = false;  // leaves what is there
  // Settings of the table that it is: "retention", "chunk", "rollup-refresh-interval", ...
  std::map<std::string, std::string> settings;
  std::function<bool()> cancelled;  // polled from several threads
};

struct RefreshRollupOptions {
  bool full = false;      // all buckets, whatever has changed
  int64_t max_bytes = 0;  // of data files of the source that are read; 0: no limit. Run it again.
  std::function<bool()> cancelled;
};

struct RollupRefresh {
  std::string rollup;    // "namespace.table"
  int64_t rows = 0;      // written
  int64_t ranges = 0;    // of time, that were computed
  int64_t left = 0;      // that max_bytes left for the next refresh
  bool changed = false;  // false: nothing was new, and nothing was committed
};

struct RollupInfo {
  std::string rollup;                   // "namespace.table"
  std::string source;                   // likewise
  std::string width;                    // of its buckets: "1h", "1mo", "1d Europe/Paris"
  std::vector<std::string> keys;        // columns of the source that it is grouped by
  std::vector<std::string> aggregates;  // "avg(temp) AS mean_temp"
  std::string filter;                   // SQL; empty: none
  std::string refresh_interval;         // a duration or "off"
  std::string retention;                // a duration; empty: for ever
  int64_t source_sequence = -1;         // of the source's snapshot that it has got to; -1: none
  bool stale = false;                   // the source has changed since
};

// Of the properties of a table (TableInfo): the table that it is a rollup of, empty for others, and
// the rollups that it lists.
std::string RollupSourceOf(const std::map<std::string, std::string>& properties);
std::vector<std::string> RollupsOf(const std::map<std::string, std::string>& properties);

}  // namespace timelake
