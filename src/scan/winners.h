#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scan/series_rows.h"

namespace timelake::scan {

// Rows of one file by series and time, to be held against the rows of another, or its own.
class Winners {
 public:
  // `series`: how many numbers SeriesIds has given.
  Winners(std::vector<SeriesRow> rows, size_t series);

  bool empty() const { return rows_.empty(); }
  int64_t first_time() const { return first_time_; }
  int64_t last_time() const { return last_time_; }

  struct Rule {
    bool same_file = false;  // the batch is of the file that the rows here are of
    bool older = false;      // rows of the batch lose where nothing but the files' order tells
  };

  // Appends the positions of those rows of the batch that lose against the last row here of their
  // series and time. Work is about the smaller side's, where a series' rows come in order of time.
  void Mark(const SeriesBatch& batch, Rule rule, std::vector<int64_t>* positions) const;

 private:
  struct Run;

  std::vector<SeriesRow> rows_;  // by series, time, ingest time, position
  std::vector<size_t> starts_;   // by series; one more at the end
  int64_t first_time_ = 0, last_time_ = 0;
};

}  // namespace timelake::scan
