#pragma once

#include <memory>

#include <arrow/record_batch.h>

#include "iceberg/schema.h"
#include "ingest/csv_reader.h"

namespace timelake::ingest {

// Types of a text file's columns, from all of its values: the first of boolean, long, double, date,
// timestamptz that holds every value unchanged, else string. Numbers that a type would change
// (leading zeros, more than 17 digits, beyond 64 bits) make a column text. All NULL: string.
Result<iceberg::Schema> InferCsv(sql::Engine& engine, const CsvSource& source,
                                 const ReadFilesOptions& options);

}  // namespace timelake::ingest
