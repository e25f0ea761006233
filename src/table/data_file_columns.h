#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type.h>
#include <parquet/arrow/schema.h>

#include "base/error.h"
#include "iceberg/schema.h"
#include "iceberg/value.h"

namespace timelake::table {

// Where one wanted field, at any depth, comes from.
struct ColumnSource {
  iceberg::Field field;
  std::string path;                   // "a.b.element", for messages
  std::shared_ptr<arrow::Field> out;  // as iceberg::ToArrow gives it
  bool missing = false;               // not in the file
  std::optional<iceberg::Value>
      value;  // of a missing top-level column: its identity partition value
  const parquet::arrow::SchemaField* origin = nullptr;  // in the manifest; null when missing
  // Among those fields of the parent (top: columns of the batch) that are read at all.
  int position = -1;
  // Struct: a source for each wanted member; list: the element; map: key and value.
  std::vector<ColumnSource> children;
  std::vector<int> leaves;  // of a top-level column: Parquet columns to read for it, ascending
};

struct ColumnSources {
  std::vector<ColumnSource> columns;  // one per wanted field, in the order of the request
  std::vector<int> leaves;            // Parquet columns to read, ascending
};

// Finds the wanted fields in a file (specification, "Column Projection"): by field id at every
// depth; by name if no column of the file has an id, as a table that adopted plain Parquet files
// needs it. Struct members that are not wanted are not read. kCorrupt when a required
// column is missing or a column has another shape. Messages name the column only. The result
// points into `file`.
Result<ColumnSources> FindColumns(const parquet::arrow::SchemaManifest& file,
                                  const std::vector<iceberg::Field>& wanted,
                                  const std::vector<std::pair<int, iceberg::Value>>& constants);

}  // namespace timelake::table
