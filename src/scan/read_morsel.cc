#include <algorithm>
#include <numeric>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>

#include "scan/column_stream.h"
#include "scan/file_work.h"

namespace timelake::scan {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using table::RowRange;
using table::RowRanges;

// Rows that are read at a time from a morsel that is not cut (see ColumnStream).
constexpr int64_t kStepRows = 1 << 16;
// A gap between wanted rows that is worth a range of its own.
constexpr int64_t kGap = 1024;

// A column's values of some rows.
struct Decoded {
  ArrayPtr array;
  RowRanges rows;
};

// Few ranges that hold all of `rows`.
RowRanges Around(const std::vector<uint32_t>& rows) {
  RowRanges ranges;
  for (const int64_t row : rows) {
    if (!ranges.empty() && row - ranges.back().end < kGap) {
      ranges.back().end = row + 1;
    } else {
      ranges.push_back({row, row + 1});
    }
  }
  return ranges;
}

// Where `rows` lie in a column of the rows `present`, of which they are some.
std::vector<uint32_t> PositionsIn(const RowRanges& present, const std::vector<uint32_t>& rows) {
  std::vector<uint32_t> positions;
  positions.reserve(rows.size());
  size_t range = 0;
  int64_t before = 0;
  for (const int64_t row : rows) {
    while (row >= present[range].end) {
      before += present[range].end - present[range].begin;
      ++range;
    }
    positions.push_back(static_cast<uint32_t>(before + row - present[range].begin));
  }
  return positions;
}

Result<ArrayPtr> Take(const ArrayPtr& array, const std::vector<uint32_t>& positions) {
  const auto indices = std::make_shared<arrow::UInt32Array>(static_cast<int64_t>(positions.size()),
                                                            arrow::Buffer::Wrap(positions));
  const auto take = [&](const ArrayPtr& values) -> Result<ArrayPtr> {
    TL_ASSIGN_OR_RAISE(
        arrow::Datum taken,
        arrow::compute::Take(values, indices, arrow::compute::TakeOptions::NoBoundsCheck()));
    return taken.make_array();
  };
  if (array->type_id() != arrow::Type::DICTIONARY) return take(array);
  // The dictionary stays the very same, its users know it again.
  auto codes = array->data()->Copy();
  const auto dictionary = std::exchange(codes->dictionary, nullptr);
  codes->type = arrow::int32();
  TL_ASSIGN_OR_RAISE(const ArrayPtr taken, take(arrow::MakeArray(std::move(codes))));
  auto data = taken->data()->Copy();
  data->type = array->type();
  data->dictionary = dictionary;
  return arrow::MakeArray(std::move(data));
}

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
    all_ = true;
    kept_.clear();
    TL_RETURN_NOT_OK(ApplyFilters(&rows));
    TL_RETURN_NOT_OK(ApplyDeletes(&rows));
    batch_.reset();
    if (rows.empty()) return Status::OK();
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    if (positions_) SpellOut(rows);
    const int64_t count = all_ ? table::CountRows(rows) : static_cast<int64_t>(kept_.size());
    for (const size_t column : file_.output) {
      TL_ASSIGN_OR_RAISE(auto array, Column(column, rows));
      const iceberg::Field& field = file_.columns()[column];
      fields.push_back(arrow::field(field.name, array->type(), !field.required));
      arrays.push_back(std::move(array));
    }
    batch_ = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), count, std::move(arrays));
    return Status::OK();
  }

  void NotePositions(int64_t rows) {
    const int64_t offset = file_.reader->row_group_offset(morsel_.row_group);
    positions_->clear();
    for (int64_t i = next_; i < next_ + rows; ++i) {
      positions_->push_back(offset + kept_[static_cast<size_t>(i)]);
    }
  }

  Status Decode(size_t column, const RowRanges& rows) {
    Decoded& decoded = decoded_[column];
    if (decoded.array) return Status::OK();  // of these rows or more
    if (!morsel_.streamed.empty() && morsel_.streamed[column]) {
      auto& stream = streams_[column];
      if (!stream) {
        table::DataFileRequest request = file_.request;
        request.fields = {file_.columns()[column]};
        TL_ASSIGN_OR_RAISE(stream, ColumnStream::Open(env_, request, morsel_.row_group));
      }
      TL_ASSIGN_OR_RAISE(decoded.array, stream->Read(rows));
    } else {
      table::ReadCost cost;
      TL_ASSIGN_OR_RAISE(decoded.array,
                         file_.reader->ReadRows(morsel_.row_group, column, rows, &cost));
      counters_->bytes_read += cost.bytes;
      counters_->pages_read += cost.pages;
      counters_->values_decoded += cost.values;
    }
    decoded.rows = rows;
    return Status::OK();
  }

  // Of the rows that are left, dense.
  Result<ArrayPtr> Column(size_t column, const RowRanges& rows) {
    TL_RETURN_NOT_OK(Decode(column, rows));
    const Decoded& decoded = decoded_[column];
    if (all_ || static_cast<int64_t>(kept_.size()) == decoded.array->length()) return decoded.array;
    return Take(decoded.array, PositionsIn(decoded.rows, kept_));
  }

  void SpellOut(const RowRanges& rows) {
    if (!std::exchange(all_, false)) return;
    kept_.reserve(static_cast<size_t>(table::CountRows(rows)));
    for (const RowRange& range : rows) {
      for (int64_t row = range.begin; row < range.end; ++row) {
        kept_.push_back(static_cast<uint32_t>(row));
      }
    }
  }

  // Filter columns first; the others are read where rows are left.
  Status ApplyFilters(RowRanges* rows) {
    for (size_t i = 0; i < request_.filters.size() && !rows->empty(); ++i) {
      const size_t column = file_.filter_columns[i];
      if (request_.filters[i].exact &&
          file_.filter_tests[i].size() == request_.filters[i].tests.size()) {
        TL_ASSIGN_OR_RAISE(const bool all, AllPass(*file_.reader, morsel_.row_group, *file_.file,
                                                   *rows, file_.filter_tests[i]));
        if (all) continue;
      }
      TL_RETURN_NOT_OK(Decode(column, *rows));
      SpellOut(*rows);
      const Decoded& decoded = decoded_[column];
      std::vector<uint32_t> positions = PositionsIn(decoded.rows, kept_);
      const size_t before = positions.size();
      TL_RETURN_NOT_OK(filter_->Keep(i, decoded.array->data(), &positions));
      if (positions.size() == before) continue;
      RowsAt(decoded.rows, positions);
      *rows = Around(kept_);
    }
    return Status::OK();
  }

  // The reverse of PositionsIn, into kept_.
  void RowsAt(const RowRanges& present, const std::vector<uint32_t>& positions) {
    kept_.clear();
    size_t range = 0;
    int64_t before = 0;
    for (const int64_t position : positions) {
      while (position - before >= present[range].end - present[range].begin) {
        before += present[range].end - present[range].begin;
        ++range;
      }
      kept_.push_back(static_cast<uint32_t>(present[range].begin + position - before));
    }
  }

  Status ApplyDeletes(RowRanges* rows) {
    if (file_.deletes->empty() || rows->empty()) return Status::OK();
    const int64_t offset = file_.reader->row_group_offset(morsel_.row_group);
    if (!file_.deletes->MayTouch(offset + rows->front().begin, offset + rows->back().end)) {
      return Status::OK();
    }
    SpellOut(*rows);
    arrow::ArrayVector arrays;
    for (const size_t column : file_.delete_columns) {
      TL_ASSIGN_OR_RAISE(auto array, Column(column, *rows));
      arrays.push_back(std::move(array));
    }
    TL_RETURN_NOT_OK(file_.deletes->Remove(offset, arrays, &kept_));
    *rows = Around(kept_);
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
  // Of the current step: columns read so far, and the rows that are left.
  std::vector<Decoded> decoded_;
  bool all_ = true;             // every row of the ranges is left
  std::vector<uint32_t> kept_;  // else: these, ascending, by number in the row group
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t next_ = 0;
};

}  // namespace

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
