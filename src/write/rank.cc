#include "write/rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include <arrow/compute/api.h>
#include <arrow/extension_type.h>
#include <arrow/util/decimal.h>

namespace timelake::write {
namespace {

using arrow::Type;

// A table of this many entries is cheap beside the rows themselves.
uint64_t TableLimit(size_t rows) { return 4 * static_cast<uint64_t>(rows) + (1 << 16); }

// Hash table from 64-bit codes to small numbers, in order of first appearance.
class CodeTable {
 public:
  explicit CodeTable(size_t expected) {
    size_t size = 1024;
    while (size < 2 * expected) size *= 2;
    slots_.assign(size, kFree);
  }

  uint32_t Find(uint64_t code) {
    const size_t mask = slots_.size() - 1;
    for (size_t i = (code * 0x9E3779B97F4A7C15u) >> 20 & mask;; i = (i + 1) & mask) {
      if (slots_[i] == kFree) {
        slots_[i] = static_cast<uint32_t>(codes_.size());
        codes_.push_back(code);
        return slots_[i];
      }
      if (codes_[slots_[i]] == code) return slots_[i];
    }
  }

  const std::vector<uint64_t>& codes() const { return codes_; }

 private:
  static constexpr uint32_t kFree = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> slots_;  // never full: at most `expected` codes
  std::vector<uint64_t> codes_;
};

// Dense ranks of rows whose unsigned codes are already in order.
template <typename CodeOf>
Ranks RankCodes(size_t rows, CodeOf&& code_of) {
  CodeTable table(rows);
  Ranks ranks;
  ranks.of_row.resize(rows);
  for (size_t i = 0; i < rows; ++i) ranks.of_row[i] = table.Find(code_of(i));
  const std::vector<uint64_t>& codes = table.codes();
  std::vector<uint32_t> order(codes.size()), rank_of(codes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return codes[a] < codes[b]; });
  for (size_t i = 0; i < order.size(); ++i) rank_of[order[i]] = static_cast<uint32_t>(i);
  for (uint32_t& rank : ranks.of_row) rank = rank_of[rank];
  ranks.count = std::max<uint32_t>(1, static_cast<uint32_t>(codes.size()));
  return ranks;
}

// Signed integers by value: offsets from the least one where their range is small.
template <typename ValueOf>
Ranks RankSigned(size_t rows, ValueOf&& value_of) {
  if (rows == 0) return {};
  int64_t low = std::numeric_limits<int64_t>::max();
  int64_t high = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < rows; ++i) {
    low = std::min<int64_t>(low, value_of(i));
    high = std::max<int64_t>(high, value_of(i));
  }
  const uint64_t base = static_cast<uint64_t>(low);
  const uint64_t range = static_cast<uint64_t>(high) - base;
  if (range >= TableLimit(rows)) {
    return RankCodes(rows, [&](size_t i) { return static_cast<uint64_t>(value_of(i)) - base; });
  }
  Ranks ranks;
  ranks.of_row.resize(rows);
  for (size_t i = 0; i < rows; ++i) {
    ranks.of_row[i] = static_cast<uint32_t>(static_cast<uint64_t>(value_of(i)) - base);
  }
  ranks.count = static_cast<uint32_t>(range) + 1;
  return ranks;
}

// Rank of each value of `values` (no nulls) by `less`; values of which none is less are equal.
template <typename ValueOf, typename Less>
std::vector<uint32_t> RankValues(int64_t count, ValueOf&& value_of, Less&& less,
                                 uint32_t* distinct) {
  std::vector<uint32_t> order(count), rank_of(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return less(value_of(a), value_of(b)); });
  uint32_t rank = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && less(value_of(order[i - 1]), value_of(order[i]))) ++rank;
    rank_of[order[i]] = rank;
  }
  *distinct = count == 0 ? 0 : rank + 1;
  return rank_of;
}

template <typename T>
bool FloatLess(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return a < b;
}

// Ranks of a dictionary's values.
Result<std::vector<uint32_t>> RankDictionary(const arrow::Array& values, uint32_t* distinct) {
  const int64_t count = values.length();
  const auto plain = [&](const auto& array) {
    return RankValues(
        count, [&](uint32_t i) { return array.GetView(i); }, std::less<>(), distinct);
  };
  switch (values.type_id()) {
    case Type::STRING:
    case Type::BINARY: return plain(static_cast<const arrow::BinaryArray&>(values));
    case Type::FIXED_SIZE_BINARY:
      return plain(static_cast<const arrow::FixedSizeBinaryArray&>(values));
    case Type::FLOAT:
      return RankValues(
          count, [&](uint32_t i) { return static_cast<const arrow::FloatArray&>(values).Value(i); },
          FloatLess<float>, distinct);
    case Type::DOUBLE:
      return RankValues(
          count,
          [&](uint32_t i) { return static_cast<const arrow::DoubleArray&>(values).Value(i); },
          FloatLess<double>, distinct);
    case Type::DECIMAL128:
      return RankValues(
          count,
          [&](uint32_t i) {
            return arrow::Decimal128(
                static_cast<const arrow::Decimal128Array&>(values).GetValue(i));
          },
          std::less<>(), distinct);
    default: break;
  }
  return Unsupported("rows cannot be ordered by a column of Arrow type {}",
                     values.type()->ToString());
}

// Ranks of the rows of a dictionary array, without regard to nulls.
Result<Ranks> RankByDictionary(const arrow::DictionaryArray& array) {
  uint32_t distinct = 0;
  TL_ASSIGN_OR_RAISE(auto rank_of, RankDictionary(*array.dictionary(), &distinct));
  const auto& indices = static_cast<const arrow::Int32Array&>(*array.indices());
  Ranks ranks;
  ranks.of_row.resize(static_cast<size_t>(indices.length()));
  ranks.count = std::max<uint32_t>(1, distinct);
  const bool has_nulls = indices.null_count() > 0;
  for (int64_t i = 0; i < indices.length(); ++i) {
    ranks.of_row[i] = has_nulls && indices.IsNull(i) ? 0 : rank_of[indices.Value(i)];
  }
  return ranks;
}

Result<Ranks> RankNonNull(const arrow::Array& array) {
  const size_t rows = static_cast<size_t>(array.length());
  const auto integers = [&](const auto* values) -> Result<Ranks> {
    // Nulls are ranked later; meanwhile they must not widen the range.
    int64_t instead = 0;
    for (size_t i = 0; i < rows; ++i) {
      if (array.IsNull(static_cast<int64_t>(i))) continue;
      instead = values[i];
      break;
    }
    return RankSigned(rows, [&](size_t i) {
      return array.IsNull(static_cast<int64_t>(i)) ? instead : static_cast<int64_t>(values[i]);
    });
  };
  switch (array.type_id()) {
    case Type::BOOL: {
      const auto& flags = static_cast<const arrow::BooleanArray&>(array);
      return RankSigned(
          rows, [&](size_t i) { return static_cast<int64_t>(flags.IsValid(i) && flags.Value(i)); });
    }
    case Type::INT32:
    case Type::DATE32: return integers(array.data()->GetValues<int32_t>(1));
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return integers(array.data()->GetValues<int64_t>(1));
    case Type::DICTIONARY:
      return RankByDictionary(static_cast<const arrow::DictionaryArray&>(array));
    case Type::EXTENSION:
      return RankNonNull(*static_cast<const arrow::ExtensionArray&>(array).storage());
    default: {
      if (!arrow::is_primitive(array.type_id()) && !arrow::is_base_binary_like(array.type_id()) &&
          !arrow::is_fixed_size_binary(array.type_id())) {
        return Unsupported("rows cannot be ordered by a column of Arrow type {}",
                           array.type()->ToString());
      }
      TL_ASSIGN_OR_RAISE(arrow::Datum encoded, arrow::compute::DictionaryEncode(array));
      return RankByDictionary(static_cast<const arrow::DictionaryArray&>(*encoded.make_array()));
    }
  }
}

}  // namespace

Result<Ranks> RankColumn(const arrow::Array& array, bool descending, bool nulls_last) {
  TL_ASSIGN_OR_RAISE(Ranks ranks, RankNonNull(array));
  if (descending) {
    for (uint32_t& rank : ranks.of_row) rank = ranks.count - 1 - rank;
  }
  if (array.null_count() == 0) return ranks;
  for (size_t i = 0; i < ranks.of_row.size(); ++i) {
    const bool null = array.IsNull(static_cast<int64_t>(i));
    uint32_t& rank = ranks.of_row[i];
    if (nulls_last) {
      if (null) rank = ranks.count;
    } else {
      rank = null ? 0 : rank + 1;
    }
  }
  ++ranks.count;
  return ranks;
}

Ranks RankIntegers(const std::vector<int64_t>& values) {
  return RankSigned(values.size(), [&](size_t i) { return values[i]; });
}

Ranks CombineRanks(Ranks major, const Ranks& minor) {
  if (minor.count == 1) return major;
  if (major.count == 1) return minor;
  const size_t rows = major.of_row.size();
  const uint64_t product = static_cast<uint64_t>(major.count) * minor.count;
  const auto code_of = [&](size_t i) {
    return static_cast<uint64_t>(major.of_row[i]) * minor.count + minor.of_row[i];
  };
  if (product > TableLimit(rows) || product > std::numeric_limits<uint32_t>::max()) {
    return RankCodes(rows, code_of);
  }
  for (size_t i = 0; i < rows; ++i) major.of_row[i] = static_cast<uint32_t>(code_of(i));
  major.count = static_cast<uint32_t>(product);
  // Keeps the next product small, too.
  Densify(&major);
  return major;
}

void Densify(Ranks* ranks) {
  std::vector<uint32_t> rank_of(ranks->count, 0);
  for (uint32_t rank : ranks->of_row) rank_of[rank] = 1;
  uint32_t next = 0;
  for (uint32_t& rank : rank_of) rank = rank != 0 ? next++ : 0;
  for (uint32_t& rank : ranks->of_row) rank = rank_of[rank];
  ranks->count = std::max<uint32_t>(1, next);
}

}  // namespace timelake::write
