#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "iceberg/avro/schema.h"

// The binary encoding of Avro values (Avro specification 1.11, "Binary Encoding").

namespace timelake::iceberg::avro {

static_assert(std::endian::native == std::endian::little, "float and double are little-endian");

// Appends values to a buffer. Cannot fail.
class Encoder {
 public:
  void Boolean(bool value) { out_.push_back(value ? 1 : 0); }
  void Int(int32_t value) { Long(value); }
  // Zig-zag, then seven bits a byte, lowest first.
  void Long(int64_t value) {
    uint64_t bits = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    while (bits >= 0x80) {
      out_.push_back(static_cast<char>(bits | 0x80));
      bits >>= 7;
    }
    out_.push_back(static_cast<char>(bits));
  }
  void Float(float value) { Raw(&value, sizeof value); }
  void Double(double value) { Raw(&value, sizeof value); }
  void Bytes(std::string_view value) {
    Long(static_cast<int64_t>(value.size()));
    out_.append(value);
  }
  void Fixed(std::string_view value) { out_.append(value); }
  // Branch of a union; null is branch 0 in everything that we write.
  void Branch(int index) { Long(index); }
  // Items of an array or map follow; after the last, one Block(0) (an empty one is that alone).
  void Block(size_t count) { Long(static_cast<int64_t>(count)); }

  const std::string& data() const { return out_; }
  size_t size() const { return out_.size(); }
  void Clear() { out_.clear(); }

 private:
  void Raw(const void* bytes, size_t size) { out_.append(static_cast<const char*>(bytes), size); }

  std::string out_;
};

// Reads values from bytes that need not be valid. The first failure sticks: from then on every read
// returns zero or nothing, so a caller checks ok() where it loops and once at the end.
class Decoder {
 public:
  // `origin` is added to offsets in messages.
  explicit Decoder(std::string_view data, int64_t origin = 0)
      : begin_(data.data()), at_(data.data()), end_(data.data() + data.size()), origin_(origin) {}

  bool ok() const { return ok_; }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  int64_t offset() const { return origin_ + (at_ - begin_); }

  bool Boolean() {
    const std::string_view byte = Fixed(1);
    if (byte.empty()) return false;
    if (static_cast<unsigned char>(byte[0]) > 1) Fail("boolean is neither 0 nor 1");
    return byte[0] == 1;
  }
  int64_t Long() {
    if (at_ < end_ && static_cast<unsigned char>(*at_) < 0x80) return ZigZag(NextByte());
    return LongSlow();
  }
  int32_t Int() {
    const int64_t value = Long();
    if (value != static_cast<int32_t>(value)) {
      Fail("integer does not fit 32 bits");
      return 0;
    }
    return static_cast<int32_t>(value);
  }
  float Float() { return Raw<float>(); }
  double Double() { return Raw<double>(); }
  // Bytes or string; a view into the input.
  std::string_view Bytes() {
    const int64_t size = Long();
    if (size < 0 || static_cast<uint64_t>(size) > remaining()) {
      Fail("length of text or bytes reaches beyond the end");
      return {};
    }
    return Fixed(static_cast<size_t>(size));
  }
  std::string_view Fixed(size_t size) {
    if (size > remaining()) {
      Fail("ends in the middle of a value");
      return {};
    }
    const char* start = at_;
    at_ += size;
    return {start, size};
  }
  // Branch of a union.
  const Node& Branch(const Node& node);
  // Number of items that follow in an array or map, 0 at its end. Sets *bytes to their size where
  // it is written down, else -1.
  int64_t Block(int64_t* bytes);
  int64_t Block() {
    int64_t bytes;
    return Block(&bytes);
  }
  void Skip(const Node& node);

  // Later failures are ignored.
  void Fail(std::string_view what);
  // Names the field in which a failure happened; called from the inside out.
  void InField(std::string_view name);
  // kCorrupt "<field>: <what> at byte <n>", or OK.
  Status status() const;

 private:
  static int64_t ZigZag(uint64_t bits) {
    return static_cast<int64_t>(bits >> 1) ^ -static_cast<int64_t>(bits & 1);
  }
  unsigned char NextByte() { return static_cast<unsigned char>(*at_++); }
  int64_t LongSlow();
  void SkipItems(const Node& node);
  template <typename T>
  T Raw() {
    T value{};
    const std::string_view bytes = Fixed(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  int64_t origin_;
  bool ok_ = true;
  std::string what_;
  std::string field_;
  int64_t failed_at_ = 0;
};

}  // namespace timelake::iceberg::avro
