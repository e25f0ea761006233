#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <arrow/array.h>

#include "iceberg/manifest.h"
#include "iceberg/schema.h"

namespace parquet {
class FileMetaData;
}

namespace timelake::write {

// What is known of some rows of a primitive column. Without min and max where all are null or NaN.
struct LeafFacts {
  int64_t values = 0;  // nulls among them
  int64_t nulls = 0;
  int64_t nans = 0;
  iceberg::Value min = {}, max = {};
};

// What a manifest says of one top-level column of a data file, leaf by leaf, collected while its
// rows pass by. Leaves below lists and maps have counts only (from the Parquet footer).
class ColumnMetrics {
 public:
  explicit ColumnMetrics(const iceberg::Field& field) : field_(&field) {}

  // `array` has the Arrow type of iceberg::ToArrow, or is a dictionary(int32, utf8) of which only
  // values that rows use may be present.
  void Add(const arrow::Array& array);
  // Of a column that is primitive itself.
  void Add(const LeafFacts& facts);

  // Writes counts and bounds into `file`. Bounds leave NaN out; a column of nulls and NaN has none.
  Status Finish(iceberg::DataFile* file) const;

 private:
  struct Leaf : LeafFacts {
    const iceberg::Type* type = nullptr;
  };

  void AddField(const iceberg::Field& field, const arrow::Array& array);
  static void AddBounds(const arrow::Array& array, Leaf* leaf);
  static void Extend(const iceberg::Value& min, const iceberg::Value& max, Leaf* leaf);

  const iceberg::Field* field_;
  std::map<int, Leaf> leaves_;  // by field id
};

// Column sizes, split offsets, and the counts of leaves that ColumnMetrics left out.
Status AddFooterMetrics(const parquet::FileMetaData& footer, iceberg::DataFile* file);

}  // namespace timelake::write
