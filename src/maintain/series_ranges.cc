#include "maintain/series_ranges.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include <arrow/table.h>

#include "base/parallel.h"
#include "iceberg/arrow_schema.h"
#include "scan/file_rows.h"
#include "write/combine.h"
#include "write/held_rows.h"
#include "write/sort.h"

namespace timelake::maintain {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// Files whose series stand for those of all, and rows of each.
constexpr size_t kSampledFiles = 8;
constexpr int64_t kSampledRows = 16;
constexpr int kFilesAtOnce = 8;

class Finder {
 public:
  Finder(const table::Env& env, const iceberg::TableMetadata& metadata, const write::Target& target,
         const std::vector<const scan::ScanFile*>& files)
      : env_(env), metadata_(metadata), files_(files) {
    const std::vector<int> keys = write::KeyColumns(target);
    for (const write::OrderColumn& column : write::OrderColumns(target)) {
      const auto key = std::find(keys.begin(), keys.end(), column.column);
      if (key == keys.end()) continue;
      schema_.fields.push_back(target.schema.fields[static_cast<size_t>(column.column)]);
      write::OrderColumn place = column;
      place.column = static_cast<int>(order_.size());
      order_.push_back(place);
    }
  }

  Result<SeriesRanges> Run(int count) {
    SeriesRanges ranges;
    ranges.order = order_;
    TL_ASSIGN_OR_RAISE(ranges.splits, ChooseSplits(count));
    ranges.begin.resize(files_.size());
    TL_RETURN_NOT_OK(InParallel(files_.size(), [&](size_t i) -> Status {
      TL_ASSIGN_OR_RAISE(ranges.begin[i], Cut(*files_[i], *ranges.splits));
      return Status::OK();
    }));
    return ranges;
  }

 private:
  // Enough at once to hide an object store's latency.
  static Status InParallel(size_t count, const std::function<Status(size_t)>& task) {
    return ParallelFor(static_cast<int>(count), kFilesAtOnce,
                       [&](int i) { return task(static_cast<size_t>(i)); });
  }

  std::shared_ptr<arrow::RecordBatchReader> Keys(const scan::ScanFile& file) const {
    return scan::ReadFileRows(&env_, &metadata_, file, {.schema = schema_});
  }

  // Some rows of a file, one batch each.
  Status Sample(const scan::ScanFile& file, std::vector<Batch>* sampled) const {
    const int64_t step = std::max<int64_t>(1, file.data->record_count / kSampledRows);
    int64_t next = step / 2, before = 0;
    const auto reader = Keys(file);
    for (Batch batch;; before += batch->num_rows()) {
      TL_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) return Status::OK();
      for (; next < before + batch->num_rows(); next += step) {
        arrow::ArrayVector row = batch->Slice(next - before, 1)->columns();
        for (auto& value : row) {
          TL_ASSIGN_OR_RAISE(value, write::WithoutDictionary(value));
        }
        sampled->push_back(arrow::RecordBatch::Make(iceberg::ToArrow(schema_), 1, std::move(row)));
      }
    }
  }

  // Of the sampled series in order, those that cut them into `count` parts; each once.
  Result<Batch> ChooseSplits(int count) const {
    const size_t step = std::max<size_t>(1, files_.size() / kSampledFiles);
    std::vector<std::vector<Batch>> by_file((files_.size() + step - 1) / step);
    TL_RETURN_NOT_OK(InParallel(by_file.size(),
                                [&](size_t i) { return Sample(*files_[i * step], &by_file[i]); }));
    std::vector<Batch> sampled;
    for (auto& rows : by_file) std::move(rows.begin(), rows.end(), std::back_inserter(sampled));
    if (sampled.empty()) return arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(schema_));
    TL_ASSIGN_OR_RAISE(const auto all, arrow::ConcatenateRecordBatches(sampled));
    TL_ASSIGN_OR_RAISE(const auto comparer,
                       write::RowComparer::Make(all->columns(), all->columns(), order_));
    std::vector<int64_t> rows(sampled.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(),
                     [&](int64_t a, int64_t b) { return comparer.Compare(a, b) < 0; });
    std::vector<Batch> splits;
    int64_t last = rows.front();  // nothing is below the first of all
    for (int i = 1; i < count; ++i) {
      const int64_t row = rows[rows.size() * static_cast<size_t>(i) / static_cast<size_t>(count)];
      if (comparer.Compare(last, row) >= 0) continue;
      splits.push_back(all->Slice(row, 1));
      last = row;
    }
    if (splits.empty()) return arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(schema_));
    return arrow::ConcatenateRecordBatches(splits);
  }

  Result<std::vector<int64_t>> Cut(const scan::ScanFile& file,
                                   const arrow::RecordBatch& splits) const {
    std::vector<int64_t> begin = {0};
    int64_t split = 0, before = 0;
    const auto reader = Keys(file);
    for (Batch batch;; before += batch->num_rows()) {
      TL_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) break;
      TL_ASSIGN_OR_RAISE(const auto comparer,
                         write::RowComparer::Make(batch->columns(), splits.columns(), order_));
      int64_t low = 0;
      while (split < splits.num_rows()) {
        int64_t high = batch->num_rows();
        while (low < high) {
          const int64_t middle = low + (high - low) / 2;
          comparer.Compare(middle, split) < 0 ? low = middle + 1 : high = middle;
        }
        if (low == batch->num_rows()) break;  // it may be in the next batch
        begin.push_back(before + low);
        ++split;
      }
    }
    begin.resize(static_cast<size_t>(splits.num_rows()) + 2, before);
    return begin;
  }

  const table::Env& env_;
  const iceberg::TableMetadata& metadata_;
  const std::vector<const scan::ScanFile*>& files_;
  iceberg::Schema schema_;  // the key, in its order
  std::vector<write::OrderColumn> order_;
};

}  // namespace

int64_t SeriesRanges::RowsOf(size_t range) const {
  int64_t rows = 0;
  for (const auto& file : begin) rows += file[range + 1] - file[range];
  return rows;
}

Result<SeriesRanges> FindSeriesRanges(const table::Env& env, const iceberg::TableMetadata& metadata,
                                      const write::Target& target,
                                      const std::vector<const scan::ScanFile*>& files, int count) {
  return Finder(env, metadata, target, files).Run(count);
}

Result<bool> InRange(const SeriesRanges& ranges, size_t range, const arrow::ArrayVector& keys,
                     int64_t first, int64_t last) {
  TL_ASSIGN_OR_RAISE(const auto comparer,
                     write::RowComparer::Make(keys, ranges.splits->columns(), ranges.order));
  const auto at = static_cast<int64_t>(range);
  if (at > 0 && comparer.Compare(first, at - 1) < 0) return false;
  return at == ranges.splits->num_rows() || comparer.Compare(last, at) < 0;
}

}  // namespace timelake::maintain
