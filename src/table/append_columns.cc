#include "table/append_columns.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "table/schema_changes.h"

namespace timelake::table {
namespace {

using iceberg::Field;
using iceberg::Schema;

// Whether values of `file` are read as `now` by id. Ids inside nested types have to be the same.
bool CanRead(const iceberg::Type& file, const iceberg::Type& now) {
  return file == now || (file.is_primitive() && iceberg::CanPromote(file, now));
}

bool IsTaken(const Schema& schema, const std::string& name) {
  return std::any_of(schema.fields.begin(), schema.fields.end(), [&](const Field& field) {
    return ToLowerAscii(field.name) == ToLowerAscii(name);
  });
}

// Columns that another engine has made required meanwhile.
bool HasRequired(const Schema& now, const Schema& files) {
  return std::all_of(now.fields.begin(), now.fields.end(), [&](const Field& field) {
    if (!field.required) return true;
    const Field* in_files = iceberg::FindFieldById(files, field.id);
    return in_files != nullptr && in_files->required;
  });
}

}  // namespace

std::optional<FittedVersion> FitColumns(const Version& base, const WrittenColumns& written) {
  const iceberg::TableMetadata& metadata = *base.metadata;
  Schema now = *iceberg::CurrentSchema(metadata);
  if (!HasRequired(now, written.schema)) return std::nullopt;
  FittedVersion fitted{base, {}};
  for (const Field& field : written.schema.fields) {
    if (!written.given.contains(field.name)) continue;
    if (const Field* found = iceberg::FindField(now, field.name)) {
      if (found->id != field.id || !CanRead(field.type, found->type)) return std::nullopt;
      continue;
    }
    // Ids up to last-column-id are, or were, of other columns.
    const bool is_new = field.id > written.last_column_id && field.id > metadata.last_column_id;
    if (!is_new || IsTaken(now, field.name)) return std::nullopt;
    now.fields.push_back(field);
    fitted.added.push_back(field.name);
  }
  if (fitted.added.empty()) return fitted;
  auto extended = std::make_shared<iceberg::TableMetadata>(metadata);
  SetSchema(std::move(now), extended.get());
  fitted.base.metadata = std::move(extended);
  return fitted;
}

}  // namespace timelake::table
