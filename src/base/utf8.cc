#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace timelake {
namespace {

constexpr uint32_t kLastCodePoint = 0x10FFFF;
constexpr uint32_t kFirstSurrogate = 0xD800;
constexpr uint32_t kLastSurrogate = 0xDFFF;

uint8_t ByteAt(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

bool IsContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// `sequence` is exactly one valid sequence.
uint32_t Decode(std::string_view sequence) {
  const uint8_t first = ByteAt(sequence, 0);
  if (sequence.size() == 1) return first;
  uint32_t code_point = first & (0x7Fu >> sequence.size());
  for (size_t i = 1; i < sequence.size(); ++i) {
    code_point = code_point << 6 | (ByteAt(sequence, i) & 0x3Fu);
  }
  return code_point;
}

void AppendCodePoint(uint32_t c, std::string* out) {
  const auto append = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    append(c);
    return;
  }
  if (c < 0x800) {
    append(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      append(0xE0 | c >> 12);
    } else {
      append(0xF0 | c >> 18);
      append(0x80 | (c >> 12 & 0x3F));
    }
    append(0x80 | (c >> 6 & 0x3F));
  }
  append(0x80 | (c & 0x3F));
}

// Bytes of the longest valid prefix with at most `n` code points.
size_t PrefixBytes(std::string_view text, size_t n) {
  size_t position = 0;
  for (; n > 0; --n) {
    const size_t length = SequenceLength(text.substr(position));
    if (length == 0) break;
    position += length;
  }
  return position;
}

}  // namespace

size_t SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const uint8_t first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  // 80..BF continue, C0 and C1 would be overlong, F5..FF lie above U+10FFFF.
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(ByteAt(text, i))) return 0;
  }
  const uint8_t second = ByteAt(text, 1);
  switch (first) {
    case 0xE0: return second >= 0xA0 ? length : 0;  // overlong
    case 0xED: return second <= 0x9F ? length : 0;  // surrogates
    case 0xF0: return second >= 0x90 ? length : 0;  // overlong
    case 0xF4: return second <= 0x8F ? length : 0;  // above U+10FFFF
    default: return length;
  }
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    // Most text is ASCII: skip it a word at a time.
    uint64_t word;
    if (text.size() - position >= sizeof(word)) {
      std::memcpy(&word, text.data() + position, sizeof(word));
      if ((word & 0x8080808080808080u) == 0) {
        position += sizeof(word);
        continue;
      }
    }
    const size_t length = SequenceLength(text.substr(position));
    if (length == 0) return position;
    position += length;
  }
  return std::nullopt;
}

size_t CodePointLength(std::string_view text) {
  size_t count = 0;
  for (size_t position = 0; position < text.size(); ++count) {
    const size_t length = SequenceLength(text.substr(position));
    position += length == 0 ? 1 : length;
  }
  return count;
}

std::string TruncateLower(std::string_view text, size_t n) {
  return std::string(text.substr(0, PrefixBytes(text, n)));
}

std::optional<std::string> TruncateUpper(std::string_view text, size_t n) {
  size_t end = PrefixBytes(text, n);
  if (end == text.size()) return std::string(text);
  while (end > 0) {
    size_t start = end - 1;
    while (IsContinuation(ByteAt(text, start))) --start;
    uint32_t next = Decode(text.substr(start, end - start)) + 1;
    if (next == kFirstSurrogate) next = kLastSurrogate + 1;
    if (next <= kLastCodePoint) {
      std::string upper(text.substr(0, start));
      AppendCodePoint(next, &upper);
      return upper;
    }
    end = start;
  }
  return std::nullopt;
}

std::string TruncateLowerBytes(std::string_view bytes, size_t n) {
  return std::string(bytes.substr(0, n));
}

std::optional<std::string> TruncateUpperBytes(std::string_view bytes, size_t n) {
  if (bytes.size() <= n) return std::string(bytes);
  std::string upper(bytes.substr(0, n));
  while (!upper.empty() && upper.back() == '\xFF') upper.pop_back();
  if (upper.empty()) return std::nullopt;
  upper.back() = static_cast<char>(static_cast<uint8_t>(upper.back()) + 1);
  return upper;
}

std::string PercentEncodeForm(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
        c == '*' || c == '_' || c == '-') {
      encoded += c;
    } else if (c == ' ') {
      encoded += '+';
    } else {
      const uint8_t byte = static_cast<uint8_t>(c);
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

}  // namespace timelake
