#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/json_fields.h"
#include "iceberg/schema.h"
#include "iceberg/value.h"

namespace timelake::iceberg {

// Iceberg specification, "Partition Transforms".
enum class TransformKind {
  kIdentity,
  kBucket,
  kTruncate,
  kYear,
  kMonth,
  kDay,
  kHour,
  kVoid,
  kUnknown
};

struct Transform {
  TransformKind kind = TransformKind::kIdentity;
  int width = 0;     // bucket count N or truncate width W
  std::string text;  // as written; for kUnknown the only thing known
};

// Same kind and width; the text counts only for kUnknown, so {kDay} equals ParseTransform("day").
bool operator==(const Transform& a, const Transform& b);

// "identity", "bucket[16]", "truncate[4]", "year", ... An unknown one is kept as kUnknown (readers
// must not fail on it), never an error.
Transform ParseTransform(std::string_view text);
std::string TransformName(const Transform& transform);

// Type of the transform's results: day -> date? No: int in the specification, with Avro logical
// type date for day; hour, month, year, bucket -> int; others -> the source type.
Type ResultType(const Transform& transform, const Type& source);
// kUnsupported when the transform cannot take the source type, e.g. hour of a date.
Status CheckTransform(const Transform& transform, const Type& source);

// Applies the transform; null -> null. Floor semantics before 1970.
Result<Value> Apply(const Transform& transform, const Type& source, const Value& value);

// Directory text of a partition value: "2026-01-03", "2026-01-03-05", "2026-01", "null",
// form-encoded text for identity.
std::string PartitionText(const Transform& transform, const Type& source, const Value& value);

struct PartitionField {
  int source_id = 0;
  int field_id = 0;  // from 1000
  std::string name;
  Transform transform;
  UnknownFields unknown;
};

struct PartitionSpec {
  int spec_id = 0;
  std::vector<PartitionField> fields;
  UnknownFields unknown;
};

// "time_day=2026-01-03/tenant=a%2Fb"; empty when unpartitioned. Texts too long for the name of a
// folder are cut and end with a hash.
Result<std::string> PartitionPath(const PartitionSpec& spec, const Schema& schema,
                                  const std::vector<Value>& partition);

enum class SortDirection { kAscending, kDescending };
enum class NullOrder { kFirst, kLast };

struct SortField {
  int source_id = 0;
  Transform transform;
  SortDirection direction = SortDirection::kAscending;
  NullOrder null_order = NullOrder::kFirst;
  UnknownFields unknown;
};

struct SortOrder {
  int order_id = 0;  // 0 is "unsorted", reserved by the specification
  std::vector<SortField> fields;
  UnknownFields unknown;
};

}  // namespace timelake::iceberg
