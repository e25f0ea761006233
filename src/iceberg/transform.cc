#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "iceberg/partition.h"

namespace timelake::iceberg {
namespace {

constexpr std::pair<TransformKind, std::string_view> kNames[] = {
    {TransformKind::kIdentity, "identity"}, {TransformKind::kYear, "year"},
    {TransformKind::kMonth, "month"},       {TransformKind::kDay, "day"},
    {TransformKind::kHour, "hour"},         {TransformKind::kVoid, "void"},
};

// The number in "bucket[16]"; 0 when `text` has another form.
int BracketNumber(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return 0;
  text.remove_prefix(name.size());
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return 0;
  const char* end = text.data() + text.size() - 1;
  int number = 0;
  auto [stop, error] = std::from_chars(text.data() + 1, end, number);
  return error == std::errc() && stop == end ? number : 0;
}

bool IsTimestamp(TypeId id) { return id == TypeId::kTimestamp || id == TypeId::kTimestamptz; }

// Source types by transform (specification, "Partition Transforms").
bool Accepts(TransformKind kind, TypeId id) {
  switch (kind) {
    case TransformKind::kIdentity: return id < TypeId::kStruct;
    case TransformKind::kBucket:
      return id < TypeId::kStruct && id != TypeId::kBoolean && id != TypeId::kFloat &&
             id != TypeId::kDouble;
    case TransformKind::kTruncate:
      return id == TypeId::kInt || id == TypeId::kLong || id == TypeId::kDecimal ||
             id == TypeId::kString || id == TypeId::kBinary;
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay: return id == TypeId::kDate || IsTimestamp(id);
    case TransformKind::kHour: return IsTimestamp(id);
    case TransformKind::kVoid: return true;
    case TransformKind::kUnknown: return false;
  }
  return false;
}

std::string_view AcceptedSources(TransformKind kind) {
  switch (kind) {
    case TransformKind::kIdentity: return "any primitive type";
    case TransformKind::kBucket:
      return "int, long, decimal, date, time, timestamp, timestamptz, string, uuid, fixed, binary";
    case TransformKind::kTruncate: return "int, long, decimal, string, binary";
    case TransformKind::kHour: return "timestamp, timestamptz";
    default: return "date, timestamp, timestamptz";
  }
}

Status WrongValue(const Transform& transform, const Type& source, const Value& value) {
  return InvalidArgument("transform {}: value {} is not of type {}", TransformName(transform),
                         ToText(source, value), TypeName(source));
}

// Largest multiple of the width that is not above the value. Wraps at the lowest values, as the
// other implementations do: all must agree on the partition of a row.
template <typename T>
T TruncateInteger(T value, int width) {
  using U = std::make_unsigned_t<T>;
  const T rest = static_cast<T>(FloorMod(value, width));
  return static_cast<T>(static_cast<U>(value) - static_cast<U>(rest));
}

arrow::Decimal128 TruncateDecimal(const arrow::Decimal128& value, int width) {
  const arrow::Decimal128 divisor(width);
  arrow::Decimal128 rest = value % divisor;
  if (rest < arrow::Decimal128(0)) rest += divisor;
  return value - rest;
}

Result<Value> Truncate(const Transform& transform, const Type& source, const Value& value) {
  const int width = transform.width;
  if (auto x = std::get_if<int32_t>(&value)) return Value(TruncateInteger(*x, width));
  if (auto x = std::get_if<int64_t>(&value)) return Value(TruncateInteger(*x, width));
  if (auto x = std::get_if<arrow::Decimal128>(&value)) return Value(TruncateDecimal(*x, width));
  if (auto x = std::get_if<std::string>(&value)) {
    const size_t length = static_cast<size_t>(width);
    if (source.id == TypeId::kString) return Value(TruncateLower(*x, length));
    return Value(x->substr(0, length));
  }
  return WrongValue(transform, source, value);
}

Result<Value> Bucket(const Transform& transform, const Type& source, const Value& value) {
  int32_t hash = 0;
  if (auto x = std::get_if<int32_t>(&value)) {
    hash = HashInt(*x);
  } else if (auto y = std::get_if<int64_t>(&value)) {
    hash = HashLong(*y);
  } else if (auto z = std::get_if<arrow::Decimal128>(&value)) {
    hash = HashDecimal(*z);
  } else if (auto s = std::get_if<std::string>(&value)) {
    hash = HashBytes(*s);  // text, bytes, and uuid as its 16 bytes (specification, Appendix B)
  } else {
    return WrongValue(transform, source, value);
  }
  return Value(BucketOf(hash, transform.width));
}

int64_t DateOrdinal(TransformKind kind, int32_t days) {
  if (kind == TransformKind::kDay) return days;
  const CivilTime civil = CivilFromDays(days);
  const int64_t years = civil.year - 1970;
  return kind == TransformKind::kYear ? years : years * 12 + civil.month - 1;
}

int64_t TimestampOrdinal(TransformKind kind, int64_t micros) {
  switch (kind) {
    case TransformKind::kYear: return YearsFromMicros(micros);
    case TransformKind::kMonth: return MonthsFromMicros(micros);
    case TransformKind::kDay: return DaysFromMicros(micros);
    default: return HoursFromMicros(micros);
  }
}

Result<Value> TimeOrdinal(const Transform& transform, const Type& source, const Value& value) {
  int64_t ordinal = 0;
  if (auto days = std::get_if<int32_t>(&value); days && source.id == TypeId::kDate) {
    ordinal = DateOrdinal(transform.kind, *days);
  } else if (auto micros = std::get_if<int64_t>(&value); micros && IsTimestamp(source.id)) {
    ordinal = TimestampOrdinal(transform.kind, *micros);
  } else {
    return WrongValue(transform, source, value);
  }
  if (ordinal < std::numeric_limits<int32_t>::min() ||
      ordinal > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("transform {}: {} is out of range", TransformName(transform),
                           ToText(source, value));
  }
  return Value(static_cast<int32_t>(ordinal));
}

}  // namespace

bool operator==(const Transform& a, const Transform& b) {
  if (a.kind != b.kind || a.width != b.width) return false;
  return a.kind != TransformKind::kUnknown || a.text == b.text;
}

Transform ParseTransform(std::string_view text) {
  Transform transform;
  transform.text = std::string(text);
  const std::string name = ToLowerAscii(text);
  for (const auto& [kind, known] : kNames) {
    if (name == known) {
      transform.kind = kind;
      return transform;
    }
  }
  for (auto kind : {TransformKind::kBucket, TransformKind::kTruncate}) {
    transform.width = BracketNumber(name, kind == TransformKind::kBucket ? "bucket" : "truncate");
    if (transform.width > 0) {
      transform.kind = kind;
      return transform;
    }
  }
  transform.kind = TransformKind::kUnknown;
  transform.width = 0;
  return transform;
}

std::string TransformName(const Transform& transform) {
  for (const auto& [kind, name] : kNames) {
    if (transform.kind == kind) return std::string(name);
  }
  switch (transform.kind) {
    case TransformKind::kBucket: return fmt::format("bucket[{}]", transform.width);
    case TransformKind::kTruncate: return fmt::format("truncate[{}]", transform.width);
    default: return transform.text;
  }
}

Type ResultType(const Transform& transform, const Type& source) {
  switch (transform.kind) {
    case TransformKind::kBucket:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay:
    case TransformKind::kHour: return Type{};  // int
    default: return source;
  }
}

Status CheckTransform(const Transform& transform, const Type& source) {
  if (transform.kind == TransformKind::kUnknown) {
    return Unsupported(
        "unknown transform {}; known: identity, bucket[N], truncate[W], year, "
        "month, day, hour, void",
        Quote(transform.text));
  }
  const bool sized =
      transform.kind == TransformKind::kBucket || transform.kind == TransformKind::kTruncate;
  if (sized && transform.width <= 0) {
    return Unsupported("transform {}: the number must be positive", TransformName(transform));
  }
  if (Accepts(transform.kind, source.id)) return Status::OK();
  return Unsupported("transform {} cannot take type {}; it takes {}", TransformName(transform),
                     TypeName(source), AcceptedSources(transform.kind));
}

Result<Value> Apply(const Transform& transform, const Type& source, const Value& value) {
  TL_RETURN_NOT_OK(CheckTransform(transform, source));
  if (IsNull(value)) return Value();
  switch (transform.kind) {
    case TransformKind::kIdentity: return value;
    case TransformKind::kBucket: return Bucket(transform, source, value);
    case TransformKind::kTruncate: return Truncate(transform, source, value);
    case TransformKind::kVoid: return Value();
    default: return TimeOrdinal(transform, source, value);
  }
}

}  // namespace timelake::iceberg
