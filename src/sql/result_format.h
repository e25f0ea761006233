#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type.h>
#include <duckdb/common/arrow/arrow_type_extension.hpp>
#include <duckdb/common/types.hpp>
#include <duckdb/common/unordered_map.hpp>
#include <duckdb/main/client_properties.hpp>

#include "base/error.h"

namespace timelake::sql {

using ArrowExtensions =
    duckdb::unordered_map<duckdb::idx_t, const duckdb::shared_ptr<duckdb::ArrowTypeExtensionData>>;

// How a column's values get from DuckDB's vectors into an Arrow column.
enum class ColumnPath {
  kBits,        // a byte a value -> a bit
  kSame,        // as they are
  kHuge,        // as they are, if they fit
  kDecimal,     // widened to 128 bits
  kText,        // offsets and bytes
  kDictionary,  // text, each value once a batch
  kOther,       // by DuckDB's own converter
};

// The Arrow form of one statement's result.
struct ResultFormat {
  std::shared_ptr<arrow::Schema> schema;
  duckdb::vector<duckdb::LogicalType> types;
  std::vector<ColumnPath> paths;

  // The columns of kOther, for DuckDB's converter.
  std::shared_ptr<arrow::Schema> other_schema;
  duckdb::vector<duckdb::LogicalType> other_types;
  ArrowExtensions other_extensions;
  duckdb::ClientProperties options;
};

// `dictionaries`: columns of text leave as dictionary<int32, string>. kUnsupported for a type that
// Arrow does not have.
Result<std::shared_ptr<const ResultFormat>> MakeResultFormat(
    duckdb::ClientContext& context, const duckdb::vector<duckdb::LogicalType>& types,
    const duckdb::vector<std::string>& names, bool dictionaries);

}  // namespace timelake::sql
