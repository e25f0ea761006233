#include "index/last_value_index.h"

#include <map>

#include <gmock/gmock.h>

#include "index/key_order.h"
#include "table/data_file_reader.h"
#include "unit/write/random_rows.h"
#include "write/arrow_value.h"

namespace timelake::index {
namespace {

using write::BatchOf;
using write::FromJson;
using write::Micros;
using write::Target;
using write::TargetOf;
using write::TargetSpec;
using write::TestEnv;
using write::Unwrapped;
using Batch = std::shared_ptr<arrow::RecordBatch>;

// A row in the table's schema as text, and what decides which one is newest.
struct Row {
  int64_t time = 0;
  int64_t ingest = 0;
  std::string text;
};

using ByKey = std::map<std::vector<iceberg::Value>, Row, decltype([](const auto& a, const auto& b) {
                         return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                                             [](const auto& x, const auto& y) {
                                                               return iceberg::Compare(x, y) < 0;
                                                             });
                       })>;

std::string TextOf(const iceberg::Schema& schema, const arrow::RecordBatch& batch, int64_t row) {
  std::string text;
  for (int i = 0; i < batch.num_columns(); ++i) {
    text += iceberg::ToText(schema.fields[i].type, write::ValueAt(*batch.column(i), row)) + "|";
  }
  return text;
}

void AddNaively(const Target& target, const arrow::RecordBatch& batch, ByKey* newest) {
  const auto value = [&](int id, int64_t row) {
    iceberg::Value found = write::ValueAt(*batch.column(ColumnOf(target.schema, id)), row);
    if (auto* real = std::get_if<double>(&found); real && *real == 0) *real = 0.0;  // one series
    return found;
  };
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    std::vector<iceberg::Value> key;
    for (int id : target.contract.key_ids) key.push_back(value(id, row));
    Row found{std::get<int64_t>(value(*target.contract.time_id, row)), 0,
              TextOf(target.schema, batch, row)};
    if (target.contract.ingest_time_id) {
      found.ingest = std::get<int64_t>(value(*target.contract.ingest_time_id, row));
    }
    auto [at, added] = newest->emplace(key, found);
    if (!added &&
        std::tie(at->second.time, at->second.ingest) <= std::tie(found.time, found.ingest)) {
      at->second = found;
    }
  }
}

std::vector<std::string> Texts(const ByKey& newest) {
  std::vector<std::string> texts;
  for (const auto& [key, row] : newest) texts.push_back(row.text);
  return texts;
}

std::vector<std::string> Texts(const iceberg::Schema& schema, const Batch& batch) {
  std::vector<std::string> texts;
  for (int64_t row = 0; row < batch->num_rows(); ++row)
    texts.push_back(TextOf(schema, *batch, row));
  return texts;
}

Result<Batch> NewestOf(const Target& target, const std::vector<Batch>& batches) {
  TL_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make(batches, batches[0]->schema()));
  return NewestRows(reader, target.schema, target.contract);
}

TEST(LastValueIndex, MergeAndNewestRowsAgreeWithTheReference) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    const write::Case made = write::RandomCase(seed);
    const Target& target = made.target;
    const table::Env env = TestEnv();
    ByKey reference;
    Batch index = Unwrapped(arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(target.schema)));
    for (const Batch& batch : made.batches) {
      // Two ways to the newest rows of a batch: the writer's, and from the rows as a scan has them.
      const auto written = Unwrapped(write::WriteBatches(env, target, {batch}));
      std::vector<Batch> rows;
      for (const auto& file : written.files) {
        table::DataFileRequest request;
        request.uri = file.file_path;
        request.fields = target.schema.fields;
        const auto opened = Unwrapped(table::OpenDataFile(env, request));
        const auto reader = Unwrapped(opened->Read({0}));
        for (Batch& read : Unwrapped(reader->ToRecordBatches())) rows.push_back(std::move(read));
      }
      if (!rows.empty()) {
        EXPECT_EQ(Texts(target.schema, Unwrapped(NewestOf(target, rows))),
                  Texts(target.schema, written.newest));
      }
      index = Unwrapped(Merge(index, written.newest, target.schema, target.contract));
      ASSERT_TRUE(index->ValidateFull().ok());
      for (const Batch& read : rows) AddNaively(target, *read, &reference);
      ASSERT_EQ(Texts(target.schema, index), Texts(reference));
    }
  }
}

TEST(LastValueIndex, LateRowsNeverMoveASeriesBack) {
  const Target target = TargetOf({});
  const auto rows = [&](const std::string& device, const std::string& time, double v) {
    return Unwrapped(write::WriteBatches(
                         TestEnv(), target,
                         {BatchOf({{"device", FromJson(arrow::utf8(), "[\"" + device + "\"]")},
                                   {"time", FromJson(Micros(), "[\"" + time + "\"]")},
                                   {"v", FromJson(arrow::float64(), fmt::format("[{}]", v))}})}))
        .newest;
  };
  const auto merge = [&](const Batch& older, const Batch& newer) {
    return Unwrapped(Merge(older, newer, target.schema, target.contract));
  };
  const Batch base = rows("m", "2026-01-02", 1);
  EXPECT_TRUE(merge(base, rows("m", "2026-01-01", 2))->Equals(*base));
  const Batch equal = rows("m", "2026-01-02", 3);
  EXPECT_TRUE(merge(base, equal)->Equals(*equal));
  const Batch two = merge(base, rows("a", "1969-01-01", 4));
  ASSERT_EQ(two->num_rows(), 2);
  EXPECT_TRUE(two->Slice(1)->Equals(*base));
}

TEST(LastValueIndex, IngestTimeDecidesBetweenEqualTimes) {
  TargetSpec spec;
  spec.schema = "time:timestamptz!, device:string, _ingest_ts:timestamptz!";
  spec.ingest_time = "_ingest_ts";
  const Target target = TargetOf(spec);
  const auto row = [&](int ingest) {
    return arrow::RecordBatch::Make(iceberg::ToArrow(target.schema), 1,
                                    {FromJson(Micros(), "[7]"), FromJson(arrow::utf8(), "[\"a\"]"),
                                     FromJson(Micros(), fmt::format("[{}]", ingest))});
  };
  EXPECT_TRUE(Unwrapped(Merge(row(9), row(5), target.schema, target.contract))->Equals(*row(9)));
  EXPECT_TRUE(Unwrapped(Merge(row(5), row(9), target.schema, target.contract))->Equals(*row(9)));
  EXPECT_TRUE(Unwrapped(NewestOf(target, {row(9), row(5)}))->Equals(*row(9)));
}

TEST(LastValueIndex, ManyAlternatingSeries) {
  TargetSpec spec;
  spec.schema = "time:timestamptz!, id:long";
  spec.key = {"id"};
  const Target target = TargetOf(spec);
  const auto series = [&](int64_t first, int64_t step, int64_t count, int64_t time) {
    arrow::Int64Builder ids;
    arrow::TimestampBuilder times(Micros(), arrow::default_memory_pool());
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(ids.Append(first + i * step).ok());
      EXPECT_TRUE(times.Append(time).ok());
    }
    return arrow::RecordBatch::Make(iceberg::ToArrow(target.schema), count,
                                    {Unwrapped(times.Finish()), Unwrapped(ids.Finish())});
  };
  const Batch older = series(0, 2, 10000, 5), newer = series(0, 3, 10000, 6);
  const Batch merged = Unwrapped(Merge(older, newer, target.schema, target.contract));
  ByKey reference;
  AddNaively(target, *older, &reference);
  AddNaively(target, *newer, &reference);
  EXPECT_EQ(Texts(target.schema, merged), Texts(reference));
}

TEST(LastValueIndex, FileIsReadBackByFieldId) {
  for (uint64_t seed = 500; seed < 530; ++seed) {
    SCOPED_TRACE(seed);
    const write::Case made = write::RandomCase(seed);
    table::Env env = TestEnv();
    const auto newest = Unwrapped(write::WriteBatches(env, made.target, {made.batches[0]})).newest;
    const auto bytes = Unwrapped(Encode(newest, made.target.schema));
    ASSERT_TRUE(env.store->Put("wh/ns/t/metadata/lvi-1-x.parquet", bytes).ok());
    const std::string uri = "memory://wh/ns/t/metadata/lvi-1-x.parquet";
    const Batch read = Unwrapped(Read(env, uri, made.target.schema));
    EXPECT_TRUE(read->Equals(*newest, /*check_metadata=*/true)) << read->ToString();
    EXPECT_EQ(Read(env, uri, made.target.schema)->get(), read.get());  // cached
    // A renamed and an added column: the cached rows have the old schema and do not count.
    iceberg::Schema evolved = made.target.schema;
    evolved.fields.back().name = "renamed";
    iceberg::Field added;
    added.id = 99;
    added.name = "added";
    evolved.fields.push_back(added);
    const Batch again = Unwrapped(Read(env, uri, evolved));
    EXPECT_EQ(again->num_columns(), newest->num_columns() + 1);
    EXPECT_TRUE(again->column(newest->num_columns() - 1)
                    ->Equals(*newest->column(newest->num_columns() - 1)));
    EXPECT_EQ(again->GetColumnByName("added")->null_count(), newest->num_rows());
  }
}

TEST(LastValueIndex, RememberedRowsAreNotReadAgain) {
  const table::Env env = TestEnv();
  const Target target = TargetOf({});
  const Batch empty = Unwrapped(arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(target.schema)));
  EXPECT_EQ(KindOf(Read(env, "memory://wh/none", target.schema).status()), ErrorKind::kNotFound);
  Remember(env, "memory://wh/none", target.schema, empty);
  EXPECT_EQ(Unwrapped(Read(env, "memory://wh/none", target.schema)).get(), empty.get());
}

}  // namespace
}  // namespace timelake::index
