#include "iceberg/schema_json.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "iceberg/metadata.h"
#include "iceberg/type_names.h"

namespace timelake::iceberg {
namespace {

Status ReadType(const JsonAt& at, int depth, Type* type);
void WriteType(const Type& type, JsonWriter* writer);

Status ReadPrimitive(const JsonAt& at, Type* type) {
  const std::string& name = at.node->text;
  if (auto known = PrimitiveFromName(name)) {
    *type = *std::move(known);
    return Status::OK();
  }
  for (std::string_view later :
       {"timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry", "geography"}) {
    if (name.starts_with(later)) {
      return Unsupported(
          "{}: {}: type {} belongs to format version 3, which this version does "
          "not read",
          at.source, at.Path(), Quote(name));
    }
  }
  return at.Error("unknown type " + Quote(name));
}

Status ReadField(const JsonAt& at, int depth, Field* field) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(object.Required("id", &field->id));
  TL_RETURN_NOT_OK(object.Required("name", &field->name));
  TL_RETURN_NOT_OK(object.Required("required", &field->required));
  TL_ASSIGN_OR_RAISE(const JsonAt type, object.Get("type"));
  TL_RETURN_NOT_OK(ReadType(type, depth, &field->type));
  TL_RETURN_NOT_OK(object.Optional("doc", &field->doc));
  field->unknown = object.Unknown();
  return Status::OK();
}

Status ReadFields(const JsonAt& at, int depth, std::vector<Field>* fields) {
  return ReadArray(at, fields, [depth](const JsonAt& element, Field* field) {
    return ReadField(element, depth, field);
  });
}

// "element" with "element-id" and "element-required", and the same of maps.
Status ReadMember(JsonObject* object, const std::string& name, int depth, Type* parent) {
  Field field;
  field.name = name;
  field.required = true;  // keys
  TL_RETURN_NOT_OK(object->Required(name + "-id", &field.id));
  if (name != "key") TL_RETURN_NOT_OK(object->Required(name + "-required", &field.required));
  TL_ASSIGN_OR_RAISE(const JsonAt type, object->Get(name));
  TL_RETURN_NOT_OK(ReadType(type, depth, &field.type));
  parent->fields.push_back(std::move(field));
  return Status::OK();
}

Status ReadType(const JsonAt& at, int depth, Type* type) {
  if (at.node->kind == JsonNode::Kind::kString) return ReadPrimitive(at, type);
  if (at.node->kind != JsonNode::Kind::kObject) {
    return at.Expected("a type (a string or an object)");
  }
  if (depth >= kMaxTypeDepth) {
    return at.Error(fmt::format("types nest deeper than {} levels", kMaxTypeDepth));
  }
  JsonObject object(at);
  std::string kind;
  TL_RETURN_NOT_OK(object.Required("type", &kind));
  if (kind == "struct") {
    type->id = TypeId::kStruct;
    TL_ASSIGN_OR_RAISE(const JsonAt fields, object.Get("fields"));
    TL_RETURN_NOT_OK(ReadFields(fields, depth + 1, &type->fields));
  } else if (kind == "list") {
    type->id = TypeId::kList;
    TL_RETURN_NOT_OK(ReadMember(&object, "element", depth + 1, type));
  } else if (kind == "map") {
    type->id = TypeId::kMap;
    TL_RETURN_NOT_OK(ReadMember(&object, "key", depth + 1, type));
    TL_RETURN_NOT_OK(ReadMember(&object, "value", depth + 1, type));
  } else {
    return at.Error("unknown type " + Quote(kind) + ", expected struct, list or map");
  }
  type->unknown = object.Unknown();
  return Status::OK();
}

void WriteFields(const std::vector<Field>& fields, JsonWriter* writer) {
  writer->BeginArray();
  for (const Field& field : fields) {
    writer->BeginObject();
    writer->Member("id", field.id);
    writer->Member("name", field.name);
    writer->Member("required", field.required);
    writer->Key("type");
    WriteType(field.type, writer);
    if (field.doc) writer->Member("doc", *field.doc);
    writer->Members(field.unknown);
    writer->EndObject();
  }
  writer->EndArray();
}

void WriteMember(const Field& field, const std::string& name, JsonWriter* writer) {
  writer->Member(name + "-id", field.id);
  writer->Key(name);
  WriteType(field.type, writer);
  if (name != "key") writer->Member(name + "-required", field.required);
}

void WriteType(const Type& type, JsonWriter* writer) {
  if (type.is_primitive()) {
    writer->String(PrimitiveName(type));
    return;
  }
  writer->BeginObject();
  if (type.id == TypeId::kStruct) {
    writer->Member("type", "struct");
    writer->Key("fields");
    WriteFields(type.fields, writer);
  } else if (type.id == TypeId::kList) {
    writer->Member("type", "list");
    if (!type.fields.empty()) WriteMember(type.fields[0], "element", writer);
  } else {
    writer->Member("type", "map");
    if (type.fields.size() == 2) {
      WriteMember(type.fields[0], "key", writer);
      WriteMember(type.fields[1], "value", writer);
    }
  }
  writer->Members(type.unknown);
  writer->EndObject();
}

Status ReadTransform(JsonObject* object, Transform* transform) {
  std::string text;
  TL_RETURN_NOT_OK(object->Required("transform", &text));
  *transform = ParseTransform(text);
  return Status::OK();
}

Status ReadSortField(const JsonAt& at, SortField* field) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(ReadTransform(&object, &field->transform));
  TL_RETURN_NOT_OK(object.Required("source-id", &field->source_id));
  std::string direction, null_order;
  TL_ASSIGN_OR_RAISE(const JsonAt direction_at, object.Get("direction"));
  TL_RETURN_NOT_OK(FromJson(direction_at, &direction));
  if (direction != "asc" && direction != "desc") return direction_at.Expected("asc or desc");
  field->direction = direction == "asc" ? SortDirection::kAscending : SortDirection::kDescending;
  TL_ASSIGN_OR_RAISE(const JsonAt null_order_at, object.Get("null-order"));
  TL_RETURN_NOT_OK(FromJson(null_order_at, &null_order));
  if (null_order != "nulls-first" && null_order != "nulls-last") {
    return null_order_at.Expected("nulls-first or nulls-last");
  }
  field->null_order = null_order == "nulls-first" ? NullOrder::kFirst : NullOrder::kLast;
  field->unknown = object.Unknown();
  return Status::OK();
}

}  // namespace

Status ReadSchema(const JsonAt& at, Schema* schema) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  std::string kind = "struct";
  TL_RETURN_NOT_OK(object.Optional("type", &kind));
  if (kind != "struct") return at.Error("a schema must be a struct, not " + Quote(kind));
  TL_RETURN_NOT_OK(object.Optional("schema-id", &schema->schema_id));
  TL_RETURN_NOT_OK(object.Optional("identifier-field-ids", &schema->identifier_field_ids));
  TL_ASSIGN_OR_RAISE(const JsonAt fields, object.Get("fields"));
  TL_RETURN_NOT_OK(ReadFields(fields, 0, &schema->fields));
  schema->unknown = object.Unknown();
  const Status valid = ValidateSchema(*schema);
  return valid.ok() ? valid : at.Error(MessageOf(valid));
}

void WriteSchema(const Schema& schema, JsonWriter* writer) {
  writer->BeginObject();
  writer->Member("type", "struct");
  writer->Member("schema-id", schema.schema_id);
  if (!schema.identifier_field_ids.empty()) {
    writer->Key("identifier-field-ids");
    writer->BeginArray();
    for (int id : schema.identifier_field_ids) writer->Int(id);
    writer->EndArray();
  }
  writer->Key("fields");
  WriteFields(schema.fields, writer);
  writer->Members(schema.unknown);
  writer->EndObject();
}

Status ReadSpecFields(const JsonAt& at, bool may_lack_ids, std::vector<PartitionField>* fields) {
  auto read_field = [may_lack_ids](const JsonAt& element, PartitionField* field) -> Status {
    JsonObject object(element);
    TL_RETURN_NOT_OK(object.Check());
    TL_RETURN_NOT_OK(object.Required("source-id", &field->source_id));
    std::optional<int> field_id;
    TL_RETURN_NOT_OK(object.Optional("field-id", &field_id));
    if (!field_id && !may_lack_ids) return object.Get("field-id").status();
    field->field_id = field_id.value_or(kFirstPartitionFieldId + static_cast<int>(element.index));
    TL_RETURN_NOT_OK(object.Required("name", &field->name));
    TL_RETURN_NOT_OK(ReadTransform(&object, &field->transform));
    field->unknown = object.Unknown();
    return Status::OK();
  };
  return ReadArray(at, fields, read_field);
}

void WriteSpecFields(const PartitionSpec& spec, JsonWriter* writer) {
  writer->BeginArray();
  for (const PartitionField& field : spec.fields) {
    writer->BeginObject();
    writer->Member("source-id", field.source_id);
    writer->Member("field-id", field.field_id);
    writer->Member("name", field.name);
    writer->Member("transform", TransformName(field.transform));
    writer->Members(field.unknown);
    writer->EndObject();
  }
  writer->EndArray();
}

Status ReadSpec(const JsonAt& at, bool may_lack_ids, PartitionSpec* spec) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(object.Required("spec-id", &spec->spec_id));
  TL_ASSIGN_OR_RAISE(const JsonAt fields, object.Get("fields"));
  TL_RETURN_NOT_OK(ReadSpecFields(fields, may_lack_ids, &spec->fields));
  spec->unknown = object.Unknown();
  return Status::OK();
}

void WriteSpec(const PartitionSpec& spec, JsonWriter* writer) {
  writer->BeginObject();
  writer->Member("spec-id", spec.spec_id);
  writer->Key("fields");
  WriteSpecFields(spec, writer);
  writer->Members(spec.unknown);
  writer->EndObject();
}

Status ReadSortOrder(const JsonAt& at, SortOrder* order) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(object.Required("order-id", &order->order_id));
  TL_ASSIGN_OR_RAISE(const JsonAt fields, object.Get("fields"));
  TL_RETURN_NOT_OK(ReadArray(fields, &order->fields, ReadSortField));
  order->unknown = object.Unknown();
  return Status::OK();
}

void WriteSortOrder(const SortOrder& order, JsonWriter* writer) {
  writer->BeginObject();
  writer->Member("order-id", order.order_id);
  writer->Key("fields");
  writer->BeginArray();
  for (const SortField& field : order.fields) {
    writer->BeginObject();
    writer->Member("transform", TransformName(field.transform));
    writer->Member("source-id", field.source_id);
    writer->Member("direction", field.direction == SortDirection::kAscending ? "asc" : "desc");
    writer->Member("null-order",
                   field.null_order == NullOrder::kFirst ? "nulls-first" : "nulls-last");
    writer->Members(field.unknown);
    writer->EndObject();
  }
  writer->EndArray();
  writer->Members(order.unknown);
  writer->EndObject();
}

std::string SchemaToJson(const Schema& schema) {
  JsonWriter writer;
  WriteSchema(schema, &writer);
  return writer.Take();
}

Result<Schema> SchemaFromJson(std::string_view json, std::string_view source) {
  TL_ASSIGN_OR_RAISE(const JsonNode root, ParseJson(json, source));
  Schema schema;
  TL_RETURN_NOT_OK(ReadSchema(JsonAt{&root, source, nullptr, {}, 0}, &schema));
  return schema;
}

std::string SpecFieldsToJson(const PartitionSpec& spec) {
  JsonWriter writer;
  WriteSpecFields(spec, &writer);
  return writer.Take();
}

Result<std::vector<PartitionField>> SpecFieldsFromJson(std::string_view json,
                                                       std::string_view source) {
  TL_ASSIGN_OR_RAISE(const JsonNode root, ParseJson(json, source));
  std::vector<PartitionField> fields;
  TL_RETURN_NOT_OK(ReadSpecFields(JsonAt{&root, source, nullptr, {}, 0}, true, &fields));
  return fields;
}

}  // namespace timelake::iceberg
