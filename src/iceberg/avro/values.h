#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/avro/binary.h"
#include "iceberg/avro/schema.h"

// Values of the types that Iceberg's own records consist of. Optional ones are unions with null, in
// any order of branches; int and long stand for each other where the value fits. A type that does
// not fit is a failure of the decoder.

namespace timelake::iceberg::avro {

void FailType(Decoder& in, const Node& node, std::string_view expected);

// The type of the value that follows, after the branch of a union is read; null for Avro's null.
inline const Node* Present(Decoder& in, const Node& node) {
  const Node& type = node.kind == Kind::kUnion ? in.Branch(node) : node;
  return type.kind == Kind::kNull ? nullptr : &type;
}

inline std::optional<int64_t> OptionalLong(Decoder& in, const Node& node) {
  const Node* type = Present(in, node);
  if (type == nullptr) return std::nullopt;
  if (type->kind == Kind::kLong) return in.Long();
  if (type->kind == Kind::kInt) return in.Int();
  FailType(in, *type, "an integer");
  return std::nullopt;
}
std::optional<int32_t> OptionalInt(Decoder& in, const Node& node);
std::optional<bool> OptionalBoolean(Decoder& in, const Node& node);
// String, bytes or fixed; a view into the input.
std::optional<std::string_view> OptionalText(Decoder& in, const Node& node);

// Null is a failure.
int64_t RequiredLong(Decoder& in, const Node& node);
int32_t RequiredInt(Decoder& in, const Node& node);
bool RequiredBoolean(Decoder& in, const Node& node);
std::string_view RequiredText(Decoder& in, const Node& node);

// Maps with integer keys, which Avro cannot express: arrays of records of a key and a value. Null
// reads as empty; of equal keys the first counts.
using LongMap = std::map<int, int64_t>;
using BytesMap = std::map<int, std::string>;
void ReadMap(Decoder& in, const Node& node, int key_id, int value_id, LongMap* map);
void ReadMap(Decoder& in, const Node& node, int key_id, int value_id, BytesMap* map);

// Null reads as empty.
void ReadList(Decoder& in, const Node& node, std::vector<int64_t>* list);
void ReadList(Decoder& in, const Node& node, std::vector<int>* list);

// Calls `read(const Node& item)` for every item of an array; null reads as empty.
template <typename Read>
void ReadItems(Decoder& in, const Node& node, Read&& read) {
  const Node* type = Present(in, node);
  if (type == nullptr || !in.ok()) return;
  if (type->kind != Kind::kArray) return FailType(in, *type, "an array");
  const Node& item = *type->children[0];
  while (const int64_t count = in.Block()) {
    // Items that we read take at least one byte each.
    if (static_cast<uint64_t>(count) > in.remaining())
      return in.Fail("more items than bytes are left");
    for (int64_t i = 0; i < count && in.ok(); ++i) read(item);
    if (!in.ok()) return;
  }
}

}  // namespace timelake::iceberg::avro
