#include "iceberg/bounds.h"

#include <cmath>
#include <optional>
#include <string>

#include "base/utf8.h"

namespace timelake::iceberg {
namespace {

// A null or NaN is no bound: pruning by it would hide rows.
Status CheckUsable(const Type& type, const Value& value) {
  const auto* small = std::get_if<float>(&value);
  const auto* large = std::get_if<double>(&value);
  if (IsNull(value) || (small && std::isnan(*small)) || (large && std::isnan(*large))) {
    return InvalidArgument("{} cannot be a bound (type {})", ToText(type, value), TypeName(type));
  }
  return Status::OK();
}

// Readers that compare -0.0 and 0.0 as different, and those that do not, must both find either in
// [bound, bound]: so a lower zero is always -0.0 and an upper zero 0.0.
template <typename T>
Value SignedZero(T value, bool negative) {
  if (value != 0) return value;
  return negative ? -T{0} : T{0};
}

Value WithZeroSign(const Value& value, bool negative) {
  if (auto x = std::get_if<float>(&value)) return SignedZero(*x, negative);
  if (auto x = std::get_if<double>(&value)) return SignedZero(*x, negative);
  return value;
}

bool IsText(const Type& type) { return type.id == TypeId::kString; }
bool IsBytes(const Type& type) { return type.id == TypeId::kBinary || type.id == TypeId::kFixed; }

}  // namespace

Result<std::string> LowerBound(const Type& type, const Value& min) {
  TL_RETURN_NOT_OK(CheckUsable(type, min));
  TL_ASSIGN_OR_RAISE(std::string bytes, ToBytes(type, WithZeroSign(min, true)));
  if (IsText(type)) return TruncateLower(bytes, kBoundLength);
  if (IsBytes(type)) return TruncateLowerBytes(bytes, kBoundLength);
  return bytes;
}

Result<std::optional<std::string>> UpperBound(const Type& type, const Value& max) {
  TL_RETURN_NOT_OK(CheckUsable(type, max));
  TL_ASSIGN_OR_RAISE(std::string bytes, ToBytes(type, WithZeroSign(max, false)));
  if (IsText(type)) return TruncateUpper(bytes, kBoundLength);
  if (IsBytes(type)) return TruncateUpperBytes(bytes, kBoundLength);
  return std::optional<std::string>(std::move(bytes));
}

}  // namespace timelake::iceberg
