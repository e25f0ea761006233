#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace timelake::write {

// Numbers are copied as they lie in memory; Parquet stores them little-endian.
static_assert(std::endian::native == std::endian::little);

// The bytes of a page while it is encoded. Memory is kept from page to page.
class PageBytes {
 public:
  const uint8_t* data() const { return storage_.data(); }
  size_t size() const { return size_; }
  void Clear() { size_ = 0; }

  // Room for `most` bytes behind the last; what is used of it is told to Advance.
  uint8_t* Reserve(size_t most) {
    if (storage_.size() < size_ + most) {
      storage_.resize(std::max(size_ + most, storage_.size() + storage_.size() / 2));
    }
    return storage_.data() + size_;
  }
  void Advance(size_t used) { size_ += used; }

  void Append(const void* bytes, size_t count) {
    if (count == 0) return;
    std::memcpy(Reserve(count), bytes, count);
    Advance(count);
  }
  void AppendByte(uint8_t byte) { Append(&byte, 1); }

  // ULEB128: seven bits a byte, lowest first (Parquet Encodings.md).
  void AppendVarint(uint64_t value) {
    uint8_t* out = Reserve(10);
    size_t used = 0;
    for (; value >= 0x80; value >>= 7) out[used++] = static_cast<uint8_t>(value | 0x80);
    out[used++] = static_cast<uint8_t>(value);
    Advance(used);
  }
  void AppendZigZag(int64_t value) {
    AppendVarint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }

  // A little-endian length before what comes next: the place is kept, the length told afterwards.
  size_t BeginLength() {
    const size_t place = size_;
    const uint32_t none = 0;
    Append(&none, sizeof(none));
    return place;
  }
  void EndLength(size_t place) {
    const auto length = static_cast<uint32_t>(size_ - place - sizeof(uint32_t));
    std::memcpy(storage_.data() + place, &length, sizeof(length));
  }

 private:
  std::vector<uint8_t> storage_;
  size_t size_ = 0;
};

}  // namespace timelake::write
