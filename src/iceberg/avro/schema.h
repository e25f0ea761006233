#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Schemas of Avro files (Avro specification 1.11, "Schema Declaration") with the attributes that
// Iceberg adds to them (Iceberg specification, Appendix A, "Avro"): `field-id` on record fields,
// `element-id` on arrays, `key-id` and `value-id` on maps, `logicalType: map` on arrays of pairs.

namespace timelake::iceberg::avro {

enum class Kind {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kFixed,
  kEnum,
  kRecord,
  kArray,
  kMap,
  kUnion,
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

inline constexpr int kNoId = -1;

struct RecordField {
  std::string name;
  int id = kNoId;  // "field-id"
  NodePtr type;
};

// One type of a schema. Immutable once parsed; a named type that is used twice is shared.
struct Node {
  Kind kind = Kind::kNull;
  std::string name;                 // record, enum, fixed: full name
  std::string logical_type;         // "date", "timestamp-micros", "decimal", "uuid", "map", ...
  int precision = 0;                // decimal
  int scale = 0;                    // decimal
  int size = 0;                     // fixed: bytes
  int element_id = kNoId;           // array
  int key_id = kNoId;               // map
  int value_id = kNoId;             // map
  int symbol_count = 0;             // enum
  std::vector<RecordField> fields;  // record
  std::vector<NodePtr> children;    // array: element; map: value; union: branches in order

  // Bytes of every value when they are all the same number (0 for null), else -1; a value then
  // takes at least one byte, which is what bounds the work that a hostile file can ask for.
  int64_t fixed_size = 0;
  std::vector<const Node*> to_skip;  // record: its fields without those of 0 bytes
  int depth = 1;                     // levels of nesting, this one included
  int64_t weight = 1;                // nodes with shared ones counted as often as they are used
};

// Limits on a schema; manifests have a depth of 6 and some 60 nodes.
inline constexpr int kMaxDepth = 32;
inline constexpr int64_t kMaxWeight = 10'000;
inline constexpr int kMaxFixedSize = 1 << 20;

// Parses the JSON text of a schema. Types that contain themselves are refused. kCorrupt with what
// is wrong; unknown attributes are ignored.
Result<NodePtr> ParseSchema(std::string_view json);

std::string_view KindName(Kind kind);

}  // namespace timelake::iceberg::avro
