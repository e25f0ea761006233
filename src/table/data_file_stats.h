#pragma once

#include <parquet/metadata.h>

#include "table/data_file_columns.h"
#include "table/data_file_reader.h"
#include "table/page_index.h"

namespace timelake::table {

// What a row group's footer says of a primitive top-level column, in the table's type.
//
// Left out, because they have misled readers: bounds without a declared column order (legacy
// min/max), of unsigned and INT96 columns; the maximum of floats, since the footer does not count
// NaN, which is above every maximum (a minimum that is NaN is left out as well); bounds that do
// not read as a value of the type. A zero minimum is -0.0. Truncated bounds are bounds all the
// same. Does not throw: damaged statistics are no statistics.
DataFileReader::Stats ColumnStats(const parquet::RowGroupMetaData& row_group,
                                  const ColumnSource& source);

// The same of one page of `rows` rows. The maximum of floats is there: it is one only where it is
// known from elsewhere that there is no NaN.
DataFileReader::Stats PageStats(const parquet::FileMetaData& footer, const ColumnSource& source,
                                const PageIndex::Bounds& bounds, int64_t rows);

}  // namespace timelake::table
