#include "table/data_file_columns.h"

#include <charconv>
#include <set>

#include <arrow/util/key_value_metadata.h>

#include "iceberg/arrow_schema.h"

namespace timelake::table {
namespace {

using iceberg::Field;
using iceberg::TypeId;
using parquet::arrow::SchemaField;
using SchemaFields = std::vector<SchemaField>;

int FieldIdOf(const SchemaField& field) {
  const auto& metadata = field.field->metadata();
  if (!metadata) return -1;
  auto text = metadata->Get(iceberg::kArrowFieldIdKey);
  if (!text.ok()) return -1;
  int id = -1;
  std::from_chars(text->data(), text->data() + text->size(), id);
  return id;
}

bool HasAnyId(const SchemaFields& fields) {
  for (const SchemaField& field : fields) {
    if (FieldIdOf(field) >= 0 || HasAnyId(field.children)) return true;
  }
  return false;
}

bool IsRead(const SchemaField& field, const std::set<int>& leaves) {
  if (field.is_leaf()) return leaves.contains(field.column_index);
  for (const SchemaField& child : field.children) {
    if (IsRead(child, leaves)) return true;
  }
  return false;
}

void LeavesBelow(const SchemaField& field, const std::set<int>& read, std::vector<int>* leaves) {
  if (field.is_leaf() && read.contains(field.column_index)) leaves->push_back(field.column_index);
  for (const SchemaField& child : field.children) LeavesBelow(child, read, leaves);
}

// Reads something of a column of which only the shape (its nulls, its length) is wanted.
void ReadFirstLeaf(const SchemaField& field, std::set<int>* leaves) {
  if (field.is_leaf()) {
    leaves->insert(field.column_index);
  } else if (!field.children.empty()) {
    ReadFirstLeaf(field.children.front(), leaves);
  }
}

Status OtherShape(const Field& wanted, const SchemaField& file, const std::string& path) {
  return Corrupt("column '{}': the table has {}, the file {}", path, iceberg::TypeName(wanted.type),
                 file.field->type()->ToString());
}

class Finder {
 public:
  Finder(const SchemaFields& file, const std::vector<std::pair<int, iceberg::Value>>& constants)
      : constants_(constants), by_name_(!HasAnyId(file)) {}

  Result<ColumnSource> Find(const Field& wanted, const SchemaFields& candidates,
                            const std::string& parent) {
    const std::string path = parent.empty() ? wanted.name : parent + "." + wanted.name;
    for (const SchemaField& candidate : candidates) {
      if (by_name_ ? candidate.field->name() == wanted.name : FieldIdOf(candidate) == wanted.id) {
        return Make(wanted, candidate, path);
      }
    }
    return MakeMissing(wanted, path, parent.empty());
  }

  // Fills in positions, once it is known what of the file is read.
  void Place(const SchemaFields& file, std::vector<ColumnSource>* sources) const {
    for (ColumnSource& source : *sources) {
      if (source.missing) continue;
      source.position = 0;
      for (const SchemaField& sibling : file) {
        if (&sibling == source.origin) break;
        if (IsRead(sibling, leaves_)) ++source.position;
      }
      // Below a map lies one more level in the file: the entries.
      const bool map = source.field.type.id == TypeId::kMap;
      Place(map ? source.origin->children[0].children : source.origin->children, &source.children);
    }
  }

  const std::set<int>& leaves() const { return leaves_; }

 private:
  Result<ColumnSource> MakeMissing(const Field& wanted, const std::string& path, bool top) const {
    ColumnSource source = Start(wanted, path);
    source.missing = true;
    if (top) {
      for (const auto& [id, value] : constants_) {
        if (id == wanted.id && !iceberg::IsNull(value)) source.value = value;
      }
    }
    if (wanted.required && !source.value) {
      return Corrupt("required column '{}' (field id {}) is missing", path, wanted.id);
    }
    return source;
  }

  Result<ColumnSource> Make(const Field& wanted, const SchemaField& file, const std::string& path) {
    ColumnSource source = Start(wanted, path);
    source.origin = &file;
    const auto shape = file.field->type()->id();
    switch (wanted.type.id) {
      case TypeId::kStruct:
        if (shape != arrow::Type::STRUCT) return OtherShape(wanted, file, path);
        TL_RETURN_NOT_OK(MakeMembers(file, &source));
        return source;
      case TypeId::kList:
        if (shape != arrow::Type::LIST || file.children.size() != 1) {
          return OtherShape(wanted, file, path);
        }
        TL_RETURN_NOT_OK(MakeItem(wanted.type.fields.at(0), file.children[0], &source));
        return source;
      case TypeId::kMap: {
        if (shape != arrow::Type::MAP || file.children.size() != 1 ||
            file.children[0].children.size() != 2) {
          return OtherShape(wanted, file, path);
        }
        const SchemaFields& entry = file.children[0].children;
        TL_RETURN_NOT_OK(MakeItem(wanted.type.fields.at(0), entry[0], &source));
        TL_RETURN_NOT_OK(MakeItem(wanted.type.fields.at(1), entry[1], &source));
        return source;
      }
      default:
        if (!file.is_leaf()) return OtherShape(wanted, file, path);
        leaves_.insert(file.column_index);
        return source;
    }
  }

  Status MakeMembers(const SchemaField& file, ColumnSource* source) {
    bool any = false;
    for (const Field& member : source->field.type.fields) {
      TL_ASSIGN_OR_RAISE(ColumnSource child, Find(member, file.children, source->path));
      any = any || !child.missing;
      source->children.push_back(std::move(child));
    }
    // All wanted members were added later, or none is wanted: the struct's own nulls are needed.
    if (!any) ReadFirstLeaf(file, &leaves_);
    return Status::OK();
  }

  // An element, key or value is found by its place. An id that contradicts means that the file
  // does not belong to this column.
  Status MakeItem(const Field& wanted, const SchemaField& file, ColumnSource* source) {
    const int id = FieldIdOf(file);
    const std::string path = source->path + "." + wanted.name;
    if (!by_name_ && id >= 0 && id != wanted.id) {
      return Corrupt("column '{}' has field id {} in the table and {} in the file", path, wanted.id,
                     id);
    }
    TL_ASSIGN_OR_RAISE(ColumnSource child, Make(wanted, file, path));
    source->children.push_back(std::move(child));
    return Status::OK();
  }

  static ColumnSource Start(const Field& wanted, const std::string& path) {
    ColumnSource source;
    source.field = wanted;
    source.path = path;
    iceberg::Schema schema;
    schema.fields.push_back(wanted);
    source.out = iceberg::ToArrow(schema)->field(0);
    return source;
  }

  const std::vector<std::pair<int, iceberg::Value>>& constants_;
  const bool by_name_;
  std::set<int> leaves_;
};

}  // namespace

Result<ColumnSources> FindColumns(const parquet::arrow::SchemaManifest& file,
                                  const std::vector<iceberg::Field>& wanted,
                                  const std::vector<std::pair<int, iceberg::Value>>& constants) {
  Finder finder(file.schema_fields, constants);
  ColumnSources sources;
  for (const iceberg::Field& field : wanted) {
    TL_ASSIGN_OR_RAISE(ColumnSource source, finder.Find(field, file.schema_fields, ""));
    sources.columns.push_back(std::move(source));
  }
  finder.Place(file.schema_fields, &sources.columns);
  for (ColumnSource& column : sources.columns) {
    if (column.origin) LeavesBelow(*column.origin, finder.leaves(), &column.leaves);
  }
  sources.leaves.assign(finder.leaves().begin(), finder.leaves().end());
  return sources;
}

}  // namespace timelake::table
