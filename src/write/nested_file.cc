#include "write/nested_file.h"

#include <utility>

#include <parquet/arrow/writer.h>
#include <parquet/exception.h>

#include "base/memory.h"

namespace timelake::write {

NestedFile::~NestedFile() = default;

Result<std::unique_ptr<NestedFile>> NestedFile::Open(std::shared_ptr<arrow::io::OutputStream> sink,
                                                     const ParquetPlan& plan,
                                                     const arrow::Schema& schema) {
  std::unique_ptr<NestedFile> file(new NestedFile());
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  TL_ASSIGN_OR_RAISE(file->writer_,
                     parquet::arrow::FileWriter::Open(schema, CurrentPool(), std::move(sink),
                                                      plan.properties, plan.arrow_properties));
  END_PARQUET_CATCH_EXCEPTIONS
  return file;
}

Status NestedFile::BeginRowGroup() {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  return writer_->NewBufferedRowGroup();
  END_PARQUET_CATCH_EXCEPTIONS
}

Status NestedFile::Write(const arrow::RecordBatch& batch) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  return writer_->WriteRecordBatch(batch);
  END_PARQUET_CATCH_EXCEPTIONS
}

Result<std::shared_ptr<parquet::FileMetaData>> NestedFile::Close() {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  TL_RETURN_NOT_OK(writer_->Close());
  END_PARQUET_CATCH_EXCEPTIONS
  return writer_->metadata();
}

}  // namespace timelake::write
