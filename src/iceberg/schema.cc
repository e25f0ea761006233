#include "iceberg/schema.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "iceberg/type_names.h"

namespace timelake::iceberg {
namespace {

std::string NestedFieldText(const Field& field) {
  return TypeName(field.type) + (field.required ? "!" : "");
}

const Field* FindInFields(const std::vector<Field>& fields, int id) {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
    if (const Field* inner = FindInFields(field.type.fields, id)) return inner;
  }
  return nullptr;
}

int HighestInFields(const std::vector<Field>& fields) {
  int highest = 0;
  for (const Field& field : fields) {
    highest = std::max({highest, field.id, HighestInFields(field.type.fields)});
  }
  return highest;
}

// All fields of one level first, then their children in order: the numbering of TypeUtil's
// assignFreshIds in Iceberg's Java library, which other engines' tools expect of a new table.
void AssignIds(std::vector<Field>* fields, int* next, std::map<int, int>* new_ids) {
  for (Field& field : *fields) {
    new_ids->emplace(field.id, *next);
    field.id = (*next)++;
  }
  for (Field& field : *fields) AssignIds(&field.type.fields, next, new_ids);
}

bool CanPromoteFields(const std::vector<Field>& from, const std::vector<Field>& to) {
  for (const Field& target : to) {
    for (const Field& source : from) {
      if (source.id == target.id && !CanPromote(source.type, target.type)) return false;
    }
  }
  return true;
}

class SchemaChecker {
 public:
  Status CheckFields(const std::vector<Field>& fields, const std::string& prefix, int depth) {
    std::set<std::string_view> names;
    for (const Field& field : fields) {
      if (field.name.empty()) {
        return InvalidArgument("{}: a column without a name (field id {})",
                               prefix.empty() ? "schema" : prefix, field.id);
      }
      const std::string path = prefix.empty() ? field.name : prefix + "." + field.name;
      if (!names.insert(field.name).second) {
        return InvalidArgument("column {} is there twice", Quote(path));
      }
      auto [first, inserted] = paths_.emplace(field.id, path);
      if (!inserted) {
        return InvalidArgument("columns {} and {} have the same field id {}", Quote(first->second),
                               Quote(path), field.id);
      }
      if (field.id <= 0) {
        return InvalidArgument("column {}: field id {} is not positive", Quote(path), field.id);
      }
      TL_RETURN_NOT_OK(CheckType(field.type, path, depth));
    }
    return Status::OK();
  }

 private:
  Status CheckType(const Type& type, const std::string& path, int depth) {
    if (type.is_primitive() && !type.fields.empty()) {
      return InvalidArgument("column {}: type {} cannot have fields", Quote(path), TypeName(type));
    }
    if (type.id == TypeId::kDecimal) return CheckDecimal(type, path);
    if (type.id == TypeId::kFixed && type.length <= 0) {
      return InvalidArgument("column {}: fixed length {} is not positive", Quote(path),
                             type.length);
    }
    if (type.is_primitive()) return Status::OK();
    const size_t children = type.fields.size();
    if (depth >= kMaxTypeDepth) {
      return InvalidArgument("column {}: types nest deeper than {} levels", Quote(path),
                             kMaxTypeDepth);
    }
    if (type.id == TypeId::kList && children != 1) {
      return InvalidArgument("column {}: a list needs one element type", Quote(path));
    }
    if (type.id == TypeId::kMap) {
      if (children != 2) {
        return InvalidArgument("column {}: a map needs a key and a value type", Quote(path));
      }
      if (!type.fields[0].required) {
        return InvalidArgument("column {}: map keys must be required", Quote(path));
      }
    }
    return CheckFields(type.fields, path, depth + 1);
  }

  static Status CheckDecimal(const Type& type, const std::string& path) {
    if (type.precision < 1 || type.precision > 38) {
      return InvalidArgument("column {}: decimal precision {} is not in 1..38", Quote(path),
                             type.precision);
    }
    if (type.scale < 0 || type.scale > type.precision) {
      return InvalidArgument("column {}: decimal scale {} is not in 0..{} (the precision)",
                             Quote(path), type.scale, type.precision);
    }
    return Status::OK();
  }

  std::map<int, std::string> paths_;
};

}  // namespace

bool operator==(const Type& a, const Type& b) {
  if (a.id != b.id) return false;
  switch (a.id) {
    case TypeId::kDecimal: return a.precision == b.precision && a.scale == b.scale;
    case TypeId::kFixed: return a.length == b.length;
    default: return a.fields == b.fields;
  }
}

bool operator==(const Field& a, const Field& b) {
  return a.id == b.id && a.name == b.name && a.required == b.required && a.type == b.type;
}

bool SameFields(const Schema& a, const Schema& b) { return a.fields == b.fields; }

std::string TypeName(const Type& type) {
  if (type.is_primitive()) return PrimitiveName(type);
  std::string text;
  switch (type.id) {
    case TypeId::kList:
      return "list<" + (type.fields.empty() ? "?" : NestedFieldText(type.fields[0])) + ">";
    case TypeId::kMap:
      if (type.fields.size() != 2) return "map<?>";
      return "map<" + TypeName(type.fields[0].type) + "," + NestedFieldText(type.fields[1]) + ">";
    default:
      for (const Field& field : type.fields) {
        text += (text.empty() ? "" : ",") + field.name + ":" + NestedFieldText(field);
      }
      return "struct<" + text + ">";
  }
}

const Field* FindField(const Schema& schema, std::string_view name) {
  for (const Field& field : schema.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const Field* FindFieldById(const Schema& schema, int id) {
  for (const Field& field : schema.fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

const Field* FindAnyFieldById(const Schema& schema, int id) {
  return FindInFields(schema.fields, id);
}

std::vector<std::string> FieldNames(const Schema& schema) {
  std::vector<std::string> names;
  names.reserve(schema.fields.size());
  for (const Field& field : schema.fields) names.push_back(field.name);
  return names;
}

int HighestFieldId(const Schema& schema) { return HighestInFields(schema.fields); }

Schema AssignFreshIds(const Schema& schema, int first) {
  Schema fresh = schema;
  std::map<int, int> new_ids;
  int next = first;
  AssignIds(&fresh.fields, &next, &new_ids);
  for (int& id : fresh.identifier_field_ids) {
    if (auto found = new_ids.find(id); found != new_ids.end()) id = found->second;
  }
  return fresh;
}

bool CanPromote(const Type& from, const Type& to) {
  if (from.id != to.id) {
    return (from.id == TypeId::kInt && to.id == TypeId::kLong) ||
           (from.id == TypeId::kFloat && to.id == TypeId::kDouble);
  }
  switch (from.id) {
    case TypeId::kDecimal: return from.scale == to.scale && from.precision <= to.precision;
    case TypeId::kFixed: return from.length == to.length;
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap:
      // Members are matched by id; one that is not in `from` reads as null.
      return CanPromoteFields(from.fields, to.fields);
    default: return true;
  }
}

Status ValidateSchema(const Schema& schema) {
  TL_RETURN_NOT_OK(SchemaChecker().CheckFields(schema.fields, "", 0));
  for (int id : schema.identifier_field_ids) {
    if (FindAnyFieldById(schema, id) == nullptr) {
      return InvalidArgument("identifier field id {} is not a field of the schema", id);
    }
  }
  return Status::OK();
}

}  // namespace timelake::iceberg
