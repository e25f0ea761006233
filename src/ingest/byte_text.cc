#include "ingest/byte_text.h"

#include <optional>
#include <string>
#include <string_view>

#include <arrow/builder.h>

#include "base/text.h"

namespace timelake::ingest {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte of "\xHH" at the start of `text`.
std::optional<char> EscapedByte(std::string_view text) {
  if (text.size() < 4 || text[1] != 'x') return std::nullopt;
  const int high = HexDigit(text[2]), low = HexDigit(text[3]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> BytesOf(const arrow::StringArray& texts,
                                              const write::Place& place) {
  arrow::BinaryBuilder builder;
  TL_RETURN_NOT_OK(builder.Reserve(texts.length()));
  std::string bytes;
  for (int64_t i = 0; i < texts.length(); ++i) {
    if (texts.IsNull(i)) {
      builder.UnsafeAppendNull();
      continue;
    }
    bytes.clear();
    std::string_view text = texts.GetView(i);
    while (!text.empty()) {
      std::optional<char> byte = text[0];
      if (text[0] == '\\') byte = EscapedByte(text);
      if (!byte) {
        return InvalidArgument(
            "{}: {} is no text of bytes; accepted after a backslash are x and two hex digits, "
            "\\x5C for a backslash itself",
            place.At(i), Quote(texts.GetView(i)));
      }
      bytes += *byte;
      text.remove_prefix(text[0] == '\\' ? 4 : 1);
    }
    TL_RETURN_NOT_OK(builder.Append(bytes));
  }
  return builder.Finish();
}

}  // namespace timelake::ingest
