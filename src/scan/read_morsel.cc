#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>

#include "scan/column_stream.h"
#include "scan/file_work.h"
#include "scan/row_selection.h"

namespace timelake::scan {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using table::RowRange;
using table::RowRanges;

// Rows that are read at a time from a morsel that is not cut (see ColumnStream).
constexpr int64_t kStepRows = 1 << 16;
// A column's values of some rows.
struct Decoded {
  ArrayPtr array;
  RowRanges rows;
};

class MorselReader : public arrow::RecordBatchReader {
 public:
  MorselReader(const table::Env& env, Morsel morsel, const ScanRequest& request,
               std::shared_ptr<Counters> counters, RowFilter* filter,
               std::vector<int64_t>* positions)
      : env_(env),
        morsel_(std::move(morsel)),
        file_(*morsel_.file),
        request_(request),
        counters_(std::move(counters)),
        filter_(filter),
        positions_(positions),
        streams_(file_.columns().size()) {
    MakeSteps();
  }

  // Known with the first batch; who needs it before asks the scanner.
  std::shared_ptr<arrow::Schema> schema() const override {
    return batch_ ? batch_->schema() : arrow::schema({});
  }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    while (!batch_ || next_ >= batch_->num_rows()) {
      if (step_ == steps_.size()) return Status::OK();
      next_ = 0;
      TL_RETURN_NOT_OK(ReadStep(steps_[step_++]));
    }
    *out = next_ == 0 && batch_->num_rows() <= request_.batch_rows
               ? batch_
               : batch_->Slice(next_, request_.batch_rows);
    if (positions_) NotePositions((*out)->num_rows());
    next_ += (*out)->num_rows();
    counters_->rows_passed += (*out)->num_rows();
    return Status::OK();
  }

 private:
  void MakeSteps() {
    if (morsel_.streamed.empty()) {
      steps_.push_back(morsel_.rows);
      return;
    }
    for (const RowRange& range : morsel_.rows) {
      for (int64_t row = range.begin; row < range.end; row += kStepRows) {
        steps_.push_back({{row, std::min(range.end, row + kStepRows)}});
      }
    }
  }

  Status ReadStep(RowRanges rows) {
    decoded_.assign(file_.columns().size(), {});
    batch_.reset();
    left_ = std::move(rows);
    // Most often it has been fetched ahead: then this asks for nothing.
    if (file_.reader->is_remote() && step_ == 1) {
      TL_ASSIGN_OR_RAISE(const auto ranges, RangesOf(morsel_));
      file_.reader->WillNeed(ranges);
    }
    TL_RETURN_NOT_OK(ApplyFilters());
    TL_RETURN_NOT_OK(ApplyDeletes());
    if (left_.empty()) return Status::OK();
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const size_t column : file_.output) {
      TL_ASSIGN_OR_RAISE(auto array, Column(column));
      const iceberg::Field& field = file_.columns()[column];
      fields.push_back(arrow::field(field.name, array->type(), !field.required));
      arrays.push_back(std::move(array));
    }
    if (positions_ || request_.row_ids) spelt_ = SpellOut(left_);
    if (request_.row_ids) {
      TL_ASSIGN_OR_RAISE(arrays.emplace_back(), RowIds());
      fields.push_back(RowIdField());
    }
    batch_ = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), table::CountRows(left_),
                                      std::move(arrays));
    return Status::OK();
  }

  Result<ArrayPtr> RowIds() const {
    const int64_t offset = file_.reader->row_group_offset(morsel_.row_group);
    arrow::Int64Builder ids;
    TL_RETURN_NOT_OK(ids.Reserve(static_cast<int64_t>(spelt_.size())));
    for (const uint32_t row : spelt_) ids.UnsafeAppend(RowId{file_.index, offset + row}.number());
    return ids.Finish();
  }

  void NotePositions(int64_t rows) {
    const int64_t offset = file_.reader->row_group_offset(morsel_.row_group);
    positions_->clear();
    for (int64_t i = next_; i < next_ + rows; ++i) {
      positions_->push_back(offset + spelt_[static_cast<size_t>(i)]);
    }
  }

  // A column of the rows that are left, or of more.
  Result<const Decoded*> Decode(size_t column) {
    Decoded& decoded = decoded_[column];
    if (decoded.array) return &decoded;
    decoded.rows = Around(left_);
    if (!morsel_.streamed.empty() && morsel_.streamed[column]) {
      auto& stream = streams_[column];
      if (!stream) {
        table::DataFileRequest request = file_.request;
        request.fields = {file_.columns()[column]};
        TL_ASSIGN_OR_RAISE(stream, ColumnStream::Open(env_, request, morsel_.row_group));
      }
      TL_ASSIGN_OR_RAISE(decoded.array, stream->Read(decoded.rows));
    } else {
      table::ReadCost cost;
      TL_ASSIGN_OR_RAISE(decoded.array,
                         file_.reader->ReadRows(morsel_.row_group, column, decoded.rows, &cost));
      counters_->bytes_read += cost.bytes;
      counters_->pages_read += cost.pages;
      counters_->values_decoded += cost.values;
    }
    return &decoded;
  }

  // Of the rows that are left, dense.
  Result<ArrayPtr> Column(size_t column) {
    TL_ASSIGN_OR_RAISE(const Decoded* decoded, Decode(column));
    if (decoded->rows == left_) return decoded->array;
    return Take(decoded->array, PositionsIn(decoded->rows, left_));
  }

  // Filter columns first; the others are read where rows are left.
  Status ApplyFilters() {
    for (size_t i = 0; i < request_.filters.size() && !left_.empty(); ++i) {
      const ColumnFilter& filter = request_.filters[i];
      const bool exact = filter.exact && file_.filter_tests[i].size() == filter.tests.size();
      if (exact) {
        TL_ASSIGN_OR_RAISE(const bool all, AllPass(*file_.reader, morsel_.row_group, *file_.file,
                                                   left_, file_.filter_tests[i]));
        if (all) continue;
      }
      TL_ASSIGN_OR_RAISE(const Decoded* decoded, Decode(file_.filter_columns[i]));
      RowRanges positions = PositionsIn(decoded->rows, left_);
      if (!exact || !KeepPassing(*decoded->array->data(), filter.tests, &positions)) {
        TL_RETURN_NOT_OK(filter_->Keep(i, decoded->array->data(), &positions));
      }
      left_ = RowsAt(decoded->rows, positions);
    }
    return Status::OK();
  }

  Status ApplyDeletes() {
    if (file_.deletes->empty() || left_.empty()) return Status::OK();
    const int64_t offset = file_.reader->row_group_offset(morsel_.row_group);
    if (!file_.deletes->MayTouch(offset + left_.front().begin, offset + left_.back().end)) {
      return Status::OK();
    }
    arrow::ArrayVector arrays;
    for (const size_t column : file_.delete_columns) {
      TL_ASSIGN_OR_RAISE(auto array, Column(column));
      arrays.push_back(std::move(array));
    }
    std::vector<uint32_t> rows = SpellOut(left_);
    TL_RETURN_NOT_OK(file_.deletes->Remove(offset, arrays, &rows));
    left_ = ToRanges(rows);
    return Status::OK();
  }

  const table::Env& env_;
  const Morsel morsel_;
  const FileWork& file_;
  const ScanRequest& request_;
  const std::shared_ptr<Counters> counters_;
  RowFilter* const filter_;
  std::vector<int64_t>* const positions_;
  std::vector<std::unique_ptr<ColumnStream>> streams_;
  std::vector<RowRanges> steps_;
  size_t step_ = 0;
  // Of the current step: columns read so far, and the rows that are left, by number in the row
  // group.
  std::vector<Decoded> decoded_;
  RowRanges left_;
  std::vector<uint32_t> spelt_;  // left_, where positions or ids are asked for
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t next_ = 0;
};

}  // namespace

std::shared_ptr<arrow::Field> RowIdField() {
  return arrow::field("row id", arrow::int64(), /*nullable=*/false);
}

Result<std::shared_ptr<arrow::RecordBatchReader>> ReadMorsel(const table::Env& env, Morsel morsel,
                                                             const ScanRequest& request,
                                                             std::shared_ptr<Counters> counters,
                                                             RowFilter* filter,
                                                             std::vector<int64_t>* positions) {
  if (!request.filters.empty() && !filter) return InternalError("a scan with filters needs them");
  return std::make_shared<MorselReader>(env, std::move(morsel), request, std::move(counters),
                                        filter, positions);
}

}  // namespace timelake::scan
