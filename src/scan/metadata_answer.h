#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "iceberg/value.h"
#include "scan/scan.h"
#include "table/env.h"

namespace timelake::scan {

// Aggregates over all rows that pass a conjunction of tests.
struct MetadataQuestion {
  struct Extreme {
    int field_id = 0;
    bool greatest = false;
  };
  std::vector<ColumnTest> tests;  // a row passes exactly if they hold
  bool count = false;             // of rows
  std::vector<int> counted;       // fields whose values that are not null are counted
  std::vector<Extreme> extremes;
  // With dedup on read: columns that are equal in a row and the row that replaces it.
  std::set<int> same_when_replaced;
  bool marked = false;  // the plan's files know which of their rows are replaced
  bool dedup = false;
};

// The answer for some of the files; what is asked of the others takes a scan. A row of a file that
// is answered for is not to be read again.
struct MetadataAnswer {
  std::set<std::string> files;
  int64_t rows = 0;
  std::vector<int64_t> counted;                         // as asked
  std::vector<std::optional<iceberg::Value>> extremes;  // as asked; none: no value
};

// Whether min and max of such a column can be told at all.
bool HasExactExtremes(const iceberg::Type& type);

// Takes files whose rows all pass, that have no deletes, and whose count or exact bounds are known:
// counts come from the manifests; the least and greatest values from footers, as a manifest's
// bounds may be cut or wider than the values. No more footers are opened than may hold an extreme.
// A file that cannot be opened is left to the scan.
MetadataAnswer AnswerFromMetadata(const table::Env& env, const iceberg::TableMetadata& metadata,
                                  const Plan& plan, const MetadataQuestion& question);

}  // namespace timelake::scan
