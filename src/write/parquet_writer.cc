#include "write/parquet_writer.h"

#include <algorithm>
#include <utility>

#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "base/parallel.h"
#include "iceberg/arrow_schema.h"
#include "write/flat_file.h"
#include "write/kept_group.h"
#include "write/nested_file.h"
#include "write/parquet_properties.h"

namespace timelake::write {
namespace {

// Half a megabyte of a column of doubles: what is gathered is still near when it is encoded.
constexpr int64_t kPortionRows = 80'000;
// Columns of a row group that is kept: a store's answer takes long.
constexpr int kReadsAtOnce = 8;

}  // namespace

bool IsFlat(const iceberg::Schema& schema) {
  return std::all_of(schema.fields.begin(), schema.fields.end(),
                     [](const iceberg::Field& field) { return field.type.is_primitive(); });
}

std::shared_ptr<arrow::Schema> SchemaOf(const FileFormat& format) {
  arrow::FieldVector fields = iceberg::ToArrow(*format.schema)->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!format.columns[i].arrow_dictionary) continue;
    fields[i] = fields[i]->WithType(arrow::dictionary(arrow::int32(), arrow::utf8()));
  }
  return arrow::schema(std::move(fields));
}

DataFileWriter::DataFileWriter(FileFormat format) : format_(std::move(format)) {}

DataFileWriter::~DataFileWriter() = default;

Result<std::unique_ptr<DataFileWriter>> DataFileWriter::Open(
    std::shared_ptr<arrow::io::OutputStream> sink, FileFormat format) {
  std::unique_ptr<DataFileWriter> file(new DataFileWriter(std::move(format)));
  file->schema_ = SchemaOf(file->format_);
  file->sink_ = std::move(sink);
  const iceberg::Schema& schema = *file->format_.schema;
  for (const iceberg::Field& field : schema.fields) file->metrics_.emplace_back(field);
  TL_ASSIGN_OR_RAISE(ParquetPlan plan, PlanParquet(file->format_, *file->schema_));
  // Whole pages: they are encoded from where they were gathered.
  const int64_t page_rows = plan.properties->max_rows_per_page();
  file->portion_rows_ = page_rows * std::max<int64_t>(1, kPortionRows / page_rows);
  if (IsFlat(schema)) {
    TL_ASSIGN_OR_RAISE(file->flat_, FlatFile::Open(file->sink_, std::move(plan), file->schema_,
                                                   file->format_.columns));
  } else {
    TL_ASSIGN_OR_RAISE(file->nested_, NestedFile::Open(file->sink_, plan, *file->schema_));
  }
  return file;
}

Status DataFileWriter::WriteFlat(int64_t rows, const ColumnSource& source) {
  TL_RETURN_NOT_OK(flat_->BeginRowGroup());
  const auto write_column = [&](int i) -> Status {
    ColumnMetrics& metrics = metrics_[static_cast<size_t>(i)];
    const int64_t portion = format_.columns[static_cast<size_t>(i)].arrow_dictionary
                                ? rows
                                : std::min(rows, portion_rows_);
    for (int64_t begin = 0; begin < rows; begin += portion) {
      TL_ASSIGN_OR_RAISE(const auto values, source(i, begin, std::min(rows, begin + portion)));
      if (!flat_->KnowsFacts(i)) metrics.Add(*values);
      TL_RETURN_NOT_OK(flat_->Append(i, *values));
    }
    TL_RETURN_NOT_OK(flat_->FinishColumn(i));
    if (flat_->KnowsFacts(i)) metrics.Add(flat_->Facts(i));
    return Status::OK();
  };
  TL_RETURN_NOT_OK(ParallelColumns(schema_->num_fields(), format_.threads, write_column));
  return flat_->EndRowGroup(rows);
}

// Arrow's writer takes all columns at once.
Status DataFileWriter::WriteNested(int64_t rows, const ColumnSource& source) {
  TL_RETURN_NOT_OK(nested_->BeginRowGroup());
  const int count = schema_->num_fields();
  arrow::ArrayVector dictionaries(static_cast<size_t>(count));
  const auto take = [&](int i, int64_t begin,
                        int64_t end) -> Result<std::shared_ptr<arrow::Array>> {
    TL_ASSIGN_OR_RAISE(auto values, source(i, begin, end));
    metrics_[static_cast<size_t>(i)].Add(*values);
    return values;
  };
  TL_RETURN_NOT_OK(ParallelColumns(count, format_.threads, [&](int i) -> Status {
    const auto at = static_cast<size_t>(i);
    if (format_.columns[at].arrow_dictionary) {
      TL_ASSIGN_OR_RAISE(dictionaries[at], take(i, 0, rows));
    }
    return Status::OK();
  }));
  for (int64_t begin = 0; begin < rows; begin += portion_rows_) {
    const int64_t end = std::min(rows, begin + portion_rows_);
    arrow::ArrayVector columns(static_cast<size_t>(count));
    TL_RETURN_NOT_OK(ParallelColumns(count, format_.threads, [&](int i) -> Status {
      const auto at = static_cast<size_t>(i);
      if (dictionaries[at] != nullptr) {
        columns[at] = dictionaries[at]->Slice(begin, end - begin);
      } else {
        TL_ASSIGN_OR_RAISE(columns[at], take(i, begin, end));
      }
      return Status::OK();
    }));
    TL_RETURN_NOT_OK(
        nested_->Write(*arrow::RecordBatch::Make(schema_, end - begin, std::move(columns))));
  }
  return Status::OK();
}

Status DataFileWriter::WriteRowGroup(int64_t rows, const ColumnSource& source) {
  if (rows == 0) return Status::OK();
  flushed_rows_ = rows_ + (flat_ ? rows : 0);
  rows_ += rows;
  return flat_ ? WriteFlat(rows, source) : WriteNested(rows, source);
}

Status DataFileWriter::Keep(const KeptGroup& group) {
  if (!flat_) return InternalError("a row group cannot be kept in a file of nested columns");
  flushed_rows_ = rows_ += group.rows;
  TL_RETURN_NOT_OK(flat_->BeginRowGroup(group));
  const int count = schema_->num_fields();
  TL_RETURN_NOT_OK(ParallelFor(count, kReadsAtOnce, [&](int i) { return flat_->FinishColumn(i); }));
  for (int i = 0; i < count; ++i) metrics_[static_cast<size_t>(i)].Add(flat_->Facts(i));
  return flat_->EndRowGroup(group.rows);
}

Status DataFileWriter::Write(const arrow::RecordBatch& batch) {
  const int64_t most = format_.settings.row_group_rows;
  for (int64_t first = 0; first < batch.num_rows(); first += most) {
    const auto source = [&](int column, int64_t begin,
                            int64_t end) -> Result<std::shared_ptr<arrow::Array>> {
      return batch.column(column)->Slice(first + begin, end - begin);
    };
    TL_RETURN_NOT_OK(WriteRowGroup(std::min(most, batch.num_rows() - first), source));
  }
  return Status::OK();
}

Result<int64_t> DataFileWriter::FlushedBytes() const { return sink_->Tell(); }

Result<iceberg::DataFile> DataFileWriter::Close() {
  std::shared_ptr<parquet::FileMetaData> footer;
  if (flat_) {
    TL_ASSIGN_OR_RAISE(footer, flat_->Close());
  } else {
    TL_ASSIGN_OR_RAISE(footer, nested_->Close());
  }
  iceberg::DataFile file;
  for (const ColumnMetrics& metrics : metrics_) TL_RETURN_NOT_OK(metrics.Finish(&file));
  TL_RETURN_NOT_OK(AddFooterMetrics(*footer, &file));
  file.record_count = rows_;
  TL_ASSIGN_OR_RAISE(file.file_size_in_bytes, sink_->Tell());
  TL_RETURN_NOT_OK(sink_->Close());
  return file;
}

}  // namespace timelake::write
