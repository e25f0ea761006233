#include "scan/key_range.h"

#include "scan/prune.h"

namespace timelake::scan {
namespace {

bool IsFloat(const iceberg::Type& type) {
  return type.id == iceberg::TypeId::kFloat || type.id == iceberg::TypeId::kDouble;
}

bool PartitionsDiffer(const KeyRange& a, const KeyRange& b, const iceberg::Field& key) {
  for (size_t i = 0; i < a.spec->fields.size() && i < a.partition->size(); ++i) {
    const iceberg::PartitionField& x = a.spec->fields[i];
    if (x.source_id != key.id || x.transform.kind == iceberg::TransformKind::kUnknown) continue;
    for (size_t j = 0; j < b.spec->fields.size() && j < b.partition->size(); ++j) {
      const iceberg::PartitionField& y = b.spec->fields[j];
      if (y.source_id != x.source_id || !(y.transform == x.transform)) continue;
      const iceberg::Value& left = (*a.partition)[i];
      const iceberg::Value& right = (*b.partition)[j];
      if (left.index() != right.index()) return iceberg::IsNull(left) != iceberg::IsNull(right);
      return iceberg::Compare(left, right) != 0;
    }
  }
  return false;
}

}  // namespace

KeyRange KeyRangeOf(const iceberg::DataFile& file, const iceberg::PartitionSpec* spec,
                    const KeyColumns& columns) {
  KeyRange range;
  range.spec = spec;
  range.partition = &file.partition;
  const ColumnFacts times = FactsOf(file, *columns.time);
  if (times.lower) range.first = std::get<int64_t>(*times.lower);
  if (times.upper) range.last = std::get<int64_t>(*times.upper);
  for (const iceberg::Field* key : columns.keys) range.keys.push_back(FactsOf(file, *key));
  return range;
}

bool SeriesMeet(const KeyRange& a, const KeyRange& b, const KeyColumns& columns) {
  for (size_t i = 0; i < columns.keys.size(); ++i) {
    const iceberg::Type& type = columns.keys[i]->type;
    const ColumnFacts& x = a.keys[i];
    const ColumnFacts& y = b.keys[i];
    // Of floats equal ones may have partitions that differ (0 and -0).
    const bool known = a.spec != nullptr && b.spec != nullptr && !IsFloat(type);
    if (known && PartitionsDiffer(a, b, *columns.keys[i])) return false;
    if (x.may_be_null && y.may_be_null) continue;
    // Bounds leave NaN out.
    if (IsFloat(type) && x.may_be_nan && y.may_be_nan) continue;
    const auto below = [&](const ColumnFacts& low, const ColumnFacts& high) {
      if (!low.upper || !high.lower) return false;
      return NoRowPasses({columns.keys[i]->id, Op::kGe, {*high.lower}}, type, low);
    };
    if (below(x, y) || below(y, x)) return false;
  }
  return true;
}

bool RangesMeet(const KeyRange& a, const KeyRange& b, const KeyColumns& columns) {
  return a.first <= b.last && b.first <= a.last && SeriesMeet(a, b, columns);
}

}  // namespace timelake::scan
