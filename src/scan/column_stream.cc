#include "scan/column_stream.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>

namespace timelake::scan {

namespace {
constexpr int64_t kRows = 65536;
}  // namespace

Result<std::unique_ptr<ColumnStream>> ColumnStream::Open(const table::Env& env,
                                                         const table::DataFileRequest& request,
                                                         int row_group) {
  auto stream = std::make_unique<ColumnStream>();
  TL_ASSIGN_OR_RAISE(stream->file_, table::OpenDataFile(env, request));
  TL_ASSIGN_OR_RAISE(stream->batches_, stream->file_->Read({row_group}, kRows));
  return stream;
}

Result<std::shared_ptr<arrow::Array>> ColumnStream::Read(const table::RowRanges& rows) {
  arrow::ArrayVector parts;
  for (const table::RowRange& range : rows) {
    int64_t row = range.begin;
    while (row < range.end) {
      while (!array_ || begin_ + array_->length() <= row) {
        begin_ += array_ ? array_->length() : 0;
        std::shared_ptr<arrow::RecordBatch> batch;
        TL_RETURN_NOT_OK(batches_->ReadNext(&batch));
        if (!batch) return Corrupt("row group ends before row {}", row);
        array_ = batch->column(0);
      }
      const int64_t end = std::min(range.end, begin_ + array_->length());
      parts.push_back(array_->Slice(row - begin_, end - row));
      row = end;
    }
  }
  if (parts.size() == 1) return parts[0];
  return arrow::Concatenate(parts);
}

}  // namespace timelake::scan
