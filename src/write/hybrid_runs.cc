#include "write/hybrid_runs.h"

#include <algorithm>
#include <bit>

#include "write/bit_packing.h"

namespace timelake::write {
namespace {

constexpr size_t kGroup = 8;  // values that are packed together

// A run costs its length (one byte up to 63 values) and its value. Packing costs the bits, and a
// byte where it begins anew.
constexpr size_t RunBits(size_t length, int width) {
  return 8 * ((length < 64 ? 1 : 2) + static_cast<size_t>(width + 7) / 8);
}

// The shortest run that is worth interrupting packed values for.
size_t LeastRun(int width) {
  if (width == 0) return 1;
  return (RunBits(1, width) + 8) / static_cast<size_t>(width) + 1;
}

class Hybrid {
 public:
  Hybrid(const uint32_t* values, size_t count, int width, size_t least_run, PageBytes* out)
      : values_(values), count_(count), width_(width), least_run_(least_run), out_(out) {}

  void Write() {
    for (size_t at = 0; at < count_;) {
      const size_t end = EndOfRun(at);
      if (end - at >= least_run_ || FewRuns(at, end)) {
        WriteRun(at, end);
        at = end;
      } else {
        at = WritePacked(at);
      }
    }
  }

 private:
  size_t EndOfRun(size_t begin) const {
    const uint32_t value = values_[begin];
    size_t end = begin + 1;
    while (end < count_ && values_[end] == value) ++end;
    return end;
  }

  // Short runs side by side: whether those of the next group cost less than packing it.
  bool FewRuns(size_t begin, size_t end) const {
    if (least_run_ > kGroup) return false;
    const size_t group_end = std::min(count_, begin + kGroup);
    size_t runs = 1;
    for (size_t i = end; i < group_end; ++i) runs += values_[i] != values_[i - 1];
    return runs * RunBits(1, width_) < static_cast<size_t>(width_) * kGroup + 8;
  }

  // The first run of at least `least_run_` values that begins at `at` or later; `count_` if there
  // is none. Looks at every value only where values repeat.
  size_t NextRun(size_t at) const {
    while (at + least_run_ <= count_) {
      size_t back = at + least_run_ - 1;
      while (back > at && values_[back - 1] == values_[back]) --back;
      if (back == at) return at;
      at = back;
    }
    return count_;
  }

  // Packs whole groups from `begin` up to the next run; returns where that run is to begin.
  size_t WritePacked(size_t begin) {
    size_t at = begin;
    while (true) {
      at = NextRun(at);
      if (at == count_) break;
      // The last group is filled up from the run.
      const size_t full = begin + (at - begin + kGroup - 1) / kGroup * kGroup;
      const size_t end = EndOfRun(at);
      if (full + least_run_ <= end) {
        at = full;
        break;
      }
      at = end;
    }
    const size_t groups = (at - begin + kGroup - 1) / kGroup;
    out_->AppendVarint(groups << 1 | 1);
    const size_t before = out_->size();
    AppendPacked(values_ + begin, at - begin, width_, out_);
    // The last group of all is filled up with zeros.
    const size_t rest = groups * static_cast<size_t>(width_) - (out_->size() - before);
    std::fill_n(out_->Reserve(rest), rest, uint8_t{0});
    out_->Advance(rest);
    return at;
  }

  void WriteRun(size_t begin, size_t end) {
    out_->AppendVarint((end - begin) << 1);
    out_->Append(&values_[begin], static_cast<size_t>(width_ + 7) / 8);
  }

  const uint32_t* values_;
  size_t count_;
  int width_;
  size_t least_run_;
  PageBytes* out_;
};

}  // namespace

void AppendHybrid(const uint32_t* values, size_t count, int width, PageBytes* out) {
  Hybrid(values, count, width, LeastRun(width), out).Write();
}

void AppendLevels(const uint32_t* levels, size_t count, PageBytes* out) {
  const size_t length = out->BeginLength();
  if (levels != nullptr) {
    // A codec makes less of packed levels than of short runs between single nulls.
    Hybrid(levels, count, 1, /*least_run=*/256, out).Write();
  } else if (count > 0) {
    out->AppendVarint(static_cast<uint64_t>(count) << 1);
    out->AppendByte(1);
  }
  out->EndLength(length);
}

void AppendIndices(const uint32_t* indices, size_t count, uint32_t most, PageBytes* out) {
  const int width = std::max(1, static_cast<int>(std::bit_width(most)));
  out->AppendByte(static_cast<uint8_t>(width));
  AppendHybrid(indices, count, width, out);
}

void AppendWideIndices(const uint32_t* indices, size_t count, uint32_t most, PageBytes* out) {
  const int width = (std::max(1, static_cast<int>(std::bit_width(most))) + 7) / 8 * 8;
  out->AppendByte(static_cast<uint8_t>(width));
  // A codec finds short runs by itself.
  Hybrid(indices, count, width, /*least_run=*/32, out).Write();
}

}  // namespace timelake::write
