#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "scan/predicate.h"
#include "table/row_ranges.h"

// Which rows of a row group are left, as ranges: in files sorted by series and time what passes a
// filter lies together. Positions count the values of a column that holds only some rows.

namespace timelake::scan {

// A dictionary with codes of 32 bits, as files are read; a batch in memory may have others.
bool HasPlainCodes(const arrow::DataType& type);

// Few ranges that hold all of `rows`: gaps that are not worth a range of their own are filled.
table::RowRanges Around(const table::RowRanges& rows);

// Where `rows` lie in a column of the rows `present`, of which they are some.
table::RowRanges PositionsIn(const table::RowRanges& present, const table::RowRanges& rows);

// The reverse: the rows at these positions.
table::RowRanges RowsAt(const table::RowRanges& present, const table::RowRanges& positions);

std::vector<uint32_t> SpellOut(const table::RowRanges& ranges);
table::RowRanges ToRanges(const std::vector<uint32_t>& rows);  // ascending

// The values at these positions; a dictionary stays the very same.
Result<std::shared_ptr<arrow::Array>> Take(const std::shared_ptr<arrow::Array>& array,
                                           const table::RowRanges& positions);

// Takes those positions out that fail a test. False, and nothing is done, unless the tests compare
// a number, date or time with one value each, say what text (in no dictionary) equals, or only that
// there is a value.
bool KeepPassing(const arrow::ArrayData& column, const std::vector<ColumnTest>& tests,
                 table::RowRanges* positions);

}  // namespace timelake::scan
