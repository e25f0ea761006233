#include "iceberg/partition.h"

#include <arrow/util/base64.h>
#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"

namespace timelake::iceberg {
namespace {

// Text of a value as Iceberg's other writers put it into paths: no quotes, offset "+00:00", base64
// for bytes. Paths are only names (the manifest holds the value), but people and tools read them.
std::string PathText(const Type& type, const Value& value) {
  if (auto bytes = std::get_if<std::string>(&value)) {
    if (type.id == TypeId::kString) return *bytes;
    if (type.id == TypeId::kFixed || type.id == TypeId::kBinary) {
      return arrow::util::base64_encode(*bytes);
    }
  }
  if (auto micros = std::get_if<int64_t>(&value); micros && type.id == TypeId::kTimestamptz) {
    return FormatTimestamp(*micros, false) + "+00:00";
  }
  return ToText(type, value);
}

// A folder's name has at most 255 bytes. Of a longer text a hash tells it from others alike; that
// two should share a folder does no harm.
std::string Shortened(std::string text, size_t before) {
  constexpr size_t kMost = 255, kHash = 9;
  if (before + text.size() <= kMost) return text;
  const auto hash = static_cast<uint32_t>(HashBytes(text));
  size_t length = before + kHash < kMost ? kMost - kHash - before : 0;
  for (size_t i = 1; i <= 2 && i <= length; ++i) {
    if (text[length - i] == '%') length -= i;  // not within "%2F"
  }
  return text.substr(0, length) + fmt::format("-{:08x}", hash);
}

}  // namespace

std::string PartitionText(const Transform& transform, const Type& source, const Value& value) {
  if (IsNull(value)) return "null";
  if (auto ordinal = std::get_if<int32_t>(&value)) {
    switch (transform.kind) {
      case TransformKind::kYear: return YearLabel(*ordinal);
      case TransformKind::kMonth: return MonthLabel(*ordinal);
      case TransformKind::kDay: return DayLabel(*ordinal);
      case TransformKind::kHour: return HourLabel(*ordinal);
      default: break;
    }
  }
  return PercentEncodeForm(PathText(ResultType(transform, source), value));
}

Result<std::string> PartitionPath(const PartitionSpec& spec, const Schema& schema,
                                  const std::vector<Value>& partition) {
  if (partition.size() != spec.fields.size()) {
    return InvalidArgument("partition spec {} has {} fields, the partition {} values", spec.spec_id,
                           spec.fields.size(), partition.size());
  }
  std::string path;
  for (size_t i = 0; i < partition.size(); ++i) {
    const PartitionField& field = spec.fields[i];
    const Field* source = FindAnyFieldById(schema, field.source_id);
    // The source of a void field may have been dropped.
    if (source == nullptr && field.transform.kind != TransformKind::kVoid) {
      return InvalidArgument("partition field {}: the schema has no column with id {}",
                             Quote(field.name), field.source_id);
    }
    const Type type = source != nullptr ? source->type : Type{};
    if (!path.empty()) path += '/';
    const std::string name = PercentEncodeForm(field.name) + "=";
    path += name + Shortened(PartitionText(field.transform, type, partition[i]), name.size());
  }
  return path;
}

}  // namespace timelake::iceberg
