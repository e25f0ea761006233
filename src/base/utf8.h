#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// UTF-8 as RFC 3629 has it (no overlong forms, no surrogates, at most U+10FFFF), and the shortened
// bounds of Iceberg column metrics. Bytewise order of valid UTF-8 equals code point order.

namespace timelake {

// Bytes (1 to 4) of the valid UTF-8 sequence at the start of `text`; 0 if there is none.
size_t SequenceLength(std::string_view text);

// Position of the first byte that is not part of valid UTF-8; nothing if all of `text` is valid.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

inline bool IsValidUtf8(std::string_view text) { return !FindInvalidUtf8(text).has_value(); }

// Number of code points; a byte outside valid UTF-8 counts as one.
size_t CodePointLength(std::string_view text);

// Lower bound: the first `n` code points, less if text stops being valid UTF-8 before. Always valid
// UTF-8 and at most `text` by bytes.
std::string TruncateLower(std::string_view text, size_t n);

// Upper bound: `text` itself if it is valid and has at most `n` code points, else the least valid
// string that is greater (by bytes) than everything with TruncateLower(text, n) as its prefix: the
// last code point that can grow grows, surrogates are skipped, what follows is dropped. Nothing if
// no such string exists; the column then has no upper bound.
std::optional<std::string> TruncateUpper(std::string_view text, size_t n);

// The same for binary columns, `n` in bytes.
std::string TruncateLowerBytes(std::string_view bytes, size_t n);
std::optional<std::string> TruncateUpperBytes(std::string_view bytes, size_t n);

// The encoding of names and values in partition directories, which other Iceberg writers leave to
// java.net.URLEncoder: A-Z a-z 0-9 . * _ - stay, a space becomes '+', other bytes %XX (upper case).
std::string PercentEncodeForm(std::string_view text);

}  // namespace timelake
