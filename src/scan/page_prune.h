#pragma once

#include <vector>

#include "iceberg/manifest.h"
#include "iceberg/schema.h"
#include "scan/facts.h"
#include "scan/scan.h"
#include "table/data_file_reader.h"

namespace timelake::scan {

// A test with the place of its column in a reader's request.
struct PlacedTest {
  const ColumnTest* test = nullptr;
  const iceberg::Field* field = nullptr;
  size_t column = 0;
};

// Tests of primitive top-level columns among `columns`; the rest says nothing.
std::vector<PlacedTest> Place(const std::vector<ColumnTest>& tests,
                              const std::vector<iceberg::Field>& columns);

// Whether a Bloom filter proves that no row of the row group passes all tests.
Result<bool> NoneByBloomFilter(table::DataFileReader& reader, int row_group,
                               const std::vector<PlacedTest>& tests);

// Rows of `rows` whose pages may hold one that passes all tests.
Result<table::RowRanges> MayPass(table::DataFileReader& reader, int row_group,
                                 const iceberg::DataFile& file, table::RowRanges rows,
                                 const std::vector<PlacedTest>& tests);

// Whether the page index (or the manifest) proves that every one of these rows passes all tests.
Result<bool> AllPass(table::DataFileReader& reader, int row_group, const iceberg::DataFile& file,
                     const table::RowRanges& rows, const std::vector<PlacedTest>& tests);

}  // namespace timelake::scan
