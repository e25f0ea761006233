#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/json_fields.h"

namespace timelake::iceberg {

// Iceberg specification, "Schemas and Data Types" (format version 2).
enum class TypeId {
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kTimestamptz,
  kString,
  kUuid,
  kFixed,
  kBinary,
  kStruct,
  kList,
  kMap,
};

struct Field;

struct Type {
  TypeId id = TypeId::kInt;
  int precision = 0;          // decimal: 1..38
  int scale = 0;              // decimal
  int length = 0;             // fixed: bytes
  std::vector<Field> fields;  // struct: members; list: [element]; map: [key, value]
  UnknownFields unknown;

  bool is_primitive() const { return id < TypeId::kStruct; }
};

struct Field {
  int id = 0;
  std::string name;  // "element", "key", "value" inside lists and maps
  bool required = false;
  Type type;
  std::optional<std::string> doc;
  UnknownFields unknown;
};

struct Schema {
  int schema_id = 0;
  std::vector<Field> fields;
  std::vector<int> identifier_field_ids;
  UnknownFields unknown;
};

bool operator==(const Type& a, const Type& b);
bool operator==(const Field& a, const Field& b);
// Same fields, ids, names, types and nullability; the schema id is not compared.
bool SameFields(const Schema& a, const Schema& b);

// "int", "decimal(9,2)", "fixed[16]", "timestamptz", "list<int>", ... Primitive names are those of
// the specification; the nested forms are for people only.
std::string TypeName(const Type& type);

// A primitive type's name as in the metadata JSON. Also accepts the spellings people type on the
// command line, in any case: integer, bigint, int64, int32, float32, float64, varchar, text, bool,
// bytes, "timestamp with time zone", and nested list<T>, map<K,V>, struct<name:T,...> (their inner
// field ids are 0 until AssignFreshIds). Error: kInvalidArgument with the offending text and the
// list.
Result<Type> ParseType(std::string_view text);

// "time:timestamptz, device:string!, v:double" -> top-level fields with ids from 1 in order; a
// trailing '!' (or " not null") makes a column required. Errors name the column and the text.
Result<Schema> ParseSchemaText(std::string_view text);

// Top-level field by exact name, or by id; null when there is none.
const Field* FindField(const Schema& schema, std::string_view name);
const Field* FindFieldById(const Schema& schema, int id);
// Any field, at any depth, by id.
const Field* FindAnyFieldById(const Schema& schema, int id);
// Names of the top-level fields, for error messages.
std::vector<std::string> FieldNames(const Schema& schema);
// Highest field id in use, 0 for an empty schema.
int HighestFieldId(const Schema& schema);
// Gives every field at every depth a fresh id from `first` on, in pre-order of columns: all fields
// of a level before their children, as the specification's reference implementation does.
Schema AssignFreshIds(const Schema& schema, int first = 1);

// Whether a column of `from` may be read as `to` without rewriting (specification, "Schema
// Evolution"): int -> long, float -> double, decimal(P,S) -> decimal(P',S) with P' > P, same type.
bool CanPromote(const Type& from, const Type& to);

// Structural rules: unique ids and names, decimal precision 1..38 and scale <= precision, fixed
// length > 0, map keys required. kInvalidArgument naming the column.
Status ValidateSchema(const Schema& schema);

}  // namespace timelake::iceberg
