#include "scan/run_edges.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace timelake::scan {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

TimeBucket BucketOf100(int64_t time) {
  const int64_t start = time - time % 100;
  return {start, start, start + 99};
}

// Rows of one file, by series and time; the series' text in a dictionary that may hold it twice, or
// in none.
Batch FileOf(std::mt19937* random, int64_t first_time, bool in_dictionary) {
  arrow::StringBuilder plain, values;
  arrow::Int32Builder codes;
  arrow::TimestampBuilder time(arrow::timestamp(arrow::TimeUnit::MICRO),
                               arrow::default_memory_pool());
  arrow::DoubleBuilder v;
  arrow::Int64Builder n;
  int64_t rows = 0;
  for (int series = 0; series < 12; ++series) {
    const std::string name = "s" + std::to_string(series);
    const bool is_null = series == 0;
    EXPECT_TRUE(values.Append(name).ok() && values.Append(name).ok());
    int64_t now = first_time;
    for (int i = static_cast<int>((*random)() % 60); i > 0; --i, ++rows) {
      const auto code = static_cast<int32_t>(2 * series + (*random)() % 2);
      EXPECT_TRUE((is_null ? plain.AppendNull() : plain.Append(name)).ok());
      EXPECT_TRUE((is_null ? codes.AppendNull() : codes.Append(code)).ok());
      EXPECT_TRUE(time.Append(now).ok());
      const auto number = static_cast<int64_t>((*random)() % 1000);
      EXPECT_TRUE(
          ((*random)() % 5 == 0 ? v.AppendNull() : v.Append(static_cast<double>(number))).ok());
      EXPECT_TRUE(((*random)() % 5 == 0 ? n.AppendNull() : n.Append(number << 30)).ok());
      now += static_cast<int64_t>((*random)() % 40);
    }
  }
  std::shared_ptr<arrow::Array> host = *plain.Finish();
  if (in_dictionary) {
    host = *arrow::DictionaryArray::FromArrays(*codes.Finish(), *values.Finish());
  }
  const arrow::ArrayVector columns = {host, *time.Finish(), *v.Finish(), *n.Finish()};
  arrow::FieldVector fields;
  for (const auto& column : columns) fields.push_back(arrow::field("c", column->type()));
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
}

// Each row as text, by the text of its keys.
std::map<std::string, std::string> Rows(const arrow::RecordBatch& batch, size_t keys) {
  std::map<std::string, std::string> rows;
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    std::string key, values;
    for (int i = 0; i < batch.num_columns(); ++i) {
      auto scalar = *batch.column(i)->GetScalar(row);
      if (scalar->type->id() == arrow::Type::DICTIONARY && scalar->is_valid) {
        scalar = *static_cast<const arrow::DictionaryScalar&>(*scalar).GetEncodedValue();
      }
      (i < static_cast<int>(keys) ? key : values) +=
          (scalar->is_valid ? scalar->ToString() : "null") + "|";
    }
    EXPECT_TRUE(rows.emplace(key, values).second) << key << " comes twice";
  }
  return rows;
}

TEST(RunEdges, EveryRunComesOnceAndWhole) {
  std::mt19937 random(11);
  const RunAggregates runs{{{0, {}}, {1, BucketOf100}},
                           {{RunOp::kRows, 0},
                            {RunOp::kCount, 2},
                            {RunOp::kSum, 2},
                            {RunOp::kMin, 2},
                            {RunOp::kMax, 3},
                            {RunOp::kSumHigh, 3},
                            {RunOp::kSumLow, 3}}};
  for (int round = 0; round < 60; ++round) {
    RunEdges edges(runs);
    std::map<std::string, std::string> expected, found;
    const auto add = [&](const Batch& batch) {
      if (!batch) return;
      for (auto& [key, values] : Rows(*batch, 2)) {
        EXPECT_TRUE(found.emplace(key, values).second) << key << " comes twice";
      }
    };
    struct Piece {
      RunEdges::Place place;
      Batch rows;
    };
    std::vector<Piece> pieces;
    for (size_t file = 0; file < 3; ++file) {
      const Batch rows = FileOf(&random, static_cast<int64_t>(file) * 100'000, file != 1);
      const auto whole = AggregateRuns(runs, *rows);
      ASSERT_TRUE(whole.ok()) << whole.status().ToString();
      expected.merge(Rows(**whole, 2));
      RunEdges::Place place{{file, 0}, 0};
      for (int64_t row = 0; row < rows->num_rows();) {
        const auto count = static_cast<int64_t>(1 + random() % (round % 2 ? 5 : 80));
        pieces.push_back({place, rows->Slice(row, count)});
        row += count;
        if (random() % 3 == 0) {
          place = {{file, row}, 0};
        } else {
          ++place.batch;
        }
      }
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    for (const Piece& piece : pieces) {
      const auto some = AggregateRuns(runs, *piece.rows);
      ASSERT_TRUE(some.ok());
      const auto inner = edges.Keep(piece.place, *some);
      ASSERT_TRUE(inner.ok()) << inner.status().ToString();
      add(*inner);
    }
    const auto joined = edges.Join();
    ASSERT_TRUE(joined.ok()) << joined.status().ToString();
    add(*joined);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(*edges.Join(), nullptr);
  }
}

}  // namespace
}  // namespace timelake::scan
