#include "scan/key_range.h"

#include "scan/prune.h"

namespace timelake::scan {

KeyRange KeyRangeOf(const iceberg::DataFile& file, const KeyColumns& columns) {
  KeyRange range;
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
    if (x.may_be_null && y.may_be_null) continue;
    // Bounds leave NaN out.
    const bool floats = type.id == iceberg::TypeId::kFloat || type.id == iceberg::TypeId::kDouble;
    if (floats && x.may_be_nan && y.may_be_nan) continue;
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
