#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "base/error.h"
#include "write/parquet_properties.h"

namespace parquet {
class FileMetaData;
}
namespace parquet::arrow {
class FileWriter;
}

namespace timelake::write {

// Writes a Parquet file with lists, maps or structs through Arrow's file writer.
class NestedFile {
 public:
  static Result<std::unique_ptr<NestedFile>> Open(std::shared_ptr<arrow::io::OutputStream> sink,
                                                  const ParquetPlan& plan,
                                                  const arrow::Schema& schema);
  ~NestedFile();

  // The row group before leaves for the sink only now.
  Status BeginRowGroup();
  Status Write(const arrow::RecordBatch& batch);
  Result<std::shared_ptr<parquet::FileMetaData>> Close();

 private:
  NestedFile() = default;

  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

}  // namespace timelake::write
