#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array.h>

#include "base/error.h"
#include "write/combine.h"

namespace timelake::write {

// Some rows in their order, out of Rows.
struct RowSlice {
  const std::vector<uint32_t>* order = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  bool in_place = false;  // (*order)[i] is i
};

// Where the rows of a slice are among the parts of Rows; empty where no column is in parts.
std::vector<PartMap::Place> PlacesOf(const Rows& rows, const RowSlice& slice);

// The rows' values of one column, strings dense or as dictionary(int32, utf8). A dictionary keeps
// only the values that these rows use, in the order of their first use. `places`: of the slice's
// rows, as PlacesOf has them; null where no column is in parts.
Result<std::shared_ptr<arrow::Array>> Gather(const Rows& rows, size_t column, const RowSlice& slice,
                                             const PartMap::Place* places, bool as_dictionary);

// The same for all columns; `dictionary_of(column)` says which strings stay dictionaries.
template <typename DictionaryOf>
Result<arrow::ArrayVector> GatherAll(const Rows& rows, const RowSlice& slice,
                                     DictionaryOf&& dictionary_of) {
  const std::vector<PartMap::Place> places = PlacesOf(rows, slice);
  arrow::ArrayVector columns;
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(),
                       Gather(rows, i, slice, places.data(), dictionary_of(i)));
  }
  return columns;
}

}  // namespace timelake::write
