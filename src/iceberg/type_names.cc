#include "iceberg/type_names.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace timelake::iceberg {
namespace {

constexpr std::pair<TypeId, std::string_view> kPlainNames[] = {
    {TypeId::kBoolean, "boolean"},
    {TypeId::kInt, "int"},
    {TypeId::kLong, "long"},
    {TypeId::kFloat, "float"},
    {TypeId::kDouble, "double"},
    {TypeId::kDate, "date"},
    {TypeId::kTime, "time"},
    {TypeId::kTimestamp, "timestamp"},
    {TypeId::kTimestamptz, "timestamptz"},
    {TypeId::kString, "string"},
    {TypeId::kUuid, "uuid"},
    {TypeId::kBinary, "binary"},
};

bool ParseSmallInt(std::string_view text, int* out) {
  text = Trim(text);
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && stop == end && *out >= 0;
}

// The text between `prefix` and the closing `last`; nothing when `name` has another form.
std::optional<std::string_view> Inner(std::string_view name, std::string_view prefix, char last) {
  if (!name.starts_with(prefix) || name.size() <= prefix.size() || name.back() != last) {
    return std::nullopt;
  }
  return name.substr(prefix.size(), name.size() - prefix.size() - 1);
}

}  // namespace

std::optional<Type> PrimitiveFromName(std::string_view name) {
  Type type;
  for (const auto& [id, plain] : kPlainNames) {
    if (name == plain) {
      type.id = id;
      return type;
    }
  }
  if (auto inner = Inner(name, "decimal(", ')')) {
    const size_t comma = inner->find(',');
    type.id = TypeId::kDecimal;
    if (comma == std::string_view::npos) return std::nullopt;
    if (!ParseSmallInt(inner->substr(0, comma), &type.precision)) return std::nullopt;
    if (!ParseSmallInt(inner->substr(comma + 1), &type.scale)) return std::nullopt;
    return type;
  }
  if (auto inner = Inner(name, "fixed[", ']')) {
    type.id = TypeId::kFixed;
    if (!ParseSmallInt(*inner, &type.length)) return std::nullopt;
    return type;
  }
  return std::nullopt;
}

std::string PrimitiveName(const Type& type) {
  for (const auto& [id, plain] : kPlainNames) {
    if (type.id == id) return std::string(plain);
  }
  if (type.id == TypeId::kDecimal) return fmt::format("decimal({},{})", type.precision, type.scale);
  return fmt::format("fixed[{}]", type.length);
}

std::string_view AcceptedTypes() {
  return "boolean, int, long, float, double, decimal(P,S), date, time, timestamp, timestamptz, "
         "string, uuid, fixed(N), binary, list<T>, map<K,V>, struct<name:T,...>";
}

}  // namespace timelake::iceberg
