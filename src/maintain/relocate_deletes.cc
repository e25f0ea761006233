#include "maintain/relocate_deletes.h"

#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/memory.h>

#include "scan/delete_index.h"
#include "scan/deletes.h"
#include "write/parquet_writer.h"

namespace timelake::maintain {
namespace {

iceberg::Schema DeleteSchema() {
  iceberg::Schema schema;
  schema.fields.resize(2);
  schema.fields[0].id = scan::kDeleteFilePathId;
  schema.fields[0].name = "file_path";
  schema.fields[0].type.id = iceberg::TypeId::kString;
  schema.fields[1].id = scan::kDeletePosId;
  schema.fields[1].name = "pos";
  schema.fields[1].type.id = iceberg::TypeId::kLong;
  for (auto& field : schema.fields) field.required = true;
  return schema;
}

}  // namespace

Result<MovedDeletes> MovePositionDeletes(const table::Placing& placing,
                                         const iceberg::DataFile& file) {
  const iceberg::Schema schema = DeleteSchema();
  TL_ASSIGN_OR_RAISE(const auto batches, scan::ReadDeleteFile(placing.env(), file, schema.fields));
  write::FileFormat format;
  format.schema = &schema;
  format.columns.resize(2);
  TL_ASSIGN_OR_RAISE(format.settings, table::ResolveSettings({}));
  TL_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create());
  TL_ASSIGN_OR_RAISE(auto writer, write::DataFileWriter::Open(sink, format));
  std::string lower, upper;
  for (const auto& batch : batches) {
    arrow::StringBuilder paths;
    const auto& old = static_cast<const arrow::StringArray&>(*batch->column(0));
    for (int64_t i = 0; i < old.length(); ++i) {
      const std::string path = placing.Uri(old.GetString(i));
      if (lower.empty() || path < lower) lower = path;
      if (path > upper) upper = path;
      TL_RETURN_NOT_OK(paths.Append(path));
    }
    TL_ASSIGN_OR_RAISE(auto placed, paths.Finish());
    TL_RETURN_NOT_OK(writer->Write(*arrow::RecordBatch::Make(
        write::SchemaOf(format), batch->num_rows(), {std::move(placed), batch->column(1)})));
  }
  TL_ASSIGN_OR_RAISE(iceberg::DataFile written, writer->Close());
  MovedDeletes moved;
  TL_ASSIGN_OR_RAISE(moved.bytes, sink->Finish());
  moved.file = file;
  moved.file.file_format = "PARQUET";
  moved.file.file_size_in_bytes = written.file_size_in_bytes;
  moved.file.column_sizes = std::move(written.column_sizes);
  moved.file.value_counts = std::move(written.value_counts);
  moved.file.null_value_counts = std::move(written.null_value_counts);
  moved.file.split_offsets = std::move(written.split_offsets);
  // In full: readers find the only data file of a delete file by equal bounds.
  moved.file.lower_bounds[scan::kDeleteFilePathId] = lower;
  moved.file.upper_bounds[scan::kDeleteFilePathId] = upper;
  return moved;
}

}  // namespace timelake::maintain
