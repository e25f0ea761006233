#include "iceberg/avro/binary.h"

#include <limits>

namespace timelake::iceberg::avro {

int64_t Decoder::LongSlow() {
  uint64_t bits = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) {
      Fail("ends in the middle of an integer");
      return 0;
    }
    const uint64_t byte = NextByte();
    // The tenth byte holds the 64th bit and nothing else.
    if (shift == 63 && byte > 1) break;
    bits |= (byte & 0x7F) << shift;
    if (byte < 0x80) return ZigZag(bits);
  }
  Fail("integer is longer than 64 bits");
  return 0;
}

const Node& Decoder::Branch(const Node& node) {
  static const Node kNothing;  // null
  const int64_t index = Long();
  if (index < 0 || static_cast<uint64_t>(index) >= node.children.size()) {
    Fail("union has no such branch");
    return kNothing;
  }
  return *node.children[static_cast<size_t>(index)];
}

int64_t Decoder::Block(int64_t* bytes) {
  *bytes = -1;
  int64_t count = Long();
  if (count >= 0) return ok_ ? count : 0;
  if (count == std::numeric_limits<int64_t>::min()) {
    Fail("item count is out of range");
    return 0;
  }
  // A negative count is followed by the size of the items in bytes.
  count = -count;
  *bytes = Long();
  if (*bytes < 0 || static_cast<uint64_t>(*bytes) > remaining()) {
    Fail("size of a block of items reaches beyond the end");
    return 0;
  }
  return count;
}

void Decoder::SkipItems(const Node& node) {
  const Node& item = *node.children[0];
  const bool map = node.kind == Kind::kMap;
  int64_t bytes = -1;
  while (const int64_t count = Block(&bytes)) {
    if (bytes >= 0) {
      Fixed(static_cast<size_t>(bytes));
    } else if (!map && item.fixed_size == 0) {
      continue;
    } else if (static_cast<uint64_t>(count) > remaining()) {
      Fail("more items than bytes are left");
    } else if (!map && item.fixed_size > 0) {
      if (static_cast<uint64_t>(count) > remaining() / static_cast<uint64_t>(item.fixed_size)) {
        Fail("more items than bytes are left");
      } else {
        Fixed(static_cast<size_t>(count * item.fixed_size));
      }
    } else {
      for (int64_t i = 0; i < count && ok_; ++i) {
        if (map) Bytes();
        Skip(item);
      }
    }
    if (!ok_) return;
  }
}

// Recursion is bounded by the depth of the schema (kMaxDepth).
void Decoder::Skip(const Node& node) {
  if (node.fixed_size >= 0) {
    Fixed(static_cast<size_t>(node.fixed_size));
    return;
  }
  switch (node.kind) {
    case Kind::kInt:
    case Kind::kLong:
    case Kind::kEnum: Long(); break;
    case Kind::kBytes:
    case Kind::kString: Bytes(); break;
    case Kind::kUnion: Skip(Branch(node)); break;
    case Kind::kArray:
    case Kind::kMap: SkipItems(node); break;
    case Kind::kRecord:
      for (const Node* child : node.to_skip) {
        if (!ok_) return;
        Skip(*child);
      }
      break;
    default: break;
  }
}

void Decoder::Fail(std::string_view what) {
  if (!ok_) return;
  ok_ = false;
  what_ = what;
  failed_at_ = offset();
  at_ = end_;
}

void Decoder::InField(std::string_view name) {
  if (ok_) return;
  field_ = field_.empty() ? std::string(name) : std::string(name) + "." + field_;
}

Status Decoder::status() const {
  if (ok_) return Status::OK();
  if (field_.empty()) return Corrupt("{} at byte {}", what_, failed_at_);
  return Corrupt("field {}: {} at byte {}", field_, what_, failed_at_);
}

}  // namespace timelake::iceberg::avro
