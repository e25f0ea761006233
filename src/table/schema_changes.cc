#include "table/schema_changes.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "table/column_names.h"
#include "table/contract.h"
#include "table/load.h"
#include "table/next_metadata.h"
#include "table/rollup_definition.h"
#include "table/rollup_properties.h"
#include "table/settings.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

using iceberg::Field;
using iceberg::Schema;
using iceberg::TableMetadata;

// Settings of other engines for single columns end so, e.g. `write.metadata.metrics.column.<name>`.
constexpr char kOfColumn[] = ".column.";
// Properties of tables whose columns something knows by name, whatever it is.
struct ByName {
  const char* key;
  const char* what;
};
constexpr ByName kByName[] = {
    {kRollups, "rollups go by names"},
    {kRollupTables, "rollups go by names"},
    {kRollupSource, "rollups go by names"},
    {kRollupDefinition, "rollups go by names"},
    // Specification, "Column Projection".
    {"schema.name-mapping.default", "data files without field ids go by names"},
};

class SchemaEditor {
 public:
  SchemaEditor(const std::string& table, const TableMetadata& metadata, Contract contract)
      : table_(table),
        metadata_(metadata),
        contract_(std::move(contract)),
        schema_(*iceberg::CurrentSchema(metadata)),
        last_id_(metadata.last_column_id) {
    // Another engine may have lost count.
    for (const Schema& known : metadata.schemas) {
      last_id_ = std::max(last_id_, iceberg::HighestFieldId(known));
    }
  }

  Status Apply(const ColumnChange& change);

  const Schema& schema() const { return schema_; }
  int last_id() const { return last_id_; }

 private:
  Field* FindNamed(const std::string& name, bool any_case);
  Result<Field*> Find(const std::string& name, bool any_case);
  Status CheckFree(const Field& wanted, const Field* itself) const;
  Status CheckUnused(const Field& field, const char* verb) const;
  Status CheckUnnamed(const Field& field, const char* verb) const;
  Status Refused(const Field& field, const char* verb, const std::string& why) const;
  Status Add(const ColumnChange& change);
  Status Rename(const ColumnChange& change);
  Status Drop(const ColumnChange& change);
  Status Widen(const ColumnChange& change);

  const std::string& table_;
  const TableMetadata& metadata_;
  const Contract contract_;
  Schema schema_;
  int last_id_;
};

Field* SchemaEditor::FindNamed(const std::string& name, bool any_case) {
  for (Field& field : schema_.fields) {
    if (field.name == name) return &field;
  }
  if (!any_case) return nullptr;
  for (Field& field : schema_.fields) {
    if (ToLowerAscii(field.name) == ToLowerAscii(name)) return &field;
  }
  return nullptr;
}

Result<Field*> SchemaEditor::Find(const std::string& name, bool any_case) {
  if (Field* field = FindNamed(name, any_case)) return field;
  const auto known = iceberg::FieldNames(schema_);
  const auto near = NearestName(name, known);
  return InvalidArgument("table {}: there is no column {}{}; known are {}", table_, Quote(name),
                         near ? fmt::format(" (did you mean {}?)", Quote(*near)) : "",
                         Join(known, ", "));
}

// Whether a column may be called so. `itself`: the one that is called something else so far.
Status SchemaEditor::CheckFree(const Field& wanted, const Field* itself) const {
  TL_RETURN_NOT_OK(WithContext(CheckColumnNames({wanted}), "table " + table_));
  for (const Field& field : schema_.fields) {
    if (&field == itself || ToLowerAscii(field.name) != ToLowerAscii(wanted.name)) continue;
    if (field.name == wanted.name) {
      return InvalidArgument("table {}: there is a column {} already", table_, Quote(field.name));
    }
    return InvalidArgument(
        "table {}: column {} would differ from {} only in case, which SQL ignores", table_,
        Quote(wanted.name), Quote(field.name));
  }
  // Only identity partitions may share a name with a column (specification, "Partitioning").
  for (const auto& spec : metadata_.partition_specs) {
    for (const auto& field : spec.fields) {
      if (field.name != wanted.name) continue;
      return InvalidArgument("table {}: {} is the name of a partition field", table_,
                             Quote(wanted.name));
    }
  }
  return Status::OK();
}

Status SchemaEditor::Refused(const Field& field, const char* verb, const std::string& why) const {
  return InvalidArgument("table {}: column {} cannot be {}: {}", table_, Quote(field.name), verb,
                         why);
}

// Why a column has to stay as it is, by its id.
Status SchemaEditor::CheckUnused(const Field& field, const char* verb) const {
  const auto has = [&](const std::vector<int>& ids) {
    return std::find(ids.begin(), ids.end(), field.id) != ids.end();
  };
  // Also below a column of its own: another engine may partition by a member of a struct.
  Schema one;
  one.fields.push_back(field);
  const auto is_inside = [&](int id) { return iceberg::FindAnyFieldById(one, id) != nullptr; };
  const auto uses = [&](const auto& entry) { return is_inside(entry.source_id); };
  if (contract_.time_id == field.id) return Refused(field, verb, "it is the table's time column");
  if (has(contract_.key_ids)) return Refused(field, verb, "it is part of the series key");
  if (contract_.ingest_time_id == field.id) {
    return Refused(field, verb, "it is the ingest-time column");
  }
  for (const auto& spec : metadata_.partition_specs) {
    const auto found = std::find_if(spec.fields.begin(), spec.fields.end(), uses);
    if (found == spec.fields.end()) continue;
    return Refused(field, verb,
                   fmt::format("the table is or was partitioned by it (partition field {})",
                               Quote(found->name)));
  }
  for (const auto& order : metadata_.sort_orders) {
    if (std::none_of(order.fields.begin(), order.fields.end(), uses)) continue;
    return Refused(field, verb,
                   fmt::format("rows are or were ordered by it (sort order {})", order.order_id));
  }
  const auto& identifiers = schema_.identifier_field_ids;
  if (std::any_of(identifiers.begin(), identifiers.end(), is_inside)) {
    return Refused(field, verb, "it identifies rows (identifier-field-ids)");
  }
  return Status::OK();
}

// Why its name has to stay.
Status SchemaEditor::CheckUnnamed(const Field& field, const char* verb) const {
  const std::string& bloom = std::string(FindSetting("bloom-columns")->property);
  for (const auto& [key, value] : metadata_.properties) {
    if (key == bloom) {
      const auto names = SplitNames(value);
      if (names.ok() && std::find(names->begin(), names->end(), field.name) != names->end()) {
        return Refused(field, verb, "the setting bloom-columns names it; change that first");
      }
    }
    if (key.ends_with(kOfColumn + field.name)) {
      return Refused(field, verb,
                     fmt::format("the property {} names it; unset that first", Quote(key)));
    }
    for (const ByName& known : kByName) {
      if (key != known.key || value.empty()) continue;
      return Refused(field, verb, fmt::format("{} (property {})", known.what, key));
    }
  }
  return Status::OK();
}

Status SchemaEditor::Add(const ColumnChange& change) {
  if (change.if_needed && FindNamed(change.column, change.any_case)) return Status::OK();
  Schema one;
  one.fields.push_back({0, change.column, /*required=*/false, change.type, std::nullopt, {}});
  TL_RETURN_NOT_OK(CheckFree(one.fields[0], nullptr));
  one = iceberg::AssignFreshIds(one, last_id_ + 1);
  last_id_ = iceberg::HighestFieldId(one);
  auto place = schema_.fields.end();
  if (!change.after.empty()) {
    TL_ASSIGN_OR_RAISE(const Field* before, Find(change.after, change.any_case));
    place = schema_.fields.begin() + (before - schema_.fields.data()) + 1;
  }
  schema_.fields.insert(place, std::move(one.fields[0]));
  return Status::OK();
}

Status SchemaEditor::Rename(const ColumnChange& change) {
  TL_ASSIGN_OR_RAISE(Field * field, Find(change.column, change.any_case));
  if (change.new_name == field->name) return Status::OK();
  Field renamed = *field;
  renamed.name = change.new_name;
  TL_RETURN_NOT_OK(CheckFree(renamed, field));
  TL_RETURN_NOT_OK(CheckUnused(*field, "renamed"));
  TL_RETURN_NOT_OK(CheckUnnamed(*field, "renamed"));
  *field = std::move(renamed);
  return Status::OK();
}

Status SchemaEditor::Drop(const ColumnChange& change) {
  if (change.if_needed && !FindNamed(change.column, change.any_case)) return Status::OK();
  TL_ASSIGN_OR_RAISE(const Field* field, Find(change.column, change.any_case));
  TL_RETURN_NOT_OK(CheckUnused(*field, "dropped"));
  TL_RETURN_NOT_OK(CheckUnnamed(*field, "dropped"));
  if (schema_.fields.size() == 1) return Refused(*field, "dropped", "the table has no other");
  schema_.fields.erase(schema_.fields.begin() + (field - schema_.fields.data()));
  return Status::OK();
}

Status SchemaEditor::Widen(const ColumnChange& change) {
  TL_ASSIGN_OR_RAISE(Field * field, Find(change.column, change.any_case));
  const bool primitive = field->type.is_primitive() && change.type.is_primitive();
  if (primitive && change.type == field->type) return Status::OK();
  if (!primitive || !iceberg::CanPromote(field->type, change.type)) {
    return InvalidArgument(
        "table {}: column {} is {} and cannot become {}; accepted are int to long, float to "
        "double, and a decimal with more digits and the same scale",
        table_, Quote(field->name), iceberg::TypeName(field->type), iceberg::TypeName(change.type));
  }
  TL_RETURN_NOT_OK(CheckUnused(*field, "widened"));
  field->type = change.type;
  return Status::OK();
}

Status SchemaEditor::Apply(const ColumnChange& change) {
  switch (change.kind) {
    case SchemaChange::Kind::kAdd: return Add(change);
    case SchemaChange::Kind::kRename: return Rename(change);
    case SchemaChange::Kind::kDrop: return Drop(change);
    case SchemaChange::Kind::kWiden: return Widen(change);
  }
  return Status::OK();
}

}  // namespace

Result<ColumnChange> ToColumnChange(const std::string& table, const SchemaChange& change) {
  ColumnChange result;
  result.kind = change.kind;
  result.column = change.column;
  result.after = change.after;
  if (change.kind == SchemaChange::Kind::kRename) result.new_name = change.to;
  if (change.kind != SchemaChange::Kind::kAdd && change.kind != SchemaChange::Kind::kWiden) {
    return result;
  }
  auto type = iceberg::ParseType(change.to);
  if (!type.ok()) {
    return WithContext(type.status(),
                       fmt::format("table {}, column {}", table, Quote(change.column)));
  }
  result.type = *std::move(type);
  return result;
}

Status ChangeColumns(const std::string& table, const std::vector<ColumnChange>& changes,
                     TableMetadata* metadata) {
  auto contract = ReadContract(*metadata);
  if (!contract.ok()) return WithContext(contract.status(), "table " + table);
  SchemaEditor editor(table, *metadata, *std::move(contract));
  for (const ColumnChange& change : changes) TL_RETURN_NOT_OK(editor.Apply(change));
  Schema schema = editor.schema();
  if (iceberg::SameFields(schema, *iceberg::CurrentSchema(*metadata))) return Status::OK();
  TL_RETURN_NOT_OK(WithContext(iceberg::ValidateSchema(schema), "table " + table));
  metadata->last_column_id = editor.last_id();
  SetSchema(std::move(schema), metadata);
  return Status::OK();
}

void SetSchema(Schema schema, TableMetadata* metadata) {
  schema.schema_id = 0;
  for (const Schema& known : metadata->schemas) {
    schema.schema_id = std::max(schema.schema_id, known.schema_id + 1);
  }
  metadata->last_column_id = std::max(metadata->last_column_id, iceberg::HighestFieldId(schema));
  metadata->current_schema_id = schema.schema_id;
  metadata->schemas.push_back(std::move(schema));
}

Result<CommitResult> CommitSchema(Handle& handle, const std::vector<ColumnChange>& changes,
                                  const CommitOptions& options) {
  // What a version of yesterday says of the columns would be no reason to refuse.
  TL_RETURN_NOT_OK(LoadNewest(handle).status());
  return Commit(
      handle,
      [&](const Version& base, const std::set<int64_t>&) -> Result<BuildResult> {
        Attempt attempt;
        attempt.metadata = Following(handle, base);
        TL_RETURN_NOT_OK(ChangeColumns(handle.name(), changes, &attempt.metadata));
        if (attempt.metadata.current_schema_id == base.metadata->current_schema_id) {
          return Settled{};
        }
        StampCommit(handle.env(), &attempt.metadata);
        return attempt;
      },
      options);
}

}  // namespace timelake::table
