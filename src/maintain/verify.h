#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "table/handle.h"
#include "write/write.h"

namespace timelake::maintain {

// Looks whether all that the kept snapshots of a table refer to is there and says the truth.

struct VerifyFinding {
  std::string file;  // URI
  std::string what;
};

struct VerifyResult {
  std::vector<VerifyFinding> findings;
  int64_t snapshots = 0;
  int64_t manifests = 0;
  int64_t data_files = 0;
  int64_t delete_files = 0;
  int64_t bytes = 0;      // of data and delete files
  int64_t rows_read = 0;  // deep only
  // Objects below the table's data/ and metadata/ that no version needs: what writers that are at
  // work have not committed yet, and what interrupted ones left.
  int64_t unreferenced = 0;
  int64_t unreferenced_bytes = 0;
};

struct VerifySettings {
  bool deep = false;  // reads the data
  std::function<bool()> cancelled;
};

// Manifest lists and manifests: there, readable, lengths, counts, sequence numbers. Data and delete
// files: there, sizes, rows as the footer says. The last-value index can be read. Deep: the rows of
// the current snapshot's files are in the order and within the times that the manifest says, and
// the index is the newest of them. What is wrong is a finding; an error means that the look could
// not be finished.
Result<VerifyResult> RunVerify(table::Handle& handle, const table::Version& version,
                               const write::Target& target, const VerifySettings& settings);

}  // namespace timelake::maintain
