#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "iceberg/bounds.h"
#include "iceberg/manifest.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"
#include "iceberg/value.h"
#include "scan/predicate.h"

// Random rows, files and tests for the property tests of pruning, with an evaluation of tests that
// shares no code with the pruning.

namespace timelake::scan {

using Row = std::vector<iceberg::Value>;  // one value per column
using Generator = std::mt19937_64;

inline size_t Below(Generator& g, size_t bound) { return static_cast<size_t>(g() % bound); }
inline bool OneIn(Generator& g, size_t n) { return Below(g, n) == 0; }

inline iceberg::Field NewField(int id, std::string name, std::string_view type,
                               bool required = false) {
  iceberg::Field field;
  field.id = id;
  field.name = std::move(name);
  field.required = required;
  field.type = iceberg::ParseType(type).ValueOrDie();
  return field;
}

inline iceberg::PartitionSpec NewSpec(
    int spec_id, const std::vector<std::pair<int, std::string>>& source_and_transform) {
  iceberg::PartitionSpec spec;
  spec.spec_id = spec_id;
  for (const auto& [source, transform] : source_and_transform) {
    iceberg::PartitionField field;
    field.source_id = source;
    field.field_id = 1000 + static_cast<int>(spec.fields.size());
    field.name = "p" + std::to_string(spec.fields.size());
    field.transform = iceberg::ParseTransform(transform);
    spec.fields.push_back(field);
  }
  return spec;
}

inline iceberg::Schema AllTypesSchema() {
  iceberg::Schema schema;
  int id = 0;
  for (const char* type :
       {"boolean", "int", "long", "float", "double", "decimal(9,2)", "date", "time", "timestamp",
        "timestamptz", "string", "uuid", "fixed[3]", "binary"}) {
    ++id;
    schema.fields.push_back(NewField(id, "c" + std::to_string(id), type));
  }
  return schema;
}

inline std::string RandomText(Generator& g) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "b",
                                                   "host_",
                                                   "0",
                                                   "\xC3\xA9",
                                                   "\xE2\x80\xA2",
                                                   "\xF0\x9F\x98\x80",
                                                   "\xF4\x8F\xBF\xBF",
                                                   "AAAAAAAAAAAAAAA",
                                                   " ",
                                                   "\x7F"};
  std::string text;
  for (size_t n = Below(g, 5); n > 0; --n) text += kPieces[Below(g, kPieces.size())];
  return text;
}

template <typename T>
T RandomInteger(Generator& g) {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  switch (Below(g, 8)) {
    case 0: return static_cast<T>(kMin + static_cast<T>(Below(g, 20)));
    case 1: return static_cast<T>(kMax - static_cast<T>(Below(g, 20)));
    default: return static_cast<T>(static_cast<T>(Below(g, 200)) - 100);
  }
}

inline double RandomNumber(Generator& g) {
  static const double kNumbers[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    1.5,
                                    5.0,
                                    90.0,
                                    -3e10,
                                    std::numeric_limits<double>::quiet_NaN(),
                                    -std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity()};
  return kNumbers[Below(g, std::size(kNumbers))];
}

// Around the epoch, at edges of days, months and years, on both sides of 1970.
inline int64_t RandomInstant(Generator& g) {
  static const int64_t kEdges[] = {0,
                                   86400000000,
                                   -86400000000,
                                   -2678400000000,
                                   2678400000000,
                                   31536000000000,
                                   -31536000000000,
                                   1709251200000000,
                                   3600000000,
                                   -3600000000};
  return kEdges[Below(g, std::size(kEdges))] + static_cast<int64_t>(Below(g, 5)) - 2;
}

inline iceberg::Value RandomValue(Generator& g, const iceberg::Type& type) {
  using iceberg::TypeId;
  using iceberg::Value;
  if (OneIn(g, 6)) return {};
  switch (type.id) {
    case TypeId::kBoolean: return Value(OneIn(g, 2));
    case TypeId::kInt: return Value(RandomInteger<int32_t>(g));
    case TypeId::kLong: return Value(RandomInteger<int64_t>(g));
    case TypeId::kFloat: return Value(static_cast<float>(RandomNumber(g)));
    case TypeId::kDouble: return Value(RandomNumber(g));
    case TypeId::kDecimal:
      return Value(arrow::Decimal128(static_cast<int64_t>(Below(g, 2000)) - 1000));
    case TypeId::kDate: return Value(static_cast<int32_t>(Below(g, 800)) - 400);
    case TypeId::kTime: return Value(static_cast<int64_t>(Below(g, 86400000000)));
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz: return Value(RandomInstant(g));
    case TypeId::kUuid: return Value(std::string(15, '\x01') + static_cast<char>(Below(g, 256)));
    case TypeId::kFixed: return Value(std::string(2, 'x') + static_cast<char>(Below(g, 256)));
    default: return Value(RandomText(g));
  }
}

// --- evaluation, the slow and obvious way ---

inline std::optional<double> NumberOf(const iceberg::Value& value) {
  if (auto f = std::get_if<float>(&value)) return *f;
  if (auto d = std::get_if<double>(&value)) return *d;
  return std::nullopt;
}

// SQL's order: -1, 0, 1. Both are values of one type, neither is null.
inline int SqlOrder(const iceberg::Value& a, const iceberg::Value& b) {
  if (auto x = NumberOf(a)) {
    const double y = *NumberOf(b);
    if (std::isnan(*x) || std::isnan(y)) return std::isnan(*x) - std::isnan(y);
    return (*x > y) - (*x < y);
  }
  return iceberg::Compare(a, b);
}

inline bool Passes(const ColumnTest& test, const iceberg::Value& value) {
  if (test.op == Op::kIsNull) return iceberg::IsNull(value);
  if (iceberg::IsNull(value)) return false;
  if (test.op == Op::kNotNull) return true;
  for (const iceberg::Value& other : test.values) {
    if (iceberg::IsNull(other)) continue;
    const int order = SqlOrder(value, other);
    if ((test.op == Op::kEq || test.op == Op::kIn) && order == 0) return true;
    if (test.op == Op::kNotEq && order != 0) return true;
    if (test.op == Op::kLt && order < 0) return true;
    if (test.op == Op::kLe && order <= 0) return true;
    if (test.op == Op::kGt && order > 0) return true;
    if (test.op == Op::kGe && order >= 0) return true;
  }
  return false;
}

inline bool Passes(const Predicate& predicate, const iceberg::Schema& schema, const Row& row) {
  for (const ColumnTest& test : predicate.all_of) {
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      if (schema.fields[i].id == test.field_id && !Passes(test, row[i])) return false;
    }
  }
  return true;
}

inline ColumnTest RandomTest(Generator& g, const iceberg::Schema& schema,
                             const std::vector<Row>& rows) {
  const size_t column = Below(g, schema.fields.size());
  ColumnTest test;
  test.field_id = schema.fields[column].id;
  test.op = static_cast<Op>(Below(g, 9));
  size_t count = test.op == Op::kIsNull || test.op == Op::kNotNull ? 0 : 1;
  if (test.op == Op::kIn) count = Below(g, 4);
  for (size_t i = 0; i < count; ++i) {
    const bool own = !rows.empty() && OneIn(g, 2);
    test.values.push_back(own ? rows[Below(g, rows.size())][column]
                              : RandomValue(g, schema.fields[column].type));
  }
  return test;
}

// --- a file's facts from its rows ---

inline std::vector<iceberg::Value> PartitionOf(const iceberg::PartitionSpec& spec,
                                               const iceberg::Schema& schema, const Row& row) {
  std::vector<iceberg::Value> partition;
  for (const iceberg::PartitionField& field : spec.fields) {
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      if (schema.fields[i].id != field.source_id) continue;
      partition.push_back(
          iceberg::Apply(field.transform, schema.fields[i].type, row[i]).ValueOrDie());
    }
  }
  return partition;
}

inline iceberg::DataFile Describe(const iceberg::Schema& schema, const std::vector<Row>& rows) {
  iceberg::DataFile file;
  file.record_count = static_cast<int64_t>(rows.size());
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const iceberg::Field& field = schema.fields[i];
    std::optional<iceberg::Value> low, high;
    int64_t nulls = 0, nans = 0;
    for (const Row& row : rows) {
      const iceberg::Value& value = row[i];
      auto number = NumberOf(value);
      if (iceberg::IsNull(value)) {
        ++nulls;
      } else if (number && std::isnan(*number)) {
        ++nans;
      } else {
        if (!low || iceberg::Compare(value, *low) < 0) low = value;
        if (!high || iceberg::Compare(value, *high) > 0) high = value;
      }
    }
    file.value_counts[field.id] = file.record_count;
    file.null_value_counts[field.id] = nulls;
    if (field.type.id == iceberg::TypeId::kFloat || field.type.id == iceberg::TypeId::kDouble) {
      file.nan_value_counts[field.id] = nans;
    }
    if (!low) continue;
    file.lower_bounds[field.id] = iceberg::LowerBound(field.type, *low).ValueOrDie();
    if (auto upper = iceberg::UpperBound(field.type, *high).ValueOrDie()) {
      file.upper_bounds[field.id] = *upper;
    }
  }
  return file;
}

// Metrics are optional: leaves some out.
inline void Forget(Generator& g, iceberg::DataFile* file) {
  auto thin = [&](auto* map) {
    for (auto it = map->begin(); it != map->end();) it = OneIn(g, 4) ? map->erase(it) : ++it;
  };
  thin(&file->value_counts);
  thin(&file->null_value_counts);
  thin(&file->nan_value_counts);
  thin(&file->lower_bounds);
  thin(&file->upper_bounds);
}

}  // namespace timelake::scan
