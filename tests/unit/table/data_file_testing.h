#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "base/clock.h"
#include "iceberg/arrow_schema.h"
#include "iceberg/schema.h"
#include "store/memory_store.h"
#include "table/data_file_reader.h"
#include "table/env.h"

// Parquet files in memory, written by Arrow with chosen types and ids.

namespace timelake::table {

inline Env MemoryEnv() { return MakeEnv(store::MakeMemoryStore(SystemClock())); }

// An id below 0: none.
inline std::shared_ptr<arrow::Field> ArrowColumn(const std::string& name,
                                                 std::shared_ptr<arrow::DataType> type, int id,
                                                 bool nullable = true) {
  auto field = arrow::field(name, std::move(type), nullable);
  if (id < 0) return field;
  return field->WithMetadata(
      arrow::key_value_metadata({iceberg::kArrowFieldIdKey}, {std::to_string(id)}));
}

inline iceberg::Field TableColumn(int id, std::string name, std::string_view type,
                                  bool required = false) {
  iceberg::Field field;
  field.id = id;
  field.name = std::move(name);
  field.required = required;
  field.type = iceberg::ParseType(type).ValueOrDie();
  return field;
}

inline std::shared_ptr<arrow::Array> FromJson(const std::shared_ptr<arrow::DataType>& type,
                                              const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

struct FileOptions {
  int64_t rows_per_group = 1 << 20;
  std::shared_ptr<parquet::WriterProperties> parquet = parquet::default_writer_properties();
  std::shared_ptr<parquet::ArrowWriterProperties> arrow =
      parquet::default_arrow_writer_properties();
};

inline std::shared_ptr<arrow::Buffer> ParquetBytes(const arrow::FieldVector& fields,
                                                   const arrow::ArrayVector& columns,
                                                   const FileOptions& options = {}) {
  auto table = arrow::Table::Make(arrow::schema(fields), columns);
  auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink,
                                         options.rows_per_group, options.parquet, options.arrow)
                  .ok());
  return sink->Finish().ValueOrDie();
}

// Stores the bytes; the URI.
inline std::string PutBytes(const Env& env, const std::string& name,
                            std::shared_ptr<arrow::Buffer> bytes) {
  EXPECT_TRUE(env.store->Put(name, std::move(bytes)).ok());
  return store::UriOf(*env.store, name);
}

inline std::string PutFile(const Env& env, const std::string& name,
                           const arrow::FieldVector& fields, const arrow::ArrayVector& columns,
                           const FileOptions& options = {}) {
  return PutBytes(env, name, ParquetBytes(fields, columns, options));
}

// The whole file as one batch (combined), or the error.
inline Result<std::shared_ptr<arrow::RecordBatch>> ReadAll(const Env& env,
                                                           const DataFileRequest& request,
                                                           int64_t batch_rows = 65536) {
  TL_ASSIGN_OR_RAISE(auto reader, OpenDataFile(env, request));
  std::vector<int> row_groups;
  for (int i = 0; i < reader->num_row_groups(); ++i) row_groups.push_back(i);
  TL_ASSIGN_OR_RAISE(auto batches, reader->Read(row_groups, batch_rows));
  TL_ASSIGN_OR_RAISE(auto table, batches->ToTable());
  for (const auto& column : table->columns()) TL_RETURN_NOT_OK(column->ValidateFull());
  if (table->num_columns() == 0) {
    return arrow::RecordBatch::Make(table->schema(), table->num_rows(), arrow::ArrayVector{});
  }
  return table->CombineChunksToBatch();
}

// One column of one file as the table's type.
inline Result<std::shared_ptr<arrow::Array>> ReadColumn(const Env& env, const std::string& uri,
                                                        const iceberg::Field& field) {
  DataFileRequest request;
  request.uri = uri;
  request.fields = {field};
  TL_ASSIGN_OR_RAISE(auto batch, ReadAll(env, request));
  return batch->column(0);
}

// Writes `json` as `file_type` (field id 1) and reads it as a table column of type `wanted`.
inline Result<std::shared_ptr<arrow::Array>> WriteAndRead(
    const std::shared_ptr<arrow::DataType>& file_type, const std::string& json,
    std::string_view wanted, const FileOptions& options = {}) {
  const Env env = MemoryEnv();
  const std::string uri = PutFile(env, "b/x.parquet", {ArrowColumn("x", file_type, 1)},
                                  {FromJson(file_type, json)}, options);
  return ReadColumn(env, uri, TableColumn(1, "x", wanted));
}

inline void ExpectColumn(const Result<std::shared_ptr<arrow::Array>>& column,
                         const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  ASSERT_TRUE(column.ok()) << column.status().ToString();
  ASSERT_TRUE((*column)->type()->Equals(*type)) << (*column)->type()->ToString();
  auto expected = FromJson(type, json);
  EXPECT_TRUE((*column)->Equals(*expected, arrow::EqualOptions().nans_equal(true)))
      << (*column)->ToString();
}

// Failed with that kind, and the message has each of the texts.
inline void ExpectError(const Status& status, ErrorKind kind,
                        const std::vector<std::string>& texts) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(KindName(KindOf(status)), KindName(kind)) << status.ToString();
  for (const std::string& text : texts) {
    EXPECT_NE(MessageOf(status).find(text), std::string::npos) << MessageOf(status);
  }
}

}  // namespace timelake::table
