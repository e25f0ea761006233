#pragma once

#include <memory>

#include <arrow/type.h>

#include "base/error.h"
#include "write/parquet_writer.h"

namespace parquet {
class ArrowWriterProperties;
class SchemaDescriptor;
class WriterProperties;
}  // namespace parquet

namespace timelake::write {

// A file's format in Parquet's terms.
struct ParquetPlan {
  std::shared_ptr<parquet::SchemaDescriptor> schema;
  std::shared_ptr<parquet::WriterProperties> properties;
  std::shared_ptr<parquet::ArrowWriterProperties> arrow_properties;
};

// Fails for a codec that is unknown or that this build of Arrow lacks.
Result<ParquetPlan> PlanParquet(const FileFormat& format, const arrow::Schema& schema);

}  // namespace timelake::write
