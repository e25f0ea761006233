#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "table/handle.h"
#include "table/settings.h"
#include "timelake/table.h"

namespace timelake::table {

// Rows of one data file, by position.
class RowSet {
 public:
  // Of a file with so many rows; none are in it.
  explicit RowSet(int64_t rows) : rows_(static_cast<size_t>(rows)) {}

  // `position` is below the number of rows; adding one again changes nothing.
  void Add(int64_t position) {
    auto row = rows_[static_cast<size_t>(position)];
    if (!row) ++count_;
    row = true;
  }
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  int64_t count() const { return count_; }

  std::vector<int64_t> Positions() const {  // ascending
    std::vector<int64_t> positions;
    positions.reserve(static_cast<size_t>(count_));
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i]) positions.push_back(static_cast<int64_t>(i));
    }
    return positions;
  }

 private:
  std::vector<bool> rows_;
  int64_t count_ = 0;
};

// The rows that are to be deleted, as they were seen in one version of a table.
struct RowDelete {
  Version base;
  std::map<std::string, RowSet> rows;  // by path of the data file
  std::set<std::string> files;         // of which all rows that were seen go; without delete files
  // Only the newest row of each series and time was seen; older ones go with it, so that they do
  // not come to light.
  bool dedup = false;
  std::function<bool()> cancelled;  // polled from several threads
};

// Deletes them in one commit; nullopt: the files have been changed since, nothing was committed,
// and the rows have to be looked for again. Injected where SQL deletes, as AppendFn is.
using DeleteFn = std::function<Result<std::optional<DeleteResult>>(
    Handle& handle, const SettingMap& session, const RowDelete& rows)>;

}  // namespace timelake::table
