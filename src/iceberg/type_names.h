#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "iceberg/schema.h"

namespace timelake::iceberg {

// How deep structs, lists and maps may nest, in metadata files, Arrow schemas and schema text
// alike: far beyond any real table, and small enough that recursion over a type never exhausts the
// stack.
inline constexpr int kMaxTypeDepth = 64;

// A primitive type by its name in metadata JSON (specification, Appendix C), e.g. "long",
// "decimal(9, 2)", "fixed[16]"; nothing for any other text. Does not check the decimal's limits.
std::optional<Type> PrimitiveFromName(std::string_view name);

// The inverse of PrimitiveFromName. The type must be primitive.
std::string PrimitiveName(const Type& type);

// For messages: the type texts that ParseType takes.
std::string_view AcceptedTypes();

}  // namespace timelake::iceberg
