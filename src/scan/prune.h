#pragma once

#include <vector>

#include "iceberg/manifest.h"
#include "scan/facts.h"
#include "scan/scan.h"
#include "table/data_file_reader.h"

namespace timelake::scan {

// What the manifest says of one column of a file. Column metrics are all optional; a count that is
// not there is not zero.
ColumnFacts FactsOf(const iceberg::DataFile& file, const iceberg::Field& field);

// Whether the manifest counted the column's NaN and found none.
bool KnownWithoutNan(const iceberg::DataFile& file, int field_id);

// True when every row of the file is certain to pass all tests.
bool AllRowsOfFilePass(const iceberg::DataFile& file, const iceberg::Schema& schema,
                       const std::vector<ColumnTest>& tests);

// Facts about the partition values of one partition field, over one file or a whole manifest.
// `facts` speak of the transform's results. True when no row can pass a test of the source
// column (specification, "Scan Planning": inclusive projection).
bool PartitionExcludes(const ColumnTest& test, const iceberg::Type& source,
                       const iceberg::Transform& transform, const ColumnFacts& facts);

// True when no file of the manifest can have a row that passes. `schema` is the current one.
bool CanSkipManifest(const iceberg::ManifestFile& manifest, const iceberg::PartitionSpec& spec,
                     const iceberg::Schema& schema, const Predicate& predicate);

// True when no row of a row group can pass. `reader` has the predicate's columns among its fields.
bool CanSkipRowGroup(const table::DataFileReader& reader, int row_group,
                     const iceberg::DataFile& file, const iceberg::Schema& schema,
                     const Predicate& predicate);

}  // namespace timelake::scan
