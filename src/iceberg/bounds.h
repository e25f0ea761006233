#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "iceberg/schema.h"
#include "iceberg/value.h"

namespace timelake::iceberg {

// Code points (strings) or bytes (binary) kept of a bound, as `write.metadata.metrics.default`
// "truncate(16)" of other engines.
inline constexpr int kBoundLength = 16;

// Serialised lower bound of a column whose smallest non-null, non-NaN value is `min`: strings cut
// at 16 code points, binary at 16 bytes; -0.0 stays for a zero minimum (a zero minimum is written
// as -0.0).
Result<std::string> LowerBound(const Type& type, const Value& min);

// Serialised upper bound; a cut string is rounded up at its last code point. nullopt when no such
// text exists (all code points are U+10FFFF): then the column has no upper bound. A zero maximum is
// written as +0.0.
Result<std::optional<std::string>> UpperBound(const Type& type, const Value& max);

}  // namespace timelake::iceberg
