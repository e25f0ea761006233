#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "unit/write/write_testing.h"

// Random tables and batches: keys of all types with nulls, several key columns, equal times, times
// before 1970, dictionaries and dense strings in turn.

namespace timelake::write {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(SeededRandom(seed)) {}

  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_->Below(bound)); }
  bool Chance(int percent) { return Below(100) < percent; }

  // Rows of `count` values of a type, some null, few of them distinct.
  std::shared_ptr<arrow::Array> Column(const iceberg::Type& type, int64_t count, bool nulls) {
    const int64_t distinct = 1 + Below(12);
    std::string json = "[";
    for (int64_t i = 0; i < count; ++i) {
      json += i == 0 ? "" : ",";
      json += nulls && Chance(15) ? "null" : ValueJson(type, Below(distinct) - distinct / 2);
    }
    auto arrow_type = iceberg::ToArrow(type);
    const bool dictionary = type.id == iceberg::TypeId::kString && Chance(50);
    if (dictionary) arrow_type = arrow::dictionary(arrow::int8(), arrow::utf8());
    if (type.id == iceberg::TypeId::kUuid) arrow_type = arrow::fixed_size_binary(16);
    return FromJson(arrow_type, json + "]");
  }

 private:
  static std::string ValueJson(const iceberg::Type& type, int64_t n) {
    using iceberg::TypeId;
    switch (type.id) {
      case TypeId::kBoolean: return n % 2 ? "true" : "false";
      case TypeId::kFloat:
      case TypeId::kDouble: return n == 1 ? "-0.0" : fmt::format("{}.5", n == 2 ? 0 : n);
      case TypeId::kDecimal: return fmt::format("\"{}.{:0{}}\"", n, 5, type.scale);
      case TypeId::kString: return fmt::format("\"{}\u00e9{}\"", n % 3, n);
      case TypeId::kUuid: return fmt::format("\"uuid of {:8}\"", n);
      case TypeId::kFixed: return fmt::format("\"{:4}\"", n);
      case TypeId::kBinary: return fmt::format("\"b{}\"", n);
      case TypeId::kLong: return fmt::format("{}", n * (int64_t{1} << 40));
      case TypeId::kTime: return fmt::format("{}", n + 100);
      default: return fmt::format("{}", n);
    }
  }

  std::shared_ptr<Random> random_;
};

// A table and batches for it.
struct Case {
  Target target;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
};

inline const char* const kKeyTypes[] = {"string", "int",          "long",     "boolean",
                                        "date",   "uuid",         "binary",   "time",
                                        "double", "decimal(9,2)", "fixed[4]", "string"};

inline Case RandomCase(uint64_t seed, int64_t most_rows = 60) {
  Generator generator(seed);
  TargetSpec spec;
  spec.schema = "time:timestamptz!";
  spec.key.clear();
  for (int64_t i = generator.Below(4); i > 0; --i) {
    spec.key.push_back(fmt::format("k{}", i));
    spec.schema += fmt::format(", k{}:{}", i, kKeyTypes[generator.Below(std::size(kKeyTypes))]);
  }
  spec.schema += ", v:long, s:string";
  spec.dedup = generator.Chance(50);
  spec.chunk = std::vector<std::string>{"hour", "day", "month", "year", ""}[generator.Below(5)];
  Case made{TargetOf(spec), {}};
  const int64_t step =
      std::vector<int64_t>{1, kMicrosPerHour, 20 * kMicrosPerDay}[generator.Below(3)];
  int64_t counter = 0;
  for (int64_t batch = 1 + generator.Below(4); batch > 0; --batch) {
    const int64_t rows = generator.Below(most_rows);
    std::vector<Column> columns;
    for (const iceberg::Field& field : made.target.schema.fields) {
      if (field.name == "time" || field.name == "v") continue;
      columns.push_back({field.name, generator.Column(field.type, rows, true)});
    }
    std::string times = "[", numbers = "[";
    const bool ascending = generator.Chance(30);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t tick = ascending ? i / 3 : generator.Below(20) - 10;
      times += fmt::format("{}{}", i ? "," : "", tick * step);
      numbers += fmt::format("{}{}", i ? "," : "", counter++);
    }
    columns.push_back({"v", FromJson(arrow::int64(), numbers + "]")});
    columns.push_back({"time", FromJson(Micros(), times + "]")});
    made.batches.push_back(BatchOf(columns));
  }
  return made;
}

}  // namespace timelake::write
