#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <duckdb/function/table_function.hpp>

#include "scan/scan.h"
#include "sql/row_filter.h"
#include "sql/scan_function.h"
#include "sql/table_version.h"

namespace timelake::sql {

// The files that a predicate leaves, by metadata alone.
struct PlannedFiles {
  std::shared_ptr<const scan::FileList> files;  // null: not planned yet, or it failed
  size_t tests = 0;                             // of the predicate that it was planned by
  const TableVersion* table = nullptr;
};

// What the scan function is bound to.
struct ScanBindData : duckdb::TableFunctionData {
  std::shared_ptr<const TableVersion> table;
  duckdb::optional_ptr<duckdb::TableCatalogEntry> entry;
  scan::Predicate predicate;
  std::vector<PushedFilter> in_lists;  // taken over from the plan
  std::optional<scan::FileOrder> order;
  std::shared_ptr<const ScanAggregates> aggregates;  // null: rows are given out
  std::optional<BucketLimit> buckets;
  std::shared_ptr<FilesRead> read;  // of DELETE: filled in when the scan begins
  bool joined = false;              // the query has a join: more statistics are worth their price
  mutable PlannedFiles planned;     // while the query is planned, which one thread does

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    return duckdb::make_uniq<ScanBindData>(*this);
  }

  bool Equals(const duckdb::FunctionData& other) const override;
};

}  // namespace timelake::sql
