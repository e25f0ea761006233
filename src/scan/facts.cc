#include "scan/facts.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace timelake::scan {
namespace {

using iceberg::TypeId;
using iceberg::Value;

// Bounds this long may have been cut. Some writers cut without rounding the upper bound up (bytes
// instead of code points, or the plain prefix), so values that begin with the bound may lie above
// it.
constexpr size_t kMayBeCut = 16;

bool IsFloat(const iceberg::Type& type) {
  return type.id == TypeId::kFloat || type.id == TypeId::kDouble;
}

std::optional<double> AsDouble(const Value& value) {
  if (auto f = std::get_if<float>(&value)) return *f;
  if (auto d = std::get_if<double>(&value)) return *d;
  return std::nullopt;
}

bool IsNaN(const Value& value) {
  auto number = AsDouble(value);
  return number && std::isnan(*number);
}

bool IsInteger(const Value& value) {
  return std::holds_alternative<int32_t>(value) || std::holds_alternative<int64_t>(value);
}

// Whether everything is certainly below `value` (or at it, with `or_equal`).
bool AllBelow(const ColumnFacts& facts, const Value& value, bool or_equal) {
  if (!facts.upper) return false;
  auto order = CompareValues(*facts.upper, value);
  if (!order || *order > 0 || (*order == 0 && !or_equal)) return false;
  if (!facts.upper_may_be_prefix) return true;
  auto upper = std::get_if<std::string>(&*facts.upper);
  auto text = std::get_if<std::string>(&value);
  return !(upper && text && upper->size() >= kMayBeCut && text->starts_with(*upper));
}

bool AllAbove(const ColumnFacts& facts, const Value& value, bool or_equal) {
  if (!facts.lower) return false;
  auto order = CompareValues(*facts.lower, value);
  return order && (*order > 0 || (*order == 0 && or_equal));
}

// Whether every value that is not null or NaN equals `value`.
bool AllEqual(const ColumnFacts& facts, const Value& value) {
  if (!facts.lower || !facts.upper) return false;
  if (CompareValues(*facts.lower, value) != 0 || CompareValues(*facts.upper, value) != 0) {
    return false;
  }
  auto text = std::get_if<std::string>(&value);
  return !(facts.upper_may_be_prefix && text && text->size() >= kMayBeCut);
}

// Of a comparison with a value that is not null: whether a NaN passes, and whether anything
// that is neither null nor NaN may pass.
bool NaNPasses(Op op, const Value& value) {
  switch (op) {
    case Op::kEq:
    case Op::kLe:
    case Op::kIn: return IsNaN(value);
    case Op::kNotEq:
    case Op::kGt: return !IsNaN(value);
    case Op::kGe: return true;
    default: return false;
  }
}

bool ValueMayPass(Op op, const Value& value, const ColumnFacts& facts) {
  if (IsNaN(value)) return op == Op::kNotEq || op == Op::kLt || op == Op::kLe;
  switch (op) {
    case Op::kEq:
    case Op::kIn: return !AllBelow(facts, value, false) && !AllAbove(facts, value, false);
    case Op::kNotEq: return !AllEqual(facts, value);
    case Op::kLt: return !AllAbove(facts, value, true);
    case Op::kLe: return !AllAbove(facts, value, false);
    case Op::kGt: return !AllBelow(facts, value, true);
    case Op::kGe: return !AllBelow(facts, value, false);
    default: return true;
  }
}

}  // namespace

void ColumnFacts::SetBounds(const iceberg::Type& type, const std::string* lower_bytes,
                            const std::string* upper_bytes) {
  auto read = [&](const std::string* bytes) -> std::optional<Value> {
    if (!bytes) return std::nullopt;
    auto value = iceberg::FromBytes(type, *bytes);
    if (!value.ok() || iceberg::IsNull(*value) || IsNaN(*value)) return std::nullopt;
    return *std::move(value);
  };
  lower = read(lower_bytes);
  upper = read(upper_bytes);
  upper_may_be_prefix = type.id == TypeId::kString || type.id == TypeId::kBinary;
  if (lower && upper) {
    // E.g. UUIDs that a writer ordered as signed numbers.
    auto order = CompareValues(*lower, *upper);
    if (!order || *order > 0) lower = upper = std::nullopt;
  }
}

std::optional<int> CompareValues(const Value& a, const Value& b) {
  if (iceberg::IsNull(a) || iceberg::IsNull(b)) return std::nullopt;
  auto x = AsDouble(a);
  auto y = AsDouble(b);
  if (x && y) {
    if (*x == 0 && *y == 0) return 0;
    return iceberg::Compare(Value(*x), Value(*y));
  }
  if (a.index() != b.index() && !(IsInteger(a) && IsInteger(b))) return std::nullopt;
  return iceberg::Compare(a, b);
}

bool NoRowPasses(const ColumnTest& test, const iceberg::Type& type, const ColumnFacts& facts) {
  const bool may_be_nan = IsFloat(type) && facts.may_be_nan;
  if (test.op == Op::kIsNull) return !facts.may_be_null;
  if (test.op == Op::kNotNull) return !facts.may_be_value && !may_be_nan;
  // Another number of values than the operator has says nothing.
  if (test.op != Op::kIn && test.values.size() != 1) return false;
  return std::none_of(test.values.begin(), test.values.end(), [&](const Value& value) {
    if (iceberg::IsNull(value)) return false;
    return (may_be_nan && NaNPasses(test.op, value)) ||
           (facts.may_be_value && ValueMayPass(test.op, value, facts));
  });
}

bool AllRowsPass(const ColumnTest& test, const iceberg::Type& type, const ColumnFacts& facts) {
  ColumnTest opposite{test.field_id, test.op, test.values};
  switch (test.op) {
    case Op::kIsNull: opposite.op = Op::kNotNull; return NoRowPasses(opposite, type, facts);
    case Op::kNotNull: return !facts.may_be_null;
    case Op::kIn:
      return std::any_of(test.values.begin(), test.values.end(), [&](const Value& value) {
        return AllRowsPass({test.field_id, Op::kEq, {value}}, type, facts);
      });
    case Op::kEq: opposite.op = Op::kNotEq; break;
    case Op::kNotEq: opposite.op = Op::kEq; break;
    case Op::kLt: opposite.op = Op::kGe; break;
    case Op::kLe: opposite.op = Op::kGt; break;
    case Op::kGt: opposite.op = Op::kLe; break;
    case Op::kGe: opposite.op = Op::kLt; break;
  }
  if (test.values.size() != 1 || iceberg::IsNull(test.values[0])) return false;
  return !facts.may_be_null && NoRowPasses(opposite, type, facts);
}

}  // namespace timelake::scan
