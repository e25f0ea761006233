#include "scan/row_selection.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/util/bit_run_reader.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

namespace timelake::scan {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using table::RowRange;
using table::RowRanges;

// A gap between wanted rows that is worth a range of its own.
constexpr int64_t kGap = 1024;

Result<ArrayPtr> TakeAny(const ArrayPtr& array, const RowRanges& positions) {
  const std::vector<uint32_t> spelt = SpellOut(positions);
  const auto indices = std::make_shared<arrow::UInt32Array>(static_cast<int64_t>(spelt.size()),
                                                            arrow::Buffer::Wrap(spelt));
  TL_ASSIGN_OR_RAISE(
      arrow::Datum taken,
      arrow::compute::Take(array, indices, arrow::compute::TakeOptions::NoBoundsCheck()));
  return taken.make_array();
}

template <typename T>
void CopyRanges(const T* values, const RowRanges& positions, T* out) {
  for (const RowRange& range : positions) {
    const int64_t count = range.end - range.begin;
    if (count < 16) {
      for (int64_t i = range.begin; i < range.end; ++i) *out++ = values[i];
    } else {
      std::memcpy(out, values + range.begin, static_cast<size_t>(count) * sizeof(T));
      out += count;
    }
  }
}

// The validity of values at these positions; null if all are valid.
Result<std::shared_ptr<arrow::Buffer>> TakeValid(const arrow::ArrayData& from,
                                                 const RowRanges& positions, int64_t count) {
  if (from.GetNullCount() == 0) return nullptr;
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bits, arrow::AllocateEmptyBitmap(count));
  const uint8_t* valid = from.buffers[0]->data();
  int64_t out = 0;
  for (const RowRange& range : positions) {
    const int64_t rows = range.end - range.begin;
    arrow::internal::CopyBitmap(valid, from.offset + range.begin, rows, bits->mutable_data(), out);
    out += rows;
  }
  return bits;
}

// Values of four or eight bytes.
Result<ArrayPtr> TakeFixed(const ArrayPtr& array, const RowRanges& positions, int width) {
  const int64_t count = table::CountRows(positions);
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(count * width));
  const arrow::ArrayData& from = *array->data();
  TL_ASSIGN_OR_RAISE(auto valid, TakeValid(from, positions, count));
  if (width == 8) {
    CopyRanges(from.GetValues<uint64_t>(1), positions,
               reinterpret_cast<uint64_t*>(buffer->mutable_data()));
  } else {
    CopyRanges(from.GetValues<uint32_t>(1), positions,
               reinterpret_cast<uint32_t*>(buffer->mutable_data()));
  }
  return arrow::MakeArray(
      arrow::ArrayData::Make(array->type(), count, {std::move(valid), std::move(buffer)}));
}

int FixedWidth(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::FLOAT: return 4;
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::TIME64:
    case arrow::Type::DOUBLE: return 8;
    default: return 0;
  }
}

// --- comparing ---

// NaN is above everything, as SQL has it here; `value` is none.
template <typename T>
void Mark(const T* values, int64_t count, Op op, T value, uint8_t* passes) {
  const auto mark = [&](auto&& test) {
    for (int64_t i = 0; i < count; ++i) passes[i] &= static_cast<uint8_t>(test(values[i]));
  };
  switch (op) {
    case Op::kEq: return mark([=](T v) { return v == value; });
    case Op::kNotEq: return mark([=](T v) { return !(v == value); });
    case Op::kLt: return mark([=](T v) { return v < value; });
    case Op::kLe: return mark([=](T v) { return v <= value; });
    case Op::kGt: return mark([=](T v) { return !(v <= value); });
    case Op::kGe: return mark([=](T v) { return !(v < value); });
    default: return;
  }
}

// Appends the runs of ones among `passes` as ranges from `first` on.
void AppendRuns(const uint8_t* passes, int64_t count, int64_t first, RowRanges* ranges) {
  const auto find = [&](int64_t from, int what) {
    const void* found = std::memchr(passes + from, what, static_cast<size_t>(count - from));
    return found ? static_cast<const uint8_t*>(found) - passes : count;
  };
  for (int64_t i = find(0, 1); i < count;) {
    const int64_t end = find(i, 0);
    table::Append({first + i, first + end}, ranges);
    i = find(end, 1);
  }
}

constexpr int64_t kBlock = 2048;

// Keeps of each block of positions those that `mark(begin, count, passes)` leaves marked; NULL
// passes nothing.
template <typename MarkBlock>
void KeepMarked(const arrow::ArrayData& column, MarkBlock&& mark, RowRanges* positions) {
  const uint8_t* valid = column.GetNullCount() == 0 ? nullptr : column.buffers[0]->data();
  uint8_t passes[kBlock];
  RowRanges kept;
  for (const RowRange& range : *positions) {
    for (int64_t begin = range.begin; begin < range.end; begin += kBlock) {
      const int64_t count = std::min(kBlock, range.end - begin);
      std::memset(passes, 1, static_cast<size_t>(count));
      for (int64_t i = 0; valid && i < count; ++i) {
        passes[i] = arrow::bit_util::GetBit(valid, column.offset + begin + i);
      }
      mark(begin, count, passes);
      AppendRuns(passes, count, begin, &kept);
    }
  }
  *positions = std::move(kept);
}

void KeepNotNull(const arrow::ArrayData& column, RowRanges* positions) {
  if (column.GetNullCount() == 0) return;
  RowRanges kept;
  for (const RowRange& range : *positions) {
    arrow::internal::SetBitRunReader runs(column.buffers[0]->data(), column.offset + range.begin,
                                          range.end - range.begin);
    for (auto run = runs.NextRun(); run.length > 0; run = runs.NextRun()) {
      const int64_t begin = range.begin + run.position;
      table::Append({begin, begin + run.length}, &kept);
    }
  }
  *positions = std::move(kept);
}

template <typename T>
bool IsComparable(const std::vector<ColumnTest>& tests) {
  return std::all_of(tests.begin(), tests.end(), [](const ColumnTest& test) {
    if (test.op == Op::kNotNull) return true;
    if (test.op > Op::kGe || test.values.size() != 1) return false;
    const T* value = std::get_if<T>(&test.values[0]);
    if constexpr (std::is_floating_point_v<T>) return value && !std::isnan(*value);
    return value != nullptr;
  });
}

template <typename T>
bool KeepPassingOf(const arrow::ArrayData& column, const std::vector<ColumnTest>& tests,
                   RowRanges* positions) {
  if (!IsComparable<T>(tests)) return false;
  const T* values = column.GetValues<T>(1);
  const auto mark = [&](int64_t begin, int64_t count, uint8_t* passes) {
    for (const ColumnTest& test : tests) {
      if (test.op == Op::kNotNull) continue;
      Mark(values + begin, count, test.op, std::get<T>(test.values[0]), passes);
    }
  };
  KeepMarked(column, mark, positions);
  return true;
}

// Text equal to one value, byte by byte.
bool KeepEqual(const arrow::ArrayData& column, const std::vector<ColumnTest>& tests,
               RowRanges* positions) {
  if (tests.size() != 1 || tests[0].op != Op::kEq || tests[0].values.size() != 1) return false;
  const auto* wanted = std::get_if<std::string>(&tests[0].values[0]);
  if (!wanted) return false;
  const int32_t* offsets = column.GetValues<int32_t>(1);
  const char* bytes = reinterpret_cast<const char*>(column.buffers[2]->data());
  const uint8_t* valid = column.GetNullCount() == 0 ? nullptr : column.buffers[0]->data();
  const auto size = static_cast<int32_t>(wanted->size());
  RowRanges kept;
  for (const RowRange& range : *positions) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (offsets[i + 1] - offsets[i] != size) continue;
      if (std::memcmp(bytes + offsets[i], wanted->data(), wanted->size()) != 0) continue;
      if (valid && !arrow::bit_util::GetBit(valid, column.offset + i)) continue;
      table::Append({i, i + 1}, &kept);
    }
  }
  *positions = std::move(kept);
  return true;
}

}  // namespace

bool HasPlainCodes(const arrow::DataType& type) {
  return type.id() == arrow::Type::DICTIONARY &&
         static_cast<const arrow::DictionaryType&>(type).index_type()->id() == arrow::Type::INT32;
}

RowRanges Around(const RowRanges& rows) {
  RowRanges ranges;
  for (const RowRange& range : rows) {
    if (!ranges.empty() && range.begin - ranges.back().end < kGap) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

RowRanges PositionsIn(const RowRanges& present, const RowRanges& rows) {
  RowRanges positions;
  size_t at = 0;
  int64_t before = 0;  // values of the ranges before `at`
  for (const RowRange& range : rows) {
    for (int64_t row = range.begin; row < range.end;) {
      while (row >= present[at].end) {
        before += present[at].end - present[at].begin;
        ++at;
      }
      const int64_t end = std::min(range.end, present[at].end);
      const int64_t first = before + row - present[at].begin;
      table::Append({first, first + end - row}, &positions);
      row = end;
    }
  }
  return positions;
}

RowRanges RowsAt(const RowRanges& present, const RowRanges& positions) {
  RowRanges rows;
  size_t at = 0;
  int64_t before = 0;
  for (const RowRange& range : positions) {
    for (int64_t position = range.begin; position < range.end;) {
      while (position - before >= present[at].end - present[at].begin) {
        before += present[at].end - present[at].begin;
        ++at;
      }
      const int64_t row = present[at].begin + position - before;
      const int64_t count = std::min(range.end - position, present[at].end - row);
      table::Append({row, row + count}, &rows);
      position += count;
    }
  }
  return rows;
}

std::vector<uint32_t> SpellOut(const RowRanges& ranges) {
  std::vector<uint32_t> rows;
  rows.reserve(static_cast<size_t>(table::CountRows(ranges)));
  for (const RowRange& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) {
      rows.push_back(static_cast<uint32_t>(row));
    }
  }
  return rows;
}

RowRanges ToRanges(const std::vector<uint32_t>& rows) {
  RowRanges ranges;
  for (const int64_t row : rows) table::Append({row, row + 1}, &ranges);
  return ranges;
}

Result<ArrayPtr> Take(const ArrayPtr& array, const RowRanges& positions) {
  if (positions.size() == 1) {
    return array->Slice(positions[0].begin, positions[0].end - positions[0].begin);
  }
  if (!HasPlainCodes(*array->type())) {
    const int width = FixedWidth(*array->type());
    if (width > 0) return TakeFixed(array, positions, width);
    return TakeAny(array, positions);
  }
  // Only the codes.
  auto codes = array->data()->Copy();
  const auto dictionary = std::exchange(codes->dictionary, nullptr);
  codes->type = arrow::int32();
  TL_ASSIGN_OR_RAISE(const ArrayPtr taken, Take(arrow::MakeArray(std::move(codes)), positions));
  auto data = taken->data()->Copy();
  data->type = array->type();
  data->dictionary = dictionary;
  return arrow::MakeArray(std::move(data));
}

bool KeepPassing(const arrow::ArrayData& column, const std::vector<ColumnTest>& tests,
                 RowRanges* positions) {
  if (tests.empty() || (column.GetNullCount() != 0 && !column.buffers[0])) return false;
  const bool not_null = std::all_of(tests.begin(), tests.end(),
                                    [](const ColumnTest& test) { return test.op == Op::kNotNull; });
  if (not_null) {
    KeepNotNull(column, positions);
    return true;
  }
  switch (column.type->id()) {
    case arrow::Type::INT32:
    case arrow::Type::DATE32: return KeepPassingOf<int32_t>(column, tests, positions);
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::TIME64: return KeepPassingOf<int64_t>(column, tests, positions);
    case arrow::Type::STRING: return KeepEqual(column, tests, positions);
    case arrow::Type::FLOAT: return KeepPassingOf<float>(column, tests, positions);
    case arrow::Type::DOUBLE: return KeepPassingOf<double>(column, tests, positions);
    default: return false;
  }
}

}  // namespace timelake::scan
