#include "scan/prune.h"

#include <algorithm>

namespace timelake::scan {
namespace {

using iceberg::DataFile;
using iceberg::Value;

template <typename Map>
auto Find(const Map& map, int id) -> const typename Map::mapped_type* {
  auto it = map.find(id);
  return it == map.end() ? nullptr : &it->second;
}

bool IsFloat(const iceberg::Type& type) {
  return type.id == iceberg::TypeId::kFloat || type.id == iceberg::TypeId::kDouble;
}

ColumnFacts FactsOfPartition(const Value& value) {
  ColumnFacts facts;
  facts.may_be_null = iceberg::IsNull(value);
  facts.may_be_value = !facts.may_be_null;
  facts.may_be_nan = false;
  if (facts.may_be_null) return facts;
  auto f = std::get_if<float>(&value);
  auto d = std::get_if<double>(&value);
  if ((f && *f != *f) || (d && *d != *d)) {
    facts.may_be_value = false;
    facts.may_be_nan = true;
    return facts;
  }
  facts.lower = facts.upper = value;
  return facts;
}

bool SkippedByPartition(const DataFile& file, const iceberg::PartitionSpec& spec,
                        const iceberg::Field& field, const ColumnTest& test) {
  if (file.partition.size() != spec.fields.size()) return false;
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    if (spec.fields[i].source_id != field.id) continue;
    if (PartitionExcludes(test, field.type, spec.fields[i].transform,
                          FactsOfPartition(file.partition[i]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

ColumnFacts FactsOf(const DataFile& file, const iceberg::Field& field) {
  ColumnFacts facts;
  facts.SetBounds(field.type, Find(file.lower_bounds, field.id), Find(file.upper_bounds, field.id));
  const int64_t* nulls = Find(file.null_value_counts, field.id);
  const int64_t* nans = Find(file.nan_value_counts, field.id);
  const int64_t* values = Find(file.value_counts, field.id);
  // For a top-level column the two are equal; should they differ, the higher one says less.
  const int64_t total = std::max(values ? *values : 0, file.record_count);
  if (nulls) facts.may_be_null = *nulls != 0;
  if (nans) facts.may_be_nan = *nans != 0;
  const bool no_nan = !IsFloat(field.type) || nans;
  if (nulls && no_nan) {
    facts.may_be_value = *nulls + (IsFloat(field.type) ? *nans : 0) < total;
  }
  // Contradicting metrics: bounds are of values that are there.
  if (facts.lower || facts.upper) facts.may_be_value = true;
  return facts;
}

bool KnownWithoutNan(const DataFile& file, int field_id) {
  const int64_t* nans = Find(file.nan_value_counts, field_id);
  return nans && *nans == 0;
}

bool CanSkipFile(const DataFile& file, const iceberg::PartitionSpec& spec,
                 const iceberg::Schema& schema, const Predicate& predicate) {
  if (file.record_count == 0) return true;
  for (const ColumnTest& test : predicate.all_of) {
    // Counts and bounds of nested fields are not per row.
    const iceberg::Field* field = iceberg::FindFieldById(schema, test.field_id);
    if (!field || !field->type.is_primitive()) continue;
    if (SkippedByPartition(file, spec, *field, test)) return true;
    if (NoRowPasses(test, field->type, FactsOf(file, *field))) return true;
  }
  return false;
}

bool CanSkipRowGroup(const table::DataFileReader& reader, int row_group, const DataFile& file,
                     const iceberg::Schema& schema, const Predicate& predicate) {
  const int64_t rows = reader.row_group_rows(row_group);
  if (rows == 0) return true;
  for (const ColumnTest& test : predicate.all_of) {
    const iceberg::Field* field = iceberg::FindFieldById(schema, test.field_id);
    if (!field || !field->type.is_primitive()) continue;
    const auto stats = reader.row_group_stats(row_group, field->id);
    ColumnFacts facts;
    facts.SetBounds(field->type, stats.min ? &*stats.min : nullptr,
                    stats.max ? &*stats.max : nullptr);
    if (stats.null_count) {
      facts.may_be_null = *stats.null_count != 0;
      facts.may_be_value = *stats.null_count < rows;
      if (*stats.null_count >= rows) facts.may_be_nan = false;
    }
    // The footer does not count NaN, the manifest may have.
    if (KnownWithoutNan(file, field->id)) facts.may_be_nan = false;
    if (NoRowPasses(test, field->type, facts)) return true;
  }
  return false;
}

bool AllRowsOfFilePass(const iceberg::DataFile& file, const iceberg::Schema& schema,
                       const std::vector<ColumnTest>& tests) {
  return std::all_of(tests.begin(), tests.end(), [&](const ColumnTest& test) {
    const iceberg::Field* field = iceberg::FindFieldById(schema, test.field_id);
    return field != nullptr && field->type.is_primitive() &&
           AllRowsPass(test, field->type, FactsOf(file, *field));
  });
}

}  // namespace timelake::scan
