#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include "base/civil_time.h"
#include "iceberg/arrow_schema.h"
#include "store/memory_store.h"
#include "table/meta_cache.h"
#include "write/write.h"

// What the writer's tests share: a table in memory, batches from JSON, files read back by Arrow.

namespace timelake::write {

template <typename T>
T Unwrapped(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().ToString();
    std::abort();
  }
  return std::move(result).ValueUnsafe();
}

inline table::Env TestEnv() {
  table::Env env;
  env.store = store::MakeMemoryStore(SystemClock());
  env.clock = SystemClock();
  env.random = SeededRandom(7);
  env.cache = std::make_shared<table::MetaCache>();
  env.rules = std::make_shared<table::Rules>();
  return env;
}

inline constexpr int64_t kNow = 1'767'398'400'000'000;  // 2026-01-03T00:00:00Z

struct TargetSpec {
  std::string schema = "time:timestamptz!, device:string, v:double";
  std::vector<std::string> key = {"device"};
  std::string time = "time";  // empty: a plain table
  std::string chunk = "day";  // a transform's name; empty: not partitioned
  bool dedup = true;
  std::string ingest_time;
};

inline iceberg::PartitionField FieldOf(const iceberg::Schema& schema, const std::string& source,
                                       const std::string& transform, int id) {
  iceberg::PartitionField field;
  field.source_id = iceberg::FindField(schema, source)->id;
  field.field_id = id;
  field.name = source + "_" + transform.substr(0, transform.find('['));
  field.transform = iceberg::ParseTransform(transform);
  return field;
}

inline Target TargetOf(const TargetSpec& spec) {
  Target target;
  target.table_name = "ns.t";
  target.location_uri = "memory://wh/ns/t";
  target.schema = Unwrapped(iceberg::ParseSchemaText(spec.schema));
  target.settings = Unwrapped(table::ResolveSettings({}));
  if (spec.time.empty()) return target;
  auto& contract = target.contract;
  contract.time_id = iceberg::FindField(target.schema, spec.time)->id;
  contract.time_name = spec.time;
  contract.dedup = spec.dedup;
  target.order.order_id = 1;
  for (const std::string& name : spec.key) {
    contract.key_ids.push_back(iceberg::FindField(target.schema, name)->id);
    contract.key_names.push_back(name);
    target.order.fields.emplace_back().source_id = contract.key_ids.back();
  }
  target.order.fields.emplace_back().source_id = *contract.time_id;
  if (!spec.chunk.empty()) {
    target.spec.fields.push_back(FieldOf(target.schema, spec.time, spec.chunk, 1000));
  }
  if (!spec.ingest_time.empty()) {
    contract.ingest_time_id = iceberg::FindField(target.schema, spec.ingest_time)->id;
    contract.ingest_time_name = spec.ingest_time;
  }
  return target;
}

inline std::shared_ptr<arrow::Array> FromJson(const std::shared_ptr<arrow::DataType>& type,
                                              const std::string& json) {
  return Unwrapped(arrow::json::ArrayFromJSONString(type, json));
}

struct Column {
  std::string name;
  std::shared_ptr<arrow::Array> array;
};

inline std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<Column>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const Column& column : columns) {
    fields.push_back(arrow::field(column.name, column.array->type()));
    arrays.push_back(column.array);
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), arrays.at(0)->length(), arrays);
}

inline std::shared_ptr<arrow::DataType> Micros(const std::string& zone = "UTC") {
  return arrow::timestamp(arrow::TimeUnit::MICRO, zone);
}

inline Result<Written> WriteBatches(const table::Env& env, const Target& target,
                                    const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                    WriteOptions options = {}) {
  if (options.now_us == 0) options.now_us = kNow;
  TL_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make(batches, batches.at(0)->schema()));
  return WriteData(env, target, reader.get(), options);
}

inline std::unique_ptr<parquet::arrow::FileReader> OpenParquet(const table::Env& env,
                                                               const std::string& key) {
  auto file = Unwrapped(env.store->OpenRead(key));
  return Unwrapped(parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
}

inline std::shared_ptr<arrow::Table> ReadParquet(const table::Env& env, const std::string& key) {
  return Unwrapped(Unwrapped(OpenParquet(env, key)->ReadTable())->CombineChunks());
}

// All files, in the order of their paths.
inline std::shared_ptr<arrow::Table> ReadAll(const table::Env& env, const Written& written) {
  std::vector<std::shared_ptr<arrow::Table>> tables;
  for (const std::string& key : written.keys) tables.push_back(ReadParquet(env, key));
  return Unwrapped(Unwrapped(arrow::ConcatenateTables(tables))->CombineChunks());
}

// The rows as JSON-like text, one a line.
inline std::vector<std::string> TextRows(const arrow::Table& table) {
  std::vector<std::string> rows(static_cast<size_t>(table.num_rows()));
  for (const auto& column : table.columns()) {
    size_t row = 0;
    for (const auto& chunk : column->chunks()) {
      for (int64_t i = 0; i < chunk->length(); ++i, ++row) {
        rows[row] += Unwrapped(chunk->GetScalar(i))->ToString() + "|";
      }
    }
  }
  return rows;
}

}  // namespace timelake::write
