#include "table/column_names.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"
#include "base/utf8.h"

namespace timelake::table {
namespace {

Status CheckName(const std::string& name, std::string_view parent) {
  const std::string of = parent.empty() ? "" : fmt::format(" in column {}", Quote(parent));
  if (name.empty()) return InvalidArgument("a column{} has no name", of);
  if (!IsValidUtf8(name)) {
    return InvalidArgument("column name {}{} is not valid UTF-8", Quote(name), of);
  }
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (!control) return Status::OK();
  return InvalidArgument("column name {}{} has control characters", Quote(name), of);
}

}  // namespace

Status CheckColumnNames(const std::vector<iceberg::Field>& fields, std::string_view parent) {
  std::map<std::string, std::string_view> seen;
  for (const iceberg::Field& field : fields) {
    TL_RETURN_NOT_OK(CheckName(field.name, parent));
    const auto [other, inserted] = seen.emplace(ToLowerAscii(field.name), field.name);
    if (!inserted && other->second == field.name) {
      return InvalidArgument("column {} is there twice", Quote(field.name));
    }
    if (!inserted) {
      return InvalidArgument("columns {} and {} differ only in case, which SQL ignores",
                             Quote(other->second), Quote(field.name));
    }
    TL_RETURN_NOT_OK(CheckColumnNames(field.type.fields, parent.empty() ? field.name : parent));
  }
  return Status::OK();
}

}  // namespace timelake::table
