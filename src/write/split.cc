#include "write/split.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <arrow/compute/api.h>
#include <arrow/extension_type.h>

#include "base/civil_time.h"
#include "base/text.h"
#include "write/arrow_value.h"

namespace timelake::write {
namespace {

using iceberg::TransformKind;
using iceberg::Value;

// Results of one partition field: ranks of the rows, and the value of each rank.
struct FieldSplit {
  Ranks ranks;
  std::vector<Value> values;
};

struct ValueLess {
  bool operator()(const Value& a, const Value& b) const { return iceberg::Compare(a, b) < 0; }
};

bool IsTimestamp(const iceberg::Type& type) {
  return type.id == iceberg::TypeId::kTimestamp || type.id == iceberg::TypeId::kTimestamptz;
}

// Ranks from any numbering of the rows and the value that each number stands for.
FieldSplit RankNumbered(std::vector<uint32_t> number_of, const std::vector<Value>& values) {
  FieldSplit split;
  std::map<Value, uint32_t, ValueLess> ranks;
  for (const Value& value : values) ranks.emplace(value, 0);
  for (auto& [value, rank] : ranks) {
    rank = static_cast<uint32_t>(split.values.size());
    split.values.push_back(value);
  }
  std::vector<uint32_t> rank_of(values.size());
  for (size_t i = 0; i < values.size(); ++i) rank_of[i] = ranks[values[i]];
  for (uint32_t& number : number_of) number = rank_of[number];
  split.ranks = {std::move(number_of), std::max<uint32_t>(1, split.values.size())};
  return split;
}

int64_t OrdinalOf(TransformKind kind, int64_t micros) {
  switch (kind) {
    case TransformKind::kHour: return HoursFromMicros(micros);
    case TransformKind::kDay: return DaysFromMicros(micros);
    case TransformKind::kMonth: return MonthsFromMicros(micros);
    default: return YearsFromMicros(micros);
  }
}

// Chunk transforms of timestamps without a value object per row. Neighbours are mostly of one day.
Result<FieldSplit> SplitByTime(const iceberg::Transform& transform, const arrow::Array& array) {
  const int64_t* micros = array.data()->GetValues<int64_t>(1);
  const auto [least, most] = std::minmax_element(micros, micros + array.length());
  const int64_t only = OrdinalOf(transform.kind, *least);
  if (only == OrdinalOf(transform.kind, *most) && std::in_range<int32_t>(only)) {
    const auto rows = static_cast<size_t>(array.length());
    return FieldSplit{{std::vector<uint32_t>(rows, 0), 1}, {static_cast<int32_t>(only)}};
  }
  std::vector<int64_t> ordinals(static_cast<size_t>(array.length()));
  int64_t last_day = std::numeric_limits<int64_t>::max();
  int64_t last = 0;
  for (size_t i = 0; i < ordinals.size(); ++i) {
    if (transform.kind == TransformKind::kHour) {
      ordinals[i] = HoursFromMicros(micros[i]);
      continue;
    }
    const int64_t day = DaysFromMicros(micros[i]);
    if (day != last_day) {
      last_day = day;
      last = OrdinalOf(transform.kind, micros[i]);
    }
    ordinals[i] = last;
  }
  FieldSplit split;
  split.ranks = RankIntegers(ordinals);
  Densify(&split.ranks);
  split.values.resize(split.ranks.count);
  for (size_t i = 0; i < ordinals.size(); ++i) {
    if (!std::in_range<int32_t>(ordinals[i])) {
      return InvalidArgument("{} is too far from 1970 to be partitioned by hour",
                             FormatTimestamp(micros[i]));
    }
    split.values[split.ranks.of_row[i]] = static_cast<int32_t>(ordinals[i]);
  }
  return split;
}

// Any transform: applied once to each distinct source value.
Result<FieldSplit> SplitByValue(const iceberg::Transform& transform, const iceberg::Type& source,
                                std::shared_ptr<arrow::Array> array) {
  if (array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  if (array->type_id() != arrow::Type::DICTIONARY) {
    TL_ASSIGN_OR_RAISE(arrow::Datum encoded, arrow::compute::DictionaryEncode(array));
    array = encoded.make_array();
  }
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
  const auto& distinct = *dictionary.dictionary();
  const auto& indices = static_cast<const arrow::Int32Array&>(*dictionary.indices());
  const uint32_t null_number = static_cast<uint32_t>(distinct.length());
  std::vector<uint32_t> number_of(static_cast<size_t>(indices.length()));
  std::vector<char> used(distinct.length() + 1, 0);
  for (int64_t i = 0; i < indices.length(); ++i) {
    number_of[i] = indices.IsNull(i) ? null_number : static_cast<uint32_t>(indices.Value(i));
    used[number_of[i]] = 1;
  }
  // Numbers of values that no row has are left out; they must not become partitions.
  std::vector<uint32_t> renumbered(used.size(), 0);
  std::vector<Value> values;
  for (uint32_t number = 0; number < used.size(); ++number) {
    if (!used[number]) continue;
    renumbered[number] = static_cast<uint32_t>(values.size());
    const Value value = number == null_number ? Value{} : ValueAt(distinct, number);
    TL_ASSIGN_OR_RAISE(values.emplace_back(), iceberg::Apply(transform, source, value));
  }
  for (uint32_t& number : number_of) number = renumbered[number];
  return RankNumbered(std::move(number_of), values);
}

Result<FieldSplit> SplitByField(const Target& target, const Rows& rows,
                                const iceberg::PartitionField& field) {
  const auto& fields = target.schema.fields;
  const auto source = std::find_if(fields.begin(), fields.end(),
                                   [&](const auto& f) { return f.id == field.source_id; });
  const TransformKind kind = field.transform.kind;
  if (kind == TransformKind::kVoid) {
    return FieldSplit{{std::vector<uint32_t>(rows.count, 0), 1}, {Value{}}};
  }
  if (source == fields.end() || kind == TransformKind::kUnknown) {
    return Unsupported("table {}: cannot write partition field {} ({} of {})", target.table_name,
                       Quote(field.name), iceberg::TransformName(field.transform),
                       source == fields.end() ? "a nested or dropped column" : Quote(source->name));
  }
  TL_RETURN_NOT_OK(WithContext(
      iceberg::CheckTransform(field.transform, source->type),
      fmt::format("table {}, partition field {}", target.table_name, Quote(field.name))));
  const auto& column = rows.columns[source - fields.begin()];
  const bool by_time = kind == TransformKind::kYear || kind == TransformKind::kMonth ||
                       kind == TransformKind::kDay || kind == TransformKind::kHour;
  auto split = by_time && IsTimestamp(source->type) && column->null_count() == 0
                   ? SplitByTime(field.transform, *column)
                   : SplitByValue(field.transform, source->type, column);
  if (split.ok()) return split;
  return WithContext(split.status(),
                     fmt::format("table {}, column {}", target.table_name, Quote(source->name)));
}

}  // namespace

Result<Partitions> SplitRows(const Target& target, const Rows& rows) {
  Partitions partitions;
  partitions.ranks.of_row.assign(rows.count, 0);
  std::vector<FieldSplit> fields;
  for (const iceberg::PartitionField& field : target.spec.fields) {
    TL_ASSIGN_OR_RAISE(fields.emplace_back(), SplitByField(target, rows, field));
    partitions.ranks = CombineRanks(std::move(partitions.ranks), fields.back().ranks);
  }
  if (partitions.ranks.count == 1) {
    auto& values = partitions.values.emplace_back();
    for (const FieldSplit& field : fields) values.push_back(field.values.front());
    return partitions;
  }
  Densify(&partitions.ranks);
  partitions.values.resize(partitions.ranks.count);
  for (int64_t row = 0; row < rows.count; ++row) {
    auto& values = partitions.values[partitions.ranks.of_row[row]];
    if (!values.empty()) continue;
    for (const FieldSplit& field : fields) {
      values.push_back(field.values[field.ranks.of_row[row]]);
    }
  }
  return partitions;
}

}  // namespace timelake::write
