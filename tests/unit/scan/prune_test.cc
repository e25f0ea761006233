#include <gtest/gtest.h>

#include "scan/prune.h"
#include "scan/scan.h"
#include "unit/scan/sample_rows.h"

namespace timelake::scan {
namespace {

using iceberg::DataFile;
using iceberg::PartitionSpec;
using iceberg::Value;

const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<Row> RandomRows(Generator& g, const iceberg::Schema& schema, size_t count) {
  std::vector<Row> rows(count);
  for (Row& row : rows) {
    for (const auto& field : schema.fields) row.push_back(RandomValue(g, field.type));
  }
  // Some columns of one value, or of no value.
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (!OneIn(g, 3)) continue;
    const Value value = OneIn(g, 3) ? Value() : rows[0][i];
    for (Row& row : rows) row[i] = value;
  }
  return rows;
}

std::vector<PartitionSpec> Specs() {
  return {NewSpec(0, {}),
          NewSpec(1, {{10, "day"}}),
          NewSpec(2, {{10, "hour"}, {11, "identity"}}),
          NewSpec(3, {{9, "month"}, {2, "bucket[7]"}}),
          NewSpec(4, {{7, "year"}, {11, "bucket[4]"}}),
          NewSpec(5, {{2, "truncate[10]"}, {6, "truncate[50]"}}),
          NewSpec(6, {{11, "truncate[2]"}, {14, "truncate[1]"}}),
          NewSpec(7, {{3, "truncate[16]"}, {5, "identity"}}),
          NewSpec(8, {{4, "identity"}, {1, "identity"}}),
          NewSpec(9, {{12, "bucket[3]"}, {13, "identity"}, {8, "identity"}}),
          NewSpec(10, {{10, "void"}, {11, "void"}}),
          NewSpec(11, {{7, "day"}, {10, "year"}, {10, "bucket[2]"}}),
          NewSpec(12, {{6, "bucket[5]"}, {3, "bucket[3]"}, {7, "month"}})};
}

// The rows that share the first one's partition.
std::vector<Row> OnePartition(const PartitionSpec& spec, const iceberg::Schema& schema,
                              const std::vector<Row>& rows) {
  std::vector<Row> own;
  const auto partition = PartitionOf(spec, schema, rows[0]);
  for (const Row& row : rows) {
    const auto other = PartitionOf(spec, schema, row);
    bool same = true;
    for (size_t i = 0; i < partition.size(); ++i) {
      same = same && iceberg::Compare(partition[i], other[i]) == 0;
    }
    if (same) own.push_back(row);
  }
  return own;
}

TEST(Prune, NeverSkipsAFileWithARowThatPasses) {
  const iceberg::Schema schema = AllTypesSchema();
  const auto specs = Specs();
  Generator g(20260103);
  int64_t skipped = 0, tried = 0;
  for (int round = 0; round < 6000; ++round) {
    const PartitionSpec& spec = specs[Below(g, specs.size())];
    const auto rows = OnePartition(spec, schema, RandomRows(g, schema, 1 + Below(g, 12)));
    DataFile file = Describe(schema, rows);
    file.partition = PartitionOf(spec, schema, rows[0]);
    if (OneIn(g, 2)) Forget(g, &file);
    for (int i = 0; i < 20; ++i) {
      Predicate predicate;
      for (size_t n = 1 + Below(g, 2); n > 0; --n) {
        predicate.all_of.push_back(RandomTest(g, schema, rows));
      }
      const bool passes = std::any_of(
          rows.begin(), rows.end(), [&](const Row& row) { return Passes(predicate, schema, row); });
      ++tried;
      if (!CanSkipFile(file, spec, schema, predicate)) continue;
      ++skipped;
      const ColumnTest& test = predicate.all_of[0];
      ASSERT_FALSE(passes) << "round " << round << " spec " << spec.spec_id << " field "
                           << test.field_id << " op " << static_cast<int>(test.op);
    }
  }
  EXPECT_GT(skipped, tried / 4);
}

TEST(Prune, NeverSkipsAManifestWithARowThatPasses) {
  const iceberg::Schema schema = AllTypesSchema();
  const auto specs = Specs();
  Generator g(7);
  int64_t skipped = 0;
  for (int round = 0; round < 2000; ++round) {
    const PartitionSpec& spec = specs[Below(g, specs.size())];
    std::vector<Row> all;
    std::vector<iceberg::ManifestEntry> entries;
    for (size_t n = 1 + Below(g, 3); n > 0; --n) {
      const auto rows = OnePartition(spec, schema, RandomRows(g, schema, 1 + Below(g, 4)));
      iceberg::ManifestEntry entry;
      entry.file = Describe(schema, rows);
      entry.file.partition = PartitionOf(spec, schema, rows[0]);
      entries.push_back(entry);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    iceberg::ManifestHeader header{.schema = schema, .spec = spec};
    const auto manifest = iceberg::DescribeManifest(header, entries, "m", 1, 1, 1).ValueOrDie();
    for (int i = 0; i < 20; ++i) {
      Predicate predicate{{RandomTest(g, schema, all)}};
      if (!CanSkipManifest(manifest, spec, schema, predicate)) continue;
      ++skipped;
      for (const Row& row : all) {
        ASSERT_FALSE(Passes(predicate, schema, row))
            << "round " << round << " spec " << spec.spec_id << " field "
            << predicate.all_of[0].field_id << " op " << static_cast<int>(predicate.all_of[0].op);
      }
    }
  }
  EXPECT_GT(skipped, 1000);
}

// One column, one test.
bool Skips(const char* type, const std::vector<Value>& values, Op op, std::vector<Value> operands,
           const char* transform = "void") {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "x", type)};
  std::vector<Row> rows;
  for (const Value& value : values) rows.push_back({value});
  const PartitionSpec spec = NewSpec(1, {{1, transform}});
  DataFile file = Describe(schema, rows);
  file.partition = PartitionOf(spec, schema, rows[0]);
  return CanSkipFile(file, spec, schema, {{ColumnTest{1, op, std::move(operands)}}});
}

// duckdb/duckdb 25521, ClickHouse/ClickHouse 118112: a NaN is above every bound.
TEST(Prune, NaNIsAboveTheBounds) {
  const std::vector<Value> values = {1.0, kNaN, Value()};
  EXPECT_FALSE(Skips("double", values, Op::kGt, {5.0}));
  EXPECT_FALSE(Skips("double", values, Op::kGe, {5.0}));
  EXPECT_FALSE(Skips("double", values, Op::kNotEq, {1.0}));
  EXPECT_FALSE(Skips("double", values, Op::kEq, {kNaN}));
  EXPECT_TRUE(Skips("double", values, Op::kEq, {5.0}));
  EXPECT_TRUE(Skips("double", values, Op::kLt, {1.0}));
  EXPECT_FALSE(Skips("double", values, Op::kLt, {kNaN}));
  EXPECT_TRUE(Skips("double", {1.0, Value()}, Op::kGt, {5.0}));
  EXPECT_TRUE(Skips("double", {1.0, 2.0}, Op::kEq, {kNaN}));
  EXPECT_TRUE(Skips("double", {kNaN}, Op::kLt, {kNaN}));
  EXPECT_FALSE(Skips("double", {kNaN}, Op::kNotNull, {}));
}

TEST(Prune, AnUnknownNaNCountMayBeNaN) {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "x", "float")};
  DataFile file = Describe(schema, {{1.0f}, {2.0f}});
  file.nan_value_counts.clear();
  const PartitionSpec spec;
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kGt, {5.0f}}}}));
  EXPECT_TRUE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {5.0f}}}}));
}

TEST(Prune, ZerosAreEqual) {
  const std::vector<Value> values = {-0.0, 0.0};
  for (double zero : {0.0, -0.0}) {
    EXPECT_FALSE(Skips("double", values, Op::kEq, {zero}));
    EXPECT_FALSE(Skips("double", values, Op::kGe, {zero}));
    EXPECT_TRUE(Skips("double", values, Op::kLt, {zero}));
    EXPECT_TRUE(Skips("double", values, Op::kNotEq, {zero}));
  }
}

TEST(Prune, NullTestsGoByCounts) {
  EXPECT_TRUE(Skips("int", {1, 2}, Op::kIsNull, {}));
  EXPECT_FALSE(Skips("int", {1, Value()}, Op::kIsNull, {}));
  EXPECT_TRUE(Skips("int", {Value(), Value()}, Op::kNotNull, {}));
  EXPECT_TRUE(Skips("int", {Value()}, Op::kGt, {0}));
  EXPECT_TRUE(Skips("int", {1}, Op::kEq, {Value()}));
  EXPECT_TRUE(Skips("int", {1}, Op::kIn, {}));
}

// Public case O01: the transforms round down, also before 1970.
TEST(Prune, InstantsBefore1970AreFoundInTheirPartition) {
  for (const char* transform : {"year", "month", "day", "hour"}) {
    for (int64_t instant : {int64_t{-1}, int64_t{0}, int64_t{-86400000000}, int64_t{-86400000001},
                            int64_t{-2678401000000}, int64_t{1709251199000000}}) {
      EXPECT_FALSE(Skips("timestamptz", {instant}, Op::kEq, {instant}, transform));
      EXPECT_FALSE(Skips("timestamptz", {instant}, Op::kLe, {instant}, transform));
      EXPECT_FALSE(Skips("timestamptz", {instant}, Op::kGe, {instant}, transform));
    }
  }
}

DataFile OnlyPartition(std::vector<Value> partition) {
  DataFile file;
  file.record_count = 10;
  file.partition = std::move(partition);
  return file;
}

TEST(Prune, ADayPartitionAloneDecides) {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "t", "timestamptz")};
  const PartitionSpec spec = NewSpec(1, {{1, "day"}});
  const DataFile file = OnlyPartition({20456});  // 2026-01-03
  const int64_t midnight = int64_t{20456} * 86400000000, next = midnight + 86400000000;
  auto skips = [&](Op op, int64_t value) {
    return CanSkipFile(file, spec, schema, {{{1, op, {value}}}});
  };
  EXPECT_TRUE(skips(Op::kLt, midnight));
  EXPECT_FALSE(skips(Op::kLe, midnight));
  EXPECT_FALSE(skips(Op::kLt, next));
  EXPECT_TRUE(skips(Op::kGe, next));
  EXPECT_TRUE(skips(Op::kGt, next - 1));
  EXPECT_FALSE(skips(Op::kGe, next - 1));
  EXPECT_TRUE(skips(Op::kEq, next));
  EXPECT_FALSE(skips(Op::kNotEq, midnight));
  EXPECT_TRUE(CanSkipFile(file, spec, schema, {{{1, Op::kIsNull, {}}}}));
  EXPECT_TRUE(CanSkipFile(OnlyPartition({Value()}), spec, schema, {{{1, Op::kNotNull, {}}}}));
}

// apache/iceberg 1680: writers that divided towards zero put -1 us into day 0.
TEST(Prune, PartitionsOfWritersThatTruncatedBefore1970) {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "t", "timestamptz")};
  const PartitionSpec spec = NewSpec(1, {{1, "day"}});
  const DataFile file = OnlyPartition({0});
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {int64_t{-1}}}}}));
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kLt, {int64_t{0}}}}}));
  EXPECT_TRUE(CanSkipFile(file, spec, schema, {{{1, Op::kLt, {int64_t{-86400000000}}}}}));
}

TEST(Prune, TheLowestIntegersWrapWhenTruncated) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  iceberg::Schema schema;
  schema.fields = {NewField(1, "n", "int")};
  const PartitionSpec spec = NewSpec(1, {{1, "truncate[10]"}});
  const DataFile file = OnlyPartition(PartitionOf(spec, schema, {kMin}));
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {kMin}}}}));
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kLt, {0}}}}));
  EXPECT_FALSE(CanSkipFile(OnlyPartition({0}), spec, schema, {{{1, Op::kGe, {kMin}}}}));
  // The column became a long after the file was written.
  schema.fields[0].type.id = iceberg::TypeId::kLong;
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {int64_t{kMin}}}}}));
}

TEST(Prune, BucketsServeEqualityOnly) {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "s", "string")};
  const PartitionSpec spec = NewSpec(1, {{1, "bucket[16]"}});
  int skipped = 0;
  for (int32_t bucket = 0; bucket < 16; ++bucket) {
    const DataFile file = OnlyPartition({bucket});
    skipped += CanSkipFile(file, spec, schema, {{{1, Op::kEq, {std::string("host_1")}}}});
    EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kLt, {std::string("host_1")}}}}));
    EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kNotEq, {std::string("host_1")}}}}));
  }
  EXPECT_EQ(skipped, 15);
}

// Public case O12: bounds of the narrow type that the column once had.
TEST(Prune, BoundsWrittenBeforeAPromotion) {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "v", "long")};
  DataFile file;
  file.record_count = 1;
  file.lower_bounds[1] = file.upper_bounds[1] = std::string("\x4f\0\0\0", 4);
  const PartitionSpec spec;
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {int64_t{79}}}}}));
  EXPECT_TRUE(CanSkipFile(file, spec, schema, {{{1, Op::kGt, {int64_t{100}}}}}));
}

// duckdb/duckdb-iceberg 1136: an upper bound that is a plain prefix, cut at 16 bytes.
TEST(Prune, UpperBoundsThatAreOnlyPrefixes) {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "s", "string")};
  DataFile file;
  file.record_count = 2;
  file.lower_bounds[1] = file.upper_bounds[1] = std::string(16, 'A');
  const PartitionSpec spec;
  const Value longer = std::string(16, 'A') + "zz";
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {longer}}}}));
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kNotEq, {std::string(16, 'A')}}}}));
  EXPECT_TRUE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {std::string("B")}}}}));
}

TEST(Prune, WhatCannotBeReadSaysNothing) {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "n", "int"), NewField(2, "s", "string")};
  DataFile file;
  file.record_count = 1;
  file.lower_bounds[1] = "xyz";
  file.upper_bounds[1] = std::string("\x01\0\0\0", 4);
  file.lower_bounds[2] = "b";
  file.upper_bounds[2] = "a";  // contradicts the lower one
  const PartitionSpec spec = NewSpec(1, {{1, "hilbert[3]"}, {1, "identity"}, {9, "day"}});
  file.partition = {Value(5), std::string("no integer"), 7};
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kLt, {0}}}}));
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {1}}}}));
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{2, Op::kEq, {std::string("z")}}}}));
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{9, Op::kEq, {1}}}}));  // a dropped column
  EXPECT_FALSE(CanSkipFile(file, spec, schema, {{{1, Op::kEq, {}}}}));
}

}  // namespace
}  // namespace timelake::scan
