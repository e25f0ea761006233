#include "iceberg/avro/schema.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace timelake::iceberg::avro {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kKindNames[] = {
    "null",   "boolean", "int",  "long",   "float", "double", "bytes",
    "string", "fixed",   "enum", "record", "array", "map",    "union",
};

// Kinds that are written as their bare name: everything before kFixed.
std::optional<Kind> PrimitiveKind(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(Kind::kFixed); ++i) {
    if (kKindNames[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::string TextMember(const Json& object, const char* name) {
  auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

int IntMember(const Json& object, const char* name, int otherwise) {
  auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return otherwise;
  const auto value = it->get<int64_t>();
  const bool fits = value >= 0 && value <= std::numeric_limits<int>::max();
  return fits ? static_cast<int>(value) : otherwise;
}

// Sets what follows from the children; they are complete, because names can be used only after
// their definition has ended.
Status Finish(Node* node) {
  for (const auto& field : node->fields) {
    node->depth = std::max(node->depth, field.type->depth + 1);
    node->weight += field.type->weight;
    if (field.type->fixed_size != 0) node->to_skip.push_back(field.type.get());
  }
  for (const auto& child : node->children) {
    node->depth = std::max(node->depth, child->depth + 1);
    node->weight += child->weight;
  }
  if (node->depth > kMaxDepth) return Corrupt("Avro schema nests deeper than {} levels", kMaxDepth);
  if (node->weight > kMaxWeight) return Corrupt("Avro schema has more than {} nodes", kMaxWeight);
  node->fixed_size = -1;
  switch (node->kind) {
    case Kind::kNull: node->fixed_size = 0; break;
    case Kind::kBoolean: node->fixed_size = 1; break;
    case Kind::kFloat: node->fixed_size = 4; break;
    case Kind::kDouble: node->fixed_size = 8; break;
    case Kind::kFixed: node->fixed_size = node->size; break;
    case Kind::kRecord:
      node->fixed_size = 0;
      for (const Node* child : node->to_skip) {
        if (child->fixed_size < 0) {
          node->fixed_size = -1;
          break;
        }
        node->fixed_size += child->fixed_size;
      }
      break;
    default: break;
  }
  return Status::OK();
}

class Parser {
 public:
  Result<NodePtr> Parse(const Json& json, const std::string& space, int level) {
    // Against deep JSON; Finish() sees depth that comes from names.
    if (level > 4 * kMaxDepth) return Corrupt("Avro schema nests too deeply");
    if (json.is_string()) return Named(json.get<std::string>(), space);
    if (json.is_array()) return Union(json, space, level);
    if (!json.is_object()) return Corrupt("Avro schema: a type must be text, object or array");
    auto type = json.find("type");
    if (type == json.end()) return Corrupt("Avro schema: an object without \"type\"");
    if (!type->is_string()) return Parse(*type, space, level + 1);
    return Object(type->get<std::string>(), json, space, level);
  }

 private:
  Result<NodePtr> Named(const std::string& name, const std::string& space) {
    if (auto kind = PrimitiveKind(name)) {
      Node node;
      node.kind = *kind;
      return Done(std::move(node));
    }
    auto it = named_.find(name);
    if (it == named_.end() && !space.empty()) it = named_.find(space + "." + name);
    if (it == named_.end()) {
      return Corrupt("Avro schema: type {} is unknown, or contains itself", Quote(name));
    }
    return it->second;
  }

  Result<NodePtr> Union(const Json& json, const std::string& space, int level) {
    Node node;
    node.kind = Kind::kUnion;
    for (const Json& branch : json) {
      TL_ASSIGN_OR_RAISE(auto child, Parse(branch, space, level + 1));
      node.children.push_back(std::move(child));
    }
    return Done(std::move(node));
  }

  Result<NodePtr> Object(const std::string& type, const Json& json, const std::string& space,
                         int level) {
    Node node;
    node.logical_type = TextMember(json, "logicalType");
    node.precision = IntMember(json, "precision", 0);
    node.scale = IntMember(json, "scale", 0);
    if (auto kind = PrimitiveKind(type)) {
      node.kind = *kind;
      return Done(std::move(node));
    }
    if (type == "array" || type == "map") {
      const bool array = type == "array";
      node.kind = array ? Kind::kArray : Kind::kMap;
      node.element_id = IntMember(json, "element-id", kNoId);
      node.key_id = IntMember(json, "key-id", kNoId);
      node.value_id = IntMember(json, "value-id", kNoId);
      auto items = json.find(array ? "items" : "values");
      if (items == json.end()) return Corrupt("Avro schema: {} without its element type", type);
      TL_ASSIGN_OR_RAISE(auto child, Parse(*items, space, level + 1));
      node.children.push_back(std::move(child));
      return Done(std::move(node));
    }
    if (type != "record" && type != "enum" && type != "fixed") return Named(type, space);
    return Definition(type, json, space, level, std::move(node));
  }

  Result<NodePtr> Definition(const std::string& type, const Json& json, const std::string& space,
                             int level, Node node) {
    std::string name = TextMember(json, "name");
    if (name.empty()) return Corrupt("Avro schema: {} without a name", type);
    std::string inner = TextMember(json, "namespace");
    if (inner.empty()) inner = space;
    const auto dot = name.rfind('.');
    if (dot != std::string::npos) {
      inner = name.substr(0, dot);
    } else if (!inner.empty()) {
      name = inner + "." + name;
    }
    node.name = name;
    if (type == "record") {
      node.kind = Kind::kRecord;
      TL_RETURN_NOT_OK(Fields(json, inner, level, &node));
    } else if (type == "enum") {
      node.kind = Kind::kEnum;
      auto symbols = json.find("symbols");
      if (symbols != json.end() && symbols->is_array() && symbols->size() <= kMaxWeight) {
        node.symbol_count = static_cast<int>(symbols->size());
      }
    } else {
      node.kind = Kind::kFixed;
      node.size = IntMember(json, "size", -1);
      if (node.size < 0 || node.size > kMaxFixedSize) {
        return Corrupt("Avro schema: fixed {} needs a size up to {}", Quote(name), kMaxFixedSize);
      }
    }
    TL_ASSIGN_OR_RAISE(auto done, Done(std::move(node)));
    named_[name] = done;
    return done;
  }

  Status Fields(const Json& json, const std::string& space, int level, Node* node) {
    auto fields = json.find("fields");
    if (fields == json.end() || !fields->is_array()) {
      return Corrupt("Avro schema: record {} without fields", Quote(node->name));
    }
    for (const Json& item : *fields) {
      if (!item.is_object() || !item.contains("type")) {
        return Corrupt("Avro schema: a field of record {} has no type", Quote(node->name));
      }
      RecordField field;
      field.name = TextMember(item, "name");
      field.id = IntMember(item, "field-id", kNoId);
      TL_ASSIGN_OR_RAISE(field.type, Parse(item["type"], space, level + 1));
      node->fields.push_back(std::move(field));
    }
    return Status::OK();
  }

  static Result<NodePtr> Done(Node node) {
    TL_RETURN_NOT_OK(Finish(&node));
    return std::make_shared<const Node>(std::move(node));
  }

  std::map<std::string, NodePtr> named_;
};

}  // namespace

Result<NodePtr> ParseSchema(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return Corrupt("Avro schema is not JSON");
  return Parser().Parse(parsed, "", 0);
}

std::string_view KindName(Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

}  // namespace timelake::iceberg::avro
