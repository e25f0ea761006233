#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "context.h"
#include "timelake/ingest.h"

namespace timelake::cli {

// Cuts delimited text into its header and complete records, as it comes. A line break inside double
// quotes ends no record.
class RecordCutter {
 public:
  void Feed(std::string_view text);
  // The end of the text also ends its last record.
  void End();

  const std::string& header() const { return header_; }  // with its line break; empty: none yet
  int64_t records() const { return records_; }           // that wait
  size_t bytes() const { return complete_.size(); }
  // Line of the text, from 1, on which the first waiting record begins.
  int64_t first_line() const { return first_line_; }

  // The waiting records behind the header; none wait afterwards.
  std::string Take();

 private:
  void Cut(size_t end);

  std::string header_;
  std::string complete_;
  std::string rest_;     // begins a record
  size_t scanned_ = 0;   // of rest_
  bool quoted_ = false;  // at scanned_
  int64_t records_ = 0;
  int64_t first_line_ = 1;
  int64_t next_line_ = 1;  // of the record that rest_ begins
  int64_t lines_ = 0;      // line breaks in the record that rest_ begins
};

struct FollowOptions {
  ImportOptions import;  // the format is CSV or TSV
  int64_t flush_rows = 100'000;
  int64_t flush_interval_ms = 1000;
  // A local file in which records wait for their commit, if any (AppenderOptions::write_ahead).
  std::string write_ahead;
  bool json = false;
};

// `append --follow`: appends the records of standard input as they come, in a commit when
// `flush_rows` wait or the oldest has waited for `flush_interval_ms`; reports each commit when it
// is durable. Ends with the input; Ctrl-C commits what has been read and ends it. With a
// write-ahead file records are on the disk as soon as they are read, and what an earlier process
// left there is committed first.
Status Follow(Context* context, Table table, const FollowOptions& options);

}  // namespace timelake::cli
