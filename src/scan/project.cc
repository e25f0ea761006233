// Partition values against tests of the source column (specification, "Partition Transforms").

#include <algorithm>
#include <limits>

#include "scan/prune.h"

namespace timelake::scan {
namespace {

using iceberg::Transform;
using iceberg::TransformKind;
using iceberg::Type;
using iceberg::TypeId;
using iceberg::Value;

bool IsTime(TransformKind kind) {
  return kind == TransformKind::kYear || kind == TransformKind::kMonth ||
         kind == TransformKind::kDay || kind == TransformKind::kHour;
}

std::optional<int64_t> AsInteger(const Value& value) {
  if (auto i = std::get_if<int32_t>(&value)) return *i;
  if (auto l = std::get_if<int64_t>(&value)) return *l;
  return std::nullopt;
}

// The value next to `value` where the type has one: x < v is x <= v - 1, which keeps
// `time < midnight` out of the partition that begins at midnight.
Value Next(const Value& value, int step) {
  if (auto i = std::get_if<int32_t>(&value)) {
    int32_t next;
    return __builtin_add_overflow(*i, step, &next) ? value : Value(next);
  }
  if (auto l = std::get_if<int64_t>(&value)) {
    int64_t next;
    return __builtin_add_overflow(*l, int64_t{step}, &next) ? value : Value(next);
  }
  return value;
}

// The transform of `value`; nothing where the transform cannot tell.
std::optional<Value> Project(const Transform& transform, const Type& source, const Value& value) {
  auto result = iceberg::Apply(transform, source, value);
  if (!result.ok() || iceberg::IsNull(*result)) return std::nullopt;
  // Truncation wraps at the lowest integers (it must agree with other writers): not monotonic.
  if (transform.kind == TransformKind::kTruncate) {
    auto order = CompareValues(*result, value);
    if (!order || *order > 0) return std::nullopt;
  }
  return *std::move(result);
}

// What the partition values say about the transforms of the rows, with two old faults allowed for.
ColumnFacts Widened(const Transform& transform, ColumnFacts facts) {
  // Writers that divided towards zero put instants before 1970 one unit too high
  // (apache/iceberg 1680); their tables are still around.
  if (IsTime(transform.kind) && facts.lower) {
    auto ordinal = AsInteger(*facts.lower);
    if (ordinal && *ordinal <= 0) {
      facts.lower = Value(std::max(*ordinal - 1, int64_t{std::numeric_limits<int32_t>::min()}));
    }
  }
  // Wrapped truncation of the lowest integers gives the highest values, of the type that the
  // column had then.
  if (transform.kind == TransformKind::kTruncate && facts.lower && facts.upper) {
    auto lower = AsInteger(*facts.lower);
    auto upper = AsInteger(*facts.upper);
    constexpr int64_t kInt = std::numeric_limits<int32_t>::max();
    constexpr int64_t kLong = std::numeric_limits<int64_t>::max();
    if (lower && upper &&
        ((*lower <= kInt && *upper > kInt - transform.width) || *upper > kLong - transform.width)) {
      facts.lower.reset();
    }
  }
  return facts;
}

// Whether a row that compares so with `value` may be among those of the partition.
bool MayHold(Op op, const Value& value, const Type& source, const Transform& transform,
             const ColumnFacts& facts) {
  const bool equality = op == Op::kEq || op == Op::kIn;
  if (transform.kind == TransformKind::kBucket && !equality) return true;
  ColumnTest test;
  Value edge = value;
  switch (op) {
    case Op::kEq:
    case Op::kIn: test.op = Op::kEq; break;
    case Op::kLt: edge = Next(value, -1); [[fallthrough]];
    case Op::kLe: test.op = Op::kLe; break;
    case Op::kGt: edge = Next(value, 1); [[fallthrough]];
    case Op::kGe: test.op = Op::kGe; break;
    default: return true;
  }
  auto projected = Project(transform, source, edge);
  if (!projected) return true;
  test.values.push_back(*std::move(projected));
  return !NoRowPasses(test, Type{}, facts);
}

}  // namespace

bool PartitionExcludes(const ColumnTest& test, const Type& source, const Transform& transform,
                       const ColumnFacts& facts) {
  switch (transform.kind) {
    case TransformKind::kVoid:
    case TransformKind::kUnknown: return false;
    case TransformKind::kIdentity: return NoRowPasses(test, source, facts);
    default: break;
  }
  // A transform's result is null exactly for null.
  if (test.op == Op::kIsNull) return !facts.may_be_null;
  if (test.op == Op::kNotNull) return !facts.may_be_value;
  if (!facts.may_be_value) return true;
  if (test.op != Op::kIn && test.values.size() != 1) return false;
  const ColumnFacts widened = Widened(transform, facts);
  return std::none_of(test.values.begin(), test.values.end(), [&](const Value& value) {
    return !iceberg::IsNull(value) && MayHold(test.op, value, source, transform, widened);
  });
}

}  // namespace timelake::scan
