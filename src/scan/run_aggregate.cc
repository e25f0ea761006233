#include "scan/run_aggregate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/util/bit_util.h>

#include "scan/row_selection.h"

namespace timelake::scan {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

// Ends of runs, ascending; the last one is the number of rows.
using Ends = std::vector<int64_t>;

// --- finding runs ---

// Rows that are compared without a branch.
constexpr int64_t kStep = 32;

// The first row behind `begin` and before `end` for which `same` is false, or `end`; `all_same`
// tells of kStep rows, may say false for no reason, and is faster than asking for each.
template <typename Same, typename AllSame>
int64_t EndOfRun(int64_t begin, int64_t end, Same&& same, AllSame&& all_same) {
  int64_t row = begin + 1;
  while (row < end) {
    const int64_t stop = std::min(end, row + kStep);
    // The last one first: in sorted rows it mostly answers for all.
    if (stop == row + kStep && same(stop - 1) && all_same(row)) {
      row = stop;
      continue;
    }
    while (row < stop && same(row)) ++row;
    if (row < stop) break;
  }
  return row;
}

// Cuts the runs further where `same(begin, row)` turns false.
template <typename Same, typename AllSame>
Ends Cut(const Ends& runs, Same&& same, AllSame&& all_same) {
  Ends ends;
  ends.reserve(runs.size());
  int64_t begin = 0;
  for (const int64_t end : runs) {
    while (begin < end) {
      begin = EndOfRun(
          begin, end, [&](int64_t row) { return same(begin, row); },
          [&](int64_t row) { return all_same(begin, row); });
      ends.push_back(begin);
    }
  }
  return ends;
}

// `equal` says whether two values are, `values` being what tells most of them apart.
template <typename T, typename Equal>
Ends CutByValue(const arrow::ArrayData& column, const Ends& runs, Equal&& equal) {
  const T* values = column.GetValues<T>(1);
  const auto same = [=](int64_t begin, int64_t row) { return equal(values[row], values[begin]); };
  const auto all_same = [=](int64_t begin, int64_t row) {
    const T value = values[begin];
    bool differs = false;
    for (int64_t i = 0; i < kStep; ++i) differs |= !(values[row + i] == value);
    return !differs;
  };
  if (column.GetNullCount() == 0) return Cut(runs, same, all_same);
  const auto valid = [bits = column.buffers[0]->data(), offset = column.offset](int64_t row) {
    return arrow::bit_util::GetBit(bits, offset + row);
  };
  const auto same_or_null = [=](int64_t begin, int64_t row) {
    return valid(row) == valid(begin) && (!valid(row) || same(begin, row));
  };
  return Cut(runs, same_or_null, [=](int64_t begin, int64_t row) {
    const bool wanted = valid(begin);
    bool differs = false;
    for (int64_t i = 0; i < kStep; ++i) differs |= valid(row + i) != wanted;
    return !differs && (!wanted || all_same(begin, row));
  });
}

template <typename T>
Ends CutByValue(const arrow::ArrayData& column, const Ends& runs) {
  return CutByValue<T>(column, runs, std::equal_to<T>());
}

// Codes of text. A value may stand in a dictionary twice.
Ends CutByCode(const arrow::Array& column, const Ends& runs) {
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(column).dictionary();
  const auto* texts = dynamic_cast<const arrow::StringArray*>(dictionary.get());
  if (!texts || texts->null_count() != 0) return CutByValue<int32_t>(*column.data(), runs);
  return CutByValue<int32_t>(*column.data(), runs, [texts](int32_t a, int32_t b) {
    return a == b || texts->GetView(a) == texts->GetView(b);
  });
}

// Any type, by Arrow's comparison.
Ends CutByComparison(const arrow::Array& column, const Ends& runs) {
  return Cut(
      runs,
      [&](int64_t begin, int64_t row) { return column.RangeEquals(begin, begin + 1, row, column); },
      [](int64_t, int64_t) { return false; });
}

// Runs of times in one bucket, with the buckets' starts.
struct BucketRuns {
  Ends ends;
  std::vector<int64_t> starts;
};

BucketRuns CutByBucket(const arrow::ArrayData& column, const RunKey& key, const Ends& runs) {
  const int64_t* times = column.GetValues<int64_t>(1);
  BucketRuns cut;
  TimeBucket bucket{0, 1, 0};  // holds nothing
  const auto outside = [&](int64_t row) {
    return (times[row] < bucket.first) | (times[row] > bucket.last);
  };
  int64_t row = 0;
  for (const int64_t end : runs) {
    const int64_t run_begin = row;
    while (row < end) {
      const int64_t begin = row;
      if (outside(row)) bucket = key.bucket(times[row]);
      row = EndOfRun(
          row, end, [&](int64_t i) { return !outside(i); },
          [&](int64_t i) {
            bool any = false;
            for (int64_t j = i; j < i + kStep; ++j) any |= outside(j);
            return !any;
          });
      // A bucket whose end is not known comes in pieces.
      if (begin > run_begin && cut.starts.back() == bucket.start) {
        cut.ends.back() = row;
      } else {
        cut.ends.push_back(row);
        cut.starts.push_back(bucket.start);
      }
    }
  }
  return cut;
}

Ends CutBy(const arrow::Array& column, const Ends& runs) {
  const arrow::ArrayData& data = *column.data();
  if (HasPlainCodes(*column.type())) return CutByCode(column, runs);
  switch (column.type_id()) {
    case arrow::Type::INT32:
    case arrow::Type::DATE32: return CutByValue<int32_t>(data, runs);
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::TIME64: return CutByValue<int64_t>(data, runs);
    case arrow::Type::FLOAT: return CutByValue<float>(data, runs);  // of each NaN a run of its own
    case arrow::Type::DOUBLE: return CutByValue<double>(data, runs);
    default: return CutByComparison(column, runs);
  }
}

// --- keys and values of runs ---

table::RowRanges FirstRows(const Ends& ends) {
  table::RowRanges rows;
  rows.reserve(ends.size());
  int64_t begin = 0;
  for (const int64_t end : ends) {
    table::Append({begin, begin + 1}, &rows);
    begin = end;
  }
  return rows;
}

template <typename T>
struct Column {
  std::shared_ptr<arrow::Buffer> values, valid;
  T* out = nullptr;
  int64_t count = 0;

  static Result<Column> Make(size_t count) {
    Column column;
    column.count = static_cast<int64_t>(count);
    TL_ASSIGN_OR_RAISE(column.values, arrow::AllocateBuffer(column.count * int64_t{sizeof(T)}));
    column.out = reinterpret_cast<T*>(column.values->mutable_data());
    return column;
  }

  Status SetNull(int64_t row) {
    if (!valid) {
      TL_ASSIGN_OR_RAISE(valid, arrow::AllocateBitmap(count));
      arrow::bit_util::SetBitsTo(valid->mutable_data(), 0, count, true);
    }
    arrow::bit_util::ClearBit(valid->mutable_data(), row);
    out[row] = T();
    return Status::OK();
  }

  ArrayPtr Finish(std::shared_ptr<arrow::DataType> type) {
    return arrow::MakeArray(
        arrow::ArrayData::Make(std::move(type), count, {std::move(valid), std::move(values)}));
  }
};

// The starts of the buckets, as a column of the times' type with NULL where those are.
Result<ArrayPtr> Buckets(const RunKey& key, const arrow::Array& column) {
  const int64_t* times = column.data()->GetValues<int64_t>(1);
  TL_ASSIGN_OR_RAISE(auto buckets, Column<int64_t>::Make(static_cast<size_t>(column.length())));
  for (int64_t row = 0; row < column.length(); ++row) {
    if (column.IsNull(row)) {
      TL_RETURN_NOT_OK(buckets.SetNull(row));
    } else {
      buckets.out[row] = key.bucket(times[row]).start;
    }
  }
  return buckets.Finish(column.type());
}

Result<ArrayPtr> StartsAt(const BucketRuns& cut, const Ends& ends, const arrow::Array& column) {
  TL_ASSIGN_OR_RAISE(auto starts, Column<int64_t>::Make(ends.size()));
  size_t run = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    while (cut.ends[run] < ends[i]) ++run;
    starts.out[i] = cut.starts[run];
  }
  return starts.Finish(column.type());
}

Result<ArrayPtr> Counts(const arrow::Array* column, const Ends& ends) {
  TL_ASSIGN_OR_RAISE(auto counts, Column<int64_t>::Make(ends.size()));
  int64_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    counts.out[i] = ends[i] - begin;
    if (column && column->null_count() != 0) {
      counts.out[i] -= column->Slice(begin, ends[i] - begin)->null_count();
    }
    begin = ends[i];
  }
  return counts.Finish(arrow::int64());
}

// Of values without NULL. Several sums at a time: one addition need not wait for the other.
double Sum(const double* values, int64_t count) {
  double sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int j = 0; j < 4; ++j) sums[j] += values[i + j];
  }
  double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; i < count; ++i) sum += values[i];
  return sum;
}

template <typename T, bool kMax>
T Extreme(const T* values, int64_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    T best = kMax ? -kInfinity : kInfinity;
    int64_t nans = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T value = values[i];
      best = (kMax ? value > best : value < best) ? value : best;
      nans += value != value;
    }
    const bool is_nan = kMax ? nans > 0 : nans == count;
    return is_nan ? std::numeric_limits<T>::quiet_NaN() : best;
  } else {
    T best = values[0];
    for (int64_t i = 1; i < count; ++i) {
      best = kMax ? std::max(best, values[i]) : std::min(best, values[i]);
    }
    return best;
  }
}

// `of` takes values without NULL, at least one.
template <typename T, typename Of>
Result<ArrayPtr> Fold(const arrow::Array& column, const Ends& ends,
                      std::shared_ptr<arrow::DataType> type, Of&& of) {
  const T* values = column.data()->GetValues<T>(1);
  const bool has_nulls = column.null_count() != 0;
  TL_ASSIGN_OR_RAISE(auto folded, Column<T>::Make(ends.size()));
  std::vector<T> present;
  int64_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (!has_nulls) {
      folded.out[i] = of(values + begin, ends[i] - begin);
    } else {
      present.clear();
      for (int64_t row = begin; row < ends[i]; ++row) {
        if (column.IsValid(row)) present.push_back(values[row]);
      }
      if (present.empty()) {
        TL_RETURN_NOT_OK(folded.SetNull(static_cast<int64_t>(i)));
      } else {
        folded.out[i] = of(present.data(), static_cast<int64_t>(present.size()));
      }
    }
    begin = ends[i];
  }
  return folded.Finish(std::move(type));
}

template <typename T>
Result<ArrayPtr> Extremes(const arrow::Array& column, const Ends& ends, RunOp op) {
  if (op == RunOp::kMax) return Fold<T>(column, ends, column.type(), Extreme<T, true>);
  return Fold<T>(column, ends, column.type(), Extreme<T, false>);
}

template <typename T>
Result<ArrayPtr> Halves(const arrow::Array& column, const Ends& ends, bool high) {
  const T* values = column.data()->GetValues<T>(1);
  const auto half = [=](int64_t value) { return high ? value >> 32 : value & 0xffffffff; };
  const bool has_nulls = column.null_count() != 0;
  TL_ASSIGN_OR_RAISE(auto sums, Column<int64_t>::Make(ends.size()));
  int64_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    int64_t sum = 0;
    bool any = !has_nulls;
    for (int64_t row = begin; row < ends[i]; ++row) {
      if (has_nulls && column.IsNull(row)) continue;
      any = true;
      sum += half(values[row]);
    }
    if (any) {
      sums.out[i] = sum;
    } else {
      TL_RETURN_NOT_OK(sums.SetNull(static_cast<int64_t>(i)));
    }
    begin = ends[i];
  }
  return sums.Finish(arrow::int64());
}

Status CannotAggregate(const arrow::Array& column) {
  return InternalError("no aggregate over runs of a column of type {}", column.type()->ToString());
}

Result<ArrayPtr> ValueOf(const RunValue& value, const arrow::RecordBatch& batch, const Ends& ends) {
  if (value.op == RunOp::kRows) return Counts(nullptr, ends);
  const ArrayPtr array = batch.column(static_cast<int>(value.column));
  const arrow::Array& column = *array;
  if (value.op == RunOp::kCount) return Counts(&column, ends);
  if (value.op == RunOp::kSum) {
    if (column.type_id() != arrow::Type::DOUBLE) return CannotAggregate(column);
    return Fold<double>(column, ends, column.type(), Sum);
  }
  if (value.op == RunOp::kTotal) {
    if (column.type_id() != arrow::Type::INT64) return CannotAggregate(column);
    return Fold<int64_t>(column, ends, column.type(), [](const int64_t* values, int64_t count) {
      return std::accumulate(values, values + count, int64_t{0});
    });
  }
  if (value.op == RunOp::kSumHigh || value.op == RunOp::kSumLow) {
    const bool high = value.op == RunOp::kSumHigh;
    if (column.type_id() == arrow::Type::INT32) return Halves<int32_t>(column, ends, high);
    if (column.type_id() == arrow::Type::INT64) return Halves<int64_t>(column, ends, high);
    return CannotAggregate(column);
  }
  switch (column.type_id()) {
    case arrow::Type::INT32:
    case arrow::Type::DATE32: return Extremes<int32_t>(column, ends, value.op);
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::TIME64: return Extremes<int64_t>(column, ends, value.op);
    case arrow::Type::FLOAT: return Extremes<float>(column, ends, value.op);
    case arrow::Type::DOUBLE: return Extremes<double>(column, ends, value.op);
    default: return CannotAggregate(column);
  }
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> AggregateRuns(const RunAggregates& aggregates,
                                                          const arrow::RecordBatch& batch) {
  Ends ends;
  if (batch.num_rows() > 0) ends.push_back(batch.num_rows());
  arrow::ArrayVector columns;       // the keys of all rows
  std::vector<BucketRuns> buckets;  // or, with ends, those that are known by run
  for (const RunKey& key : aggregates.keys) {
    ArrayPtr column = batch.column(static_cast<int>(key.column));
    buckets.emplace_back();
    if (key.bucket && column->null_count() == 0) {
      buckets.back() = CutByBucket(*column->data(), key, ends);
      ends = buckets.back().ends;
    } else {
      if (key.bucket) {
        TL_ASSIGN_OR_RAISE(column, Buckets(key, *column));
      }
      ends = CutBy(*column, ends);
    }
    columns.push_back(std::move(column));
  }
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  const auto add = [&](ArrayPtr array) {
    fields.push_back(arrow::field(std::to_string(fields.size()), array->type()));
    arrays.push_back(std::move(array));
  };
  const table::RowRanges first_rows = FirstRows(ends);
  for (size_t i = 0; i < columns.size(); ++i) {
    TL_ASSIGN_OR_RAISE(auto keys, buckets[i].ends.empty()
                                      ? Take(columns[i], first_rows)
                                      : StartsAt(buckets[i], ends, *columns[i]));
    add(std::move(keys));
  }
  for (const RunValue& value : aggregates.values) {
    TL_ASSIGN_OR_RAISE(auto values, ValueOf(value, batch, ends));
    add(std::move(values));
  }
  const auto rows = static_cast<int64_t>(ends.size());
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(arrays));
}

RunAggregates Joining(const RunAggregates& aggregates) {
  RunAggregates joining;
  for (size_t i = 0; i < aggregates.keys.size(); ++i) {
    joining.keys.push_back({.column = i, .bucket = {}});  // its start by now
  }
  for (const RunValue& value : aggregates.values) {
    const bool whole_number = value.op == RunOp::kRows || value.op == RunOp::kCount ||
                              value.op == RunOp::kSumHigh || value.op == RunOp::kSumLow;
    joining.values.push_back({whole_number ? RunOp::kTotal : value.op,
                              joining.keys.size() + joining.values.size()});
  }
  return joining;
}

}  // namespace timelake::scan
