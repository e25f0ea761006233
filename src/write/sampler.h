#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

namespace timelake::write {

// Rows that are looked at before a file is written.
inline constexpr int64_t kBlocks = 64;
inline constexpr int64_t kBlockRows = 64;

// What a sample says about one row group.
struct Sample {
  double distinct = 0;    // estimated distinct values
  double bytes = 0;       // ... and their size
  double changes = 0;     // share of values that differ from the one before
  double delta_bits = 0;  // per value
};

// Values of neighbouring rows come in blocks: a value that was seen in one block only stands for
// many unseen ones (the estimator of unseen species by Chao, with blocks as sampling units).
template <typename Key>
struct SpreadHash {
  size_t operator()(const Key& key) const { return std::hash<Key>()(key); }
};
template <>
struct SpreadHash<uint64_t> {
  // Doubles of whole numbers differ in their highest bits only.
  size_t operator()(uint64_t key) const { return ((key ^ key >> 32) * 0x9E3779B97F4A7C15u) >> 48; }
};

template <typename Key>
class Sampler {
 public:
  // Of `values` at most. A table of fixed size for them, never full.
  explicit Sampler(int64_t values)
      : slots_(std::bit_ceil(4 * static_cast<size_t>(std::max<int64_t>(values, 1))), -1) {}

  void BeginBlock() {
    ++block_;
    last_ = -1;
  }

  void Add(const Key& key, size_t bytes) {
    ++values_;
    Seen& seen = Find(key);
    if (seen.blocks == 0) bytes_ += static_cast<double>(bytes);
    if (seen.last_block != block_) {
      seen.last_block = block_;
      ++seen.blocks;
    }
    const auto number = static_cast<int64_t>(&seen - seen_.data());
    changes_ += last_ != number;
    last_ = number;
  }

  Sample Finish(bool complete, int64_t group_rows) const {
    Sample sample;
    if (values_ == 0) return sample;
    const double found = static_cast<double>(seen_.size());
    double once = 0, twice = 0;
    for (const Seen& seen : seen_) {
      once += seen.blocks == 1;
      twice += seen.blocks == 2;
    }
    const double unseen = complete ? 0 : once * std::max(0.0, once - 1) / (2 * (twice + 1));
    sample.distinct = std::min(found + unseen, static_cast<double>(group_rows));
    sample.bytes = sample.distinct * bytes_ / found;
    sample.changes = changes_ / static_cast<double>(values_);
    return sample;
  }

 private:
  struct Seen {
    Key key;
    int64_t last_block = -1;
    int blocks = 0;
  };

  Seen& Find(const Key& key) {
    const size_t mask = slots_.size() - 1;
    size_t i = SpreadHash<Key>()(key) & mask;
    for (; slots_[i] >= 0; i = (i + 1) & mask) {
      Seen& seen = seen_[static_cast<size_t>(slots_[i])];
      if (seen.key == key) return seen;
    }
    slots_[i] = static_cast<int16_t>(seen_.size());
    return seen_.emplace_back(Seen{key, -1, 0});
  }

  std::vector<int16_t> slots_;
  std::vector<Seen> seen_;
  int64_t last_ = -1;
  int64_t block_ = 0;
  int64_t values_ = 0;
  double bytes_ = 0;
  double changes_ = 0;
};

}  // namespace timelake::write
