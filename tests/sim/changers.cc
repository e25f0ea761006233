#include <iterator>

#include "sim/data_files.h"
#include "sim/processes.h"
#include "table/changes.h"
#include "table/schema_changes.h"

namespace timelake::sim {
namespace {

using table::ColumnChange;
using Kind = SchemaChange::Kind;

ColumnChange Change(Kind kind, const std::string& column, const std::string& new_name = "") {
  ColumnChange change;
  change.kind = kind;
  change.column = column;
  change.new_name = new_name;
  change.type.id = iceberg::TypeId::kLong;
  return change;
}

// Changes of what `value` means, and of what it meant.
std::vector<ColumnChange> Choose(Process& process, const iceberg::Schema& schema) {
  const int value = ValueColumn(schema);
  const ColumnChange add = Change(Kind::kAdd, "value");
  std::vector<std::string> old;
  for (const auto& field : schema.fields) {
    if (field.id > 2 && field.id != value) old.push_back(field.name);
  }
  if (!old.empty() && process.Maybe(0.4)) {
    const std::string& name = old[process.Below(old.size())];
    if (value != 0 || process.Maybe(0.5)) return {Change(Kind::kDrop, name)};
    return {Change(Kind::kRename, name, "value")};
  }
  if (value == 0) return {add};
  const ColumnChange rename = Change(Kind::kRename, "value", fmt::format("old{}", value));
  const ColumnChange drop = Change(Kind::kDrop, "value");
  switch (process.Below(4)) {
    case 0: return {rename};
    case 1: return {rename, add};
    case 2: return {drop};
    default: return {drop, add};
  }
}

void SetRetention(Process& process) {
  const std::optional<std::string> values[] = {RetentionOfOneDay(), RetentionOfOneDay(), "100d",
                                               std::nullopt};
  const auto& value = values[process.Below(std::size(values))];
  CheckCommit(
      process, "retention",
      table::CommitProperties(process.handle(), {{"retention", value}}, CommitOptionsOf(process)));
}

}  // namespace

void ChangerTurn(Process& process) {
  if (process.Maybe(0.4)) return SetRetention(process);
  const auto loaded = Load(process);
  if (!loaded.ok()) return;
  const auto changes = Choose(process, *iceberg::CurrentSchema(*loaded->metadata));
  const auto result = table::CommitSchema(process.handle(), changes, CommitOptionsOf(process));
  // Another one has changed them meanwhile.
  const bool late = KindOf(result.status()) == ErrorKind::kInvalidArgument;
  if (!late) CheckCommit(process, "columns", result);
}

}  // namespace timelake::sim
