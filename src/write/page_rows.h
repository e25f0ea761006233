#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <arrow/array.h>

#include "write/column_chunk.h"

namespace timelake::write {

// The rows of one page: their values without nulls, and where the nulls are.
template <typename T>
struct PageOfRows {
  const T* values = nullptr;
  size_t count = 0;                  // values
  const uint32_t* levels = nullptr;  // of each row: 1 where it has a value; null: all have
  size_t rows = 0;
};

// Pages that are nearly empty have so many times the usual rows, and end where others do.
inline constexpr size_t kLongPages = 4;
// Rows between changes of a value: 20,000 rows are less than 2 KB then.
inline constexpr int64_t kSeldom = 32;

// Cuts the values of a column as they come into pages of equally many rows.
template <typename T>
class PageCutter {
 public:
  explicit PageCutter(size_t page_rows) : page_rows_(page_rows) {}

  // Before the first rows of a column in a dictionary: makes pages longer where `values` seldom
  // change. Columns that rows are sorted by keep theirs: by them readers find rows.
  void SetLength(const arrow::Array& rows, const T* values, const ChunkPlace& place) {
    if (std::exchange(length_set_, true) || place.ordered_by) return;
    const bool nulls = rows.null_count() > 0;
    int64_t changes = 0;
    for (int64_t i = 1; i < rows.length(); ++i) {
      const bool valid = !nulls || rows.IsValid(i);
      const bool same =
          valid == (!nulls || rows.IsValid(i - 1)) && (!valid || values[i] == values[i - 1]);
      changes += !same;
    }
    if (changes <= rows.length() / kSeldom) page_rows_ *= kLongPages;
  }

  // Calls `encode(const PageOfRows<T>&)` for each page that is full. `values` are those of `rows`.
  template <typename Encode>
  auto Append(const arrow::Array& rows, const T* values, Encode&& encode)
      -> decltype(encode(PageOfRows<T>())) {
    const auto count = static_cast<size_t>(rows.length());
    const bool nulls = rows.null_count() > 0;
    for (size_t at = 0; at < count;) {
      const size_t taken = std::min(page_rows_ - waiting_, count - at);
      if (!nulls && taken == page_rows_) {
        if (auto status = encode(PageOfRows<T>{values + at, taken, nullptr, taken}); !status.ok()) {
          return status;
        }
      } else {
        Keep(rows, values, at, taken, nulls);
        if (waiting_ == page_rows_) {
          if (auto status = Flush(encode); !status.ok()) return status;
        }
      }
      at += taken;
    }
    return {};
  }

  // The last page, if there are rows that wait.
  template <typename Encode>
  auto Flush(Encode&& encode) -> decltype(encode(PageOfRows<T>())) {
    if (waiting_ == 0) return {};
    const PageOfRows<T> page{values_.data(), values_.size(),
                             levels_.empty() ? nullptr : levels_.data(), waiting_};
    auto status = encode(page);
    values_.clear();
    levels_.clear();
    waiting_ = 0;
    return status;
  }

 private:
  void Keep(const arrow::Array& rows, const T* values, size_t at, size_t taken, bool nulls) {
    if (!nulls) {
      values_.insert(values_.end(), values + at, values + at + taken);
      if (!levels_.empty()) levels_.resize(waiting_ + taken, 1);
    } else {
      levels_.resize(waiting_ + taken, 1);
      const size_t before = values_.size();
      values_.resize(before + taken);
      T* to = values_.data() + before;
      for (size_t i = 0; i < taken; ++i) {
        const bool valid = rows.IsValid(static_cast<int64_t>(at + i));
        levels_[waiting_ + i] = valid;
        *to = values[at + i];
        to += valid;
      }
      values_.resize(static_cast<size_t>(to - values_.data()));
    }
    waiting_ += taken;
  }

  size_t page_rows_;
  bool length_set_ = false;
  size_t waiting_ = 0;  // rows
  std::vector<T> values_;
  std::vector<uint32_t> levels_;  // empty: no nulls so far
};

}  // namespace timelake::write
