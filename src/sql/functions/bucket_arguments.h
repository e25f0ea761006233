#pragma once

#include <optional>

#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/common/vector.hpp>
#include <duckdb/planner/expression.hpp>

#include "sql/functions/grid_maker.h"

namespace timelake::sql {

// Reads the arguments of time_bucket from a chunk: column 0 is the width (INTERVAL or text), the
// columns after the time say by their types what they are: INTERVAL an offset, text a zone (or an
// origin), a time an origin.
class BucketArguments {
 public:
  // The first `columns` columns of the chunk, by default all.
  BucketArguments(duckdb::DataChunk& args, duckdb::idx_t count,
                  std::optional<duckdb::idx_t> columns = std::nullopt);

  // All rows have the same.
  bool constant() const { return constant_; }

  // Nothing if one is NULL or the origin infinite: then so is the result. Throws through `maker`.
  std::optional<GridArguments> At(duckdb::idx_t row, const GridMaker& maker) const;

 private:
  struct Column {
    duckdb::LogicalTypeId type;
    duckdb::UnifiedVectorFormat values;
  };
  Status Set(const Column& column, duckdb::idx_t index, bool width, GridArguments* arguments) const;

  duckdb::vector<Column> columns_;  // without the time
  bool constant_ = true;
  bool zoned_ = false;
};

// The same of a call that is not running yet. `types` are those of the function's arguments.
// Nothing if not all but the time are constant, or one is NULL. Throws through `maker`.
std::optional<GridArguments> ConstantBucketArguments(
    duckdb::ClientContext& context, const duckdb::vector<duckdb::LogicalType>& types,
    const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments,
    const GridMaker& maker);

}  // namespace timelake::sql
