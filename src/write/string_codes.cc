#include "write/string_codes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "base/memory.h"

namespace timelake::write {
namespace {

// Before devices are found to say nothing of the strings: each misses once.
constexpr int64_t kTrialMisses = 4096;

template <typename Word>
bool SameEnds(const char* a, const char* b, size_t length) {
  Word x, y, z, w;
  std::memcpy(&x, a, sizeof(Word));
  std::memcpy(&y, b, sizeof(Word));
  std::memcpy(&z, a + length - sizeof(Word), sizeof(Word));
  std::memcpy(&w, b + length - sizeof(Word), sizeof(Word));
  return ((x ^ y) | (z ^ w)) == 0;
}

// Short strings are most: a call of memcmp costs more than comparing them.
bool Same(std::string_view a, std::string_view b) {
  const size_t length = a.size();
  if (length != b.size()) return false;
  if (length > 16) return std::memcmp(a.data(), b.data(), length) == 0;
  if (length >= 8) return SameEnds<uint64_t>(a.data(), b.data(), length);
  if (length >= 4) return SameEnds<uint32_t>(a.data(), b.data(), length);
  for (size_t i = 0; i < length; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Both ends of a text of `length` from sizeof(Word) to twice that.
template <typename Word>
uint64_t MixEnds(const char* text, size_t length) {
  Word first, last;
  std::memcpy(&first, text, sizeof(Word));
  std::memcpy(&last, text + length - sizeof(Word), sizeof(Word));
  return (first * 0x9E3779B97F4A7C15u) ^ (last * 0xC2B2AE3D27D4EB4Fu) ^ length;
}

uint32_t HashOf(std::string_view text) {
  const size_t length = text.size();
  uint64_t hash = length;
  if (length > 16) {
    hash = std::hash<std::string_view>()(text);
  } else if (length >= 8) {
    hash = MixEnds<uint64_t>(text.data(), length);
  } else if (length >= 4) {
    hash = MixEnds<uint32_t>(text.data(), length);
  } else {
    for (const char c : text) hash = hash << 8 | static_cast<uint8_t>(c);
  }
  hash *= 0x9E3779B97F4A7C15u;
  return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

StringCodes::StringCodes() : slots_(256, -1) {}

void StringCodes::Grow() {
  std::vector<int32_t> slots(4 * slots_.size(), -1);
  const size_t mask = slots.size() - 1;
  for (size_t code = 0; code < hashes_.size(); ++code) {
    size_t i = hashes_[code] & mask;
    while (slots[i] >= 0) i = (i + 1) & mask;
    slots[i] = static_cast<int32_t>(code);
  }
  slots_ = std::move(slots);
}

int32_t StringCodes::Find(std::string_view text) {
  const uint32_t hash = HashOf(text);
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  for (; slots_[i] >= 0; i = (i + 1) & mask) {
    const int32_t code = slots_[i];
    if (hashes_[static_cast<size_t>(code)] == hash && Same(TextOf(code), text)) return code;
  }
  const auto code = static_cast<int32_t>(hashes_.size());
  slots_[i] = code;
  hashes_.push_back(hash);
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  ends_.push_back(static_cast<int64_t>(bytes_.size()));
  if (2 * hashes_.size() > slots_.size()) Grow();
  return code;
}

int32_t StringCodes::CodeOf(std::string_view text, size_t context, int64_t* missed) {
  if (context >= expected_.size()) expected_.resize(2 * context + 64, 0);
  int32_t& expected = expected_[context];
  if (hashes_.empty() || !Same(TextOf(expected), text)) {
    ++*missed;
    expected = Find(text);
  }
  return last_ = expected;
}

void StringCodes::Encode(const arrow::StringArray& strings, const int32_t* devices, int32_t* out) {
  const bool has_nulls = strings.null_count() > 0;
  int64_t missed = 0;
  for (int64_t i = 0; i < strings.length(); ++i) {
    if (has_nulls && strings.IsNull(i)) {
      out[i] = 0;
      continue;
    }
    out[i] = CodeOf(strings.GetView(i), static_cast<size_t>(devices ? devices[i] : last_), &missed);
    if (4 * missed > i + kTrialMisses) devices = nullptr;
  }
}

Result<std::shared_ptr<arrow::Array>> StringCodes::Finish() {
  if (bytes_.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidArgument("the distinct strings are more than 2 GiB");
  }
  const auto count = static_cast<int64_t>(hashes_.size());
  TL_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> offsets,
      arrow::AllocateBuffer((count + 1) * static_cast<int64_t>(sizeof(int32_t)), CurrentPool()));
  std::copy(ends_.begin(), ends_.end(), reinterpret_cast<int32_t*>(offsets->mutable_data()));
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                     arrow::AllocateBuffer(static_cast<int64_t>(bytes_.size()), CurrentPool()));
  std::copy(bytes_.begin(), bytes_.end(), reinterpret_cast<char*>(bytes->mutable_data()));
  return std::make_shared<arrow::StringArray>(count, std::move(offsets), std::move(bytes));
}

}  // namespace timelake::write
