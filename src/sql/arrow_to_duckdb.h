#pragma once

#include <cstdint>
#include <memory>

#include <arrow/array/data.h>
#include <duckdb/common/typedefs.hpp>

namespace duckdb {
class Vector;
class VectorBuffer;
struct VectorChildBuffer;
}  // namespace duckdb

namespace timelake::sql {

// Turns Arrow columns, as iceberg::ToArrow types them, into DuckDB vectors. Fixed-width values and
// the bytes of long strings are not copied: the vector keeps the Arrow column alive. One object per
// output column and thread; it remembers the dictionary that it converted last.
class ArrowColumn {
 public:
  ArrowColumn();
  ~ArrowColumn();
  ArrowColumn(ArrowColumn&&) noexcept;
  ArrowColumn& operator=(ArrowColumn&&) noexcept;

  // Rows [row, row + count) of `column` into the flat, empty `out` of the matching type; `count` is
  // at most the vector size. Throws a DuckDB exception if the types do not match.
  void Convert(const std::shared_ptr<arrow::ArrayData>& column, int64_t row, duckdb::idx_t count,
               duckdb::Vector& out);

 private:
  struct Dictionary;

  bool TryDictionary(const std::shared_ptr<arrow::ArrayData>& column, int64_t start,
                     duckdb::idx_t count, duckdb::Vector& out);

  std::unique_ptr<Dictionary> dictionary_;
};

}  // namespace timelake::sql
