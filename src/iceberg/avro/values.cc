#include "iceberg/avro/values.h"

#include "iceberg/avro/record_reader.h"

namespace timelake::iceberg::avro {
namespace {

template <typename T>
T Required(Decoder& in, const std::optional<T>& value) {
  if (value) return *value;
  in.Fail("null in a required field");
  return T{};
}

// Of one pair of a map: where key and value are among the record's fields.
struct PairPlan {
  const RecordField* key = nullptr;
  const RecordField* value = nullptr;
};

PairPlan PlanPair(const Node& item, int key_id, int value_id) {
  // More fields than any writer has would only make reading slow.
  constexpr size_t kMaxFields = 16;
  if (item.kind != Kind::kRecord || item.fields.size() > kMaxFields) return {};
  return {FindRecordField(item, key_id, "key"), FindRecordField(item, value_id, "value")};
}

// `read(const Node& type, int key)` reads one value. Keys come in ascending order from us and in
// any order from others.
template <typename Read>
void ReadPairs(Decoder& in, const Node& node, int key_id, int value_id, Read&& read) {
  PairPlan plan;
  const Node* planned = nullptr;
  ReadItems(in, node, [&](const Node& item) {
    if (planned != &item) {
      plan = PlanPair(item, key_id, value_id);
      planned = &item;
    }
    if (plan.key == nullptr || plan.value == nullptr || plan.key > plan.value) {
      return in.Fail("a map that is not an array of (key, value) records");
    }
    int32_t key = 0;
    for (const RecordField& field : item.fields) {
      if (&field == plan.key) {
        key = RequiredInt(in, *field.type);
      } else if (&field == plan.value) {
        read(*field.type, key);
      } else {
        in.Skip(*field.type);
      }
    }
  });
}

}  // namespace

void FailType(Decoder& in, const Node& node, std::string_view expected) {
  in.Fail(std::string(KindName(node.kind)) + " where " + std::string(expected) + " is expected");
}

std::optional<int32_t> OptionalInt(Decoder& in, const Node& node) {
  const auto value = OptionalLong(in, node);
  if (!value) return std::nullopt;
  if (*value != static_cast<int32_t>(*value)) in.Fail("integer does not fit 32 bits");
  return static_cast<int32_t>(*value);
}

std::optional<bool> OptionalBoolean(Decoder& in, const Node& node) {
  const Node* type = Present(in, node);
  if (type == nullptr) return std::nullopt;
  if (type->kind == Kind::kBoolean) return in.Boolean();
  FailType(in, *type, "a boolean");
  return std::nullopt;
}

std::optional<std::string_view> OptionalText(Decoder& in, const Node& node) {
  const Node* type = Present(in, node);
  if (type == nullptr) return std::nullopt;
  if (type->kind == Kind::kString || type->kind == Kind::kBytes) return in.Bytes();
  if (type->kind == Kind::kFixed) return in.Fixed(static_cast<size_t>(type->size));
  FailType(in, *type, "text or bytes");
  return std::nullopt;
}

int64_t RequiredLong(Decoder& in, const Node& node) { return Required(in, OptionalLong(in, node)); }
int32_t RequiredInt(Decoder& in, const Node& node) { return Required(in, OptionalInt(in, node)); }
bool RequiredBoolean(Decoder& in, const Node& node) {
  return Required(in, OptionalBoolean(in, node));
}
std::string_view RequiredText(Decoder& in, const Node& node) {
  return Required(in, OptionalText(in, node));
}

void ReadMap(Decoder& in, const Node& node, int key_id, int value_id, LongMap* map) {
  ReadPairs(in, node, key_id, value_id, [&](const Node& type, int key) {
    if (const auto value = OptionalLong(in, type)) map->emplace_hint(map->end(), key, *value);
  });
}

void ReadMap(Decoder& in, const Node& node, int key_id, int value_id, BytesMap* map) {
  ReadPairs(in, node, key_id, value_id, [&](const Node& type, int key) {
    if (const auto value = OptionalText(in, type)) map->emplace_hint(map->end(), key, *value);
  });
}

void ReadList(Decoder& in, const Node& node, std::vector<int64_t>* list) {
  ReadItems(in, node, [&](const Node& item) { list->push_back(RequiredLong(in, item)); });
}

void ReadList(Decoder& in, const Node& node, std::vector<int>* list) {
  ReadItems(in, node, [&](const Node& item) { list->push_back(RequiredInt(in, item)); });
}

}  // namespace timelake::iceberg::avro
