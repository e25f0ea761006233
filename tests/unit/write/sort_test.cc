#include <algorithm>
#include <map>
#include <numeric>

#include "unit/write/random_rows.h"
#include "write/align.h"
#include "write/arrow_value.h"
#include "write/sort.h"

// The sort against a reference that compares values row by row.

namespace timelake::write {
namespace {

using iceberg::Value;

// Dense columns of all rows in input order.
std::vector<std::vector<Value>> ValuesOf(const Rows& rows) {
  std::vector<std::vector<Value>> values(rows.columns.size());
  for (size_t i = 0; i < values.size(); ++i) {
    for (int64_t row = 0; row < rows.count; ++row) {
      values[i].push_back(ValueAt(*rows.columns[i], row));
    }
  }
  return values;
}

// Zeros of both signs are one series.
int CompareKey(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return x && y && *x == *y ? 0 : iceberg::Compare(a, b);
}

struct Reference {
  std::vector<uint32_t> order, newest;
  int64_t duplicates = 0;
};

Reference SortNaively(const Target& target, const Rows& rows) {
  const auto values = ValuesOf(rows);
  const auto column = [&](int id) { return static_cast<size_t>(id - 1); };
  const auto compare_series = [&](uint32_t a, uint32_t b) {
    for (int id : target.contract.key_ids) {
      if (int order = CompareKey(values[column(id)][a], values[column(id)][b])) return order;
    }
    return 0;
  };
  const auto& time = values[column(*target.contract.time_id)];
  const auto partition = [&](uint32_t row) {
    std::vector<Value> result;
    for (const auto& field : target.spec.fields) {
      result.push_back(Unwrapped(iceberg::Apply(field.transform, target.schema.fields[0].type,
                                                values[column(field.source_id)][row])));
    }
    return result;
  };
  Reference reference;
  for (uint32_t row = 0; row < rows.count; ++row) {
    bool replaced = false, newest = true;
    for (uint32_t other = 0; other < rows.count; ++other) {
      if (other == row || compare_series(row, other) != 0) continue;
      const int order = iceberg::Compare(time[other], time[row]);
      if (order == 0 && other > row) replaced = true;
      if (order > 0 || (order == 0 && other > row)) newest = false;
    }
    if (newest) reference.newest.push_back(row);
    if (replaced && target.contract.dedup) {
      ++reference.duplicates;
    } else {
      reference.order.push_back(row);
    }
  }
  std::stable_sort(reference.newest.begin(), reference.newest.end(),
                   [&](uint32_t a, uint32_t b) { return compare_series(a, b) < 0; });
  std::stable_sort(reference.order.begin(), reference.order.end(), [&](uint32_t a, uint32_t b) {
    const auto pa = partition(a), pb = partition(b);
    if (pa != pb)
      return std::lexicographical_compare(
          pa.begin(), pa.end(), pb.begin(), pb.end(),
          [](const Value& x, const Value& y) { return iceberg::Compare(x, y) < 0; });
    if (int order = compare_series(a, b)) return order < 0;
    return iceberg::Compare(time[a], time[b]) < 0;
  });
  return reference;
}

Rows RowsOf(const Target& target, const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> aligned;
  WriteOptions options;
  options.now_us = kNow;
  Aligner aligner = Unwrapped(Aligner::Make(target, *batches[0]->schema(), options));
  for (const auto& batch : batches) aligned.push_back(Unwrapped(aligner.Align(*batch)));
  return Unwrapped(Combine(target, aligned, 2));
}

TEST(Sort, AgreesWithTheReference) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = RandomCase(seed);
    // The columns of one batch may be dictionaries, those of the next dense: schemas then differ.
    std::vector<std::shared_ptr<arrow::RecordBatch>> aligned;
    for (const auto& batch : made.batches) {
      WriteOptions options;
      options.now_us = kNow;
      Aligner aligner = Unwrapped(Aligner::Make(made.target, *batch->schema(), options));
      aligned.push_back(Unwrapped(aligner.Align(*batch)));
    }
    const Rows rows = Unwrapped(Combine(made.target, aligned, 2));
    if (rows.count == 0) continue;
    const Reference expected = SortNaively(made.target, rows);
    const Arrangement actual = Unwrapped(ArrangeRows(made.target, rows));
    ASSERT_EQ(actual.order, expected.order);
    ASSERT_EQ(actual.newest, expected.newest);
    EXPECT_EQ(actual.duplicates, expected.duplicates);
    EXPECT_TRUE(actual.sorted);
    int64_t next = 0;
    for (const PartitionRun& run : actual.partitions) {
      EXPECT_EQ(run.begin, next);
      EXPECT_LT(run.begin, run.end);
      EXPECT_EQ(run.values.size(), made.target.spec.fields.size());
      next = run.end;
    }
    EXPECT_EQ(next, static_cast<int64_t>(actual.order.size()));
  }
}

TEST(Sort, SortedInputStaysInPlace) {
  const Target target = TargetOf({});
  const auto batch = BatchOf(
      {{"device", FromJson(arrow::utf8(), R"([null, "a", "a", "b"])")},
       {"time", FromJson(Micros(),
                         R"(["2026-01-01", "2026-01-01", "2026-01-01T01:00:00", "2026-01-01"])")}});
  const Arrangement sorted = Unwrapped(ArrangeRows(target, RowsOf(target, {batch})));
  EXPECT_TRUE(sorted.in_place);
  const auto reversed = BatchOf({{"device", FromJson(arrow::utf8(), R"(["b", "a"])")},
                                 {"time", FromJson(Micros(), R"(["2026-01-01", "2026-01-01"])")}});
  EXPECT_FALSE(Unwrapped(ArrangeRows(target, RowsOf(target, {reversed}))).in_place);
}

TEST(Sort, IngestTimeDecidesBetweenEqualTimes) {
  TargetSpec spec;
  spec.schema = "time:timestamptz!, device:string, _ingest_ts:timestamptz!";
  spec.ingest_time = "_ingest_ts";
  const Target target = TargetOf(spec);
  const auto batch =
      BatchOf({{"device", FromJson(arrow::utf8(), R"(["a", "a", "a"])")},
               {"time", FromJson(Micros(), R"(["2026-01-01", "2026-01-01", "2026-01-01"])")},
               {"_ingest_ts", FromJson(Micros(), "[5, 9, 5]")}});
  const Arrangement arrangement = Unwrapped(ArrangeRows(target, RowsOf(target, {batch})));
  EXPECT_EQ(arrangement.order, (std::vector<uint32_t>{1}));
  EXPECT_EQ(arrangement.newest, (std::vector<uint32_t>{1}));
}

// A spec that an other engine has changed: rows of one series and time in two partitions.
TEST(Sort, DropsReplacedRowsAcrossPartitions) {
  Target target = TargetOf({});
  target.spec.fields.push_back(FieldOf(target.schema, "v", "identity", 1001));
  const auto batch = BatchOf({{"device", FromJson(arrow::utf8(), R"(["a", "a"])")},
                              {"time", FromJson(Micros(), R"(["2026-01-01", "2026-01-01"])")},
                              {"v", FromJson(arrow::float64(), "[9, 1]")}});
  const Arrangement arrangement = Unwrapped(ArrangeRows(target, RowsOf(target, {batch})));
  EXPECT_EQ(arrangement.order, (std::vector<uint32_t>{1}));
  EXPECT_EQ(arrangement.duplicates, 1);
}

// --- tables of other writers ---

Target PlainTarget(const std::vector<std::pair<std::string, std::string>>& partition_by) {
  TargetSpec spec;
  spec.schema = "id:long, name:string, at:timestamp, d:decimal(9,2)";
  spec.time.clear();
  Target target = TargetOf(spec);
  for (const auto& [source, transform] : partition_by) {
    target.spec.fields.push_back(FieldOf(target.schema, source, transform,
                                         1000 + static_cast<int>(target.spec.fields.size())));
  }
  return target;
}

std::shared_ptr<arrow::RecordBatch> PlainBatch() {
  return BatchOf(
      {{"id", FromJson(arrow::int64(), "[5, null, -7, 5]")},
       {"name", FromJson(arrow::utf8(), R"(["beta", "alpha", null, "beta"])")},
       {"at", FromJson(Micros(""), R"(["1969-12-31T23:59:59", null, "2026-01-01", "1969-12-31"])")},
       {"d", FromJson(arrow::decimal128(9, 2), R"(["-1.28", "1.28", "1.28", null])")}});
}

TEST(Sort, PartitionsByForeignSpecs) {
  const Target target =
      PlainTarget({{"name", "truncate[2]"}, {"at", "month"}, {"d", "bucket[16]"}, {"id", "void"}});
  const auto batch = PlainBatch();
  const Rows rows = RowsOf(target, {batch});
  const Arrangement arrangement = Unwrapped(ArrangeRows(target, rows));
  EXPECT_FALSE(arrangement.sorted);
  ASSERT_EQ(arrangement.partitions.size(), 4u);
  const auto values = ValuesOf(rows);
  for (const PartitionRun& run : arrangement.partitions) {
    const uint32_t row = arrangement.order[run.begin];
    for (size_t i = 0; i < run.values.size(); ++i) {
      const auto& field = target.spec.fields[i];
      const auto& source = *iceberg::FindFieldById(target.schema, field.source_id);
      EXPECT_EQ(run.values[i], Unwrapped(iceberg::Apply(field.transform, source.type,
                                                        values[field.source_id - 1][row])));
    }
  }
  // CASES O11: bucket[16] of -1.28 is 13, month of 1969-12-31 is -1.
  EXPECT_EQ(arrangement.partitions.back().values[1], Value{int32_t{-1}});
}

TEST(Sort, PlainTablesFollowTheirDeclaredOrder) {
  Target target = PlainTarget({});
  target.order.order_id = 3;
  target.order.fields.resize(2);
  auto& by_name = target.order.fields[0];
  by_name.source_id = 2;
  by_name.direction = iceberg::SortDirection::kDescending;
  by_name.null_order = iceberg::NullOrder::kLast;
  target.order.fields[1].source_id = 4;
  const auto arrangement = Unwrapped(ArrangeRows(target, RowsOf(target, {PlainBatch()})));
  EXPECT_TRUE(arrangement.sorted);
  EXPECT_EQ(arrangement.order, (std::vector<uint32_t>{3, 0, 1, 2}));
  // An order by a transform is left alone: rows stay as they are, and nothing is claimed.
  by_name.transform = iceberg::ParseTransform("bucket[4]");
  const auto unsorted = Unwrapped(ArrangeRows(target, RowsOf(target, {PlainBatch()})));
  EXPECT_FALSE(unsorted.sorted);
  EXPECT_TRUE(unsorted.in_place);
}

TEST(Sort, UnknownTransformsAreRefused) {
  const Target target = PlainTarget({{"id", "zorder"}});
  const Status status = ArrangeRows(target, RowsOf(target, {PlainBatch()})).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported);
}

TEST(Rank, FarApartAndCrowdedIntegers) {
  const auto far = Unwrapped(RankColumn(
      *FromJson(arrow::int64(), "[9223372036854775807, null, -9223372036854775808, 0, null]")));
  EXPECT_EQ(far.of_row, (std::vector<uint32_t>{3, 0, 1, 2, 0}));
  const auto last = Unwrapped(RankColumn(*FromJson(arrow::int32(), "[2, null, 1]"), true, true));
  EXPECT_LT(last.of_row[0], last.of_row[2]);
  EXPECT_LT(last.of_row[2], last.of_row[1]);
}

TEST(Rank, CombinesLargeRanksWithoutATable) {
  Ranks major, minor;
  for (uint32_t i = 0; i < 1000; ++i) {
    major.of_row.push_back(i * 7919 % 1000 * 1'000'000);
    minor.of_row.push_back(i % 2 * 4'000'000'000u);
  }
  major.count = 1'000'000'000;
  minor.count = 4'000'000'001;
  const Ranks combined = CombineRanks(major, minor);
  EXPECT_EQ(combined.count, 1000u);
  for (size_t i = 1; i < 1000; ++i) {
    EXPECT_EQ(combined.of_row[i - 1] < combined.of_row[i], major.of_row[i - 1] < major.of_row[i]);
  }
}

}  // namespace
}  // namespace timelake::write
