#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Small text helpers. Character classes are ASCII only and never depend on the process locale.

namespace timelake {

std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// Without leading and trailing space, tab, CR and LF. A view into `text`.
std::string_view Trim(std::string_view text);

// A-Z become a-z; every other byte, of UTF-8 too, stays.
std::string ToLowerAscii(std::string_view text);

// The whole text as a decimal number with an optional '-'. InvalidArgument naming the text on
// anything else (space, '+', fraction, exponent, outside int64).
Result<int64_t> ParseInt64(std::string_view text);

// A list of names as settings hold it: `host, region` or `host, "a,b"`. Names are trimmed; in
// double quotes a name keeps commas and spaces, and a quote is doubled. Blank text is the empty
// list; an empty name, an open quote or text after a closing quote is InvalidArgument.
Result<std::vector<std::string>> SplitNames(std::string_view text);

// Inverse of SplitNames: joined with "," (no space), quoted only where needed.
std::string JoinNames(const std::vector<std::string>& names);

// For messages: in double quotes; control characters, quotes, backslashes and bytes that are not
// UTF-8 are escaped, and text is cut after 80 code points with "..." behind the closing quote.
std::string Quote(std::string_view text);

// "Did you mean": the candidate closest to `name`, of equals the first; nothing if none is within 2
// edits (1 for names under 5 bytes, 0 for one byte). Case is ignored, a swap is one edit.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates);

// "512 B", "1.5 KiB", "3.0 GiB": powers of 1024, one digit after the point.
std::string HumanBytes(int64_t bytes);

// "1,234,567".
std::string HumanCount(int64_t count);

}  // namespace timelake
