#include "table/settings_columns.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "table/settings.h"

namespace timelake::table {
namespace {

constexpr char kBloomColumns[] = "bloom-columns";

bool CanHaveFilter(const iceberg::Type& type) {
  return type.is_primitive() && type.id != iceberg::TypeId::kBoolean;
}

std::string Accepted(const iceberg::Schema& schema) {
  std::vector<std::string> names;
  for (const iceberg::Field& field : schema.fields) {
    if (CanHaveFilter(field.type)) names.push_back(field.name);
  }
  return Join(names, ", ");
}

}  // namespace

Status CheckBloomColumns(const iceberg::Schema& schema, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = std::find_if(schema.fields.begin(), schema.fields.end(),
                                    [&](const auto& field) { return field.name == name; });
    if (found == schema.fields.end()) {
      return InvalidArgument("setting {}: the table has no column {}; accepted: {}", kBloomColumns,
                             Quote(name), Accepted(schema));
    }
    if (!CanHaveFilter(found->type)) {
      return InvalidArgument(
          "setting {}: column {} is {}, which cannot have a Bloom filter; accepted: {}",
          kBloomColumns, Quote(name), iceberg::TypeName(found->type), Accepted(schema));
    }
  }
  return Status::OK();
}

Status CheckColumnSettings(const iceberg::Schema& schema,
                           const std::map<std::string, std::string>& properties) {
  const auto found = properties.find(std::string(FindSetting(kBloomColumns)->property));
  if (found == properties.end()) return Status::OK();
  const auto names = SplitNames(found->second);
  return names.ok() ? CheckBloomColumns(schema, *names) : Status::OK();
}

}  // namespace timelake::table
