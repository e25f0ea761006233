#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/util/byte_size.h>

#include "base/parallel.h"
#include "iceberg/arrow_schema.h"
#include "index/last_value_index.h"
#include "table/data_file_reader.h"
#include "table/manifests.h"
#include "table/meta_cache.h"
#include "table/settings.h"
#include "write/combine.h"
#include "write/encoding.h"
#include "write/parquet_writer.h"

namespace timelake::index {
namespace {

std::string CacheKey(const std::string& uri) { return "lvi:" + uri; }

struct Known {
  iceberg::Schema schema;
  std::shared_ptr<arrow::RecordBatch> rows;
};

constexpr int64_t kRowGroupRows = 1 << 20;
// Fewer rows are read and written by one thread.
constexpr int64_t kRowsInParallel = 1 << 16;

// Every `step`th column from `first` on, each as one array.
Status ReadColumns(const table::Env& env, const std::string& uri,
                   const std::shared_ptr<arrow::Buffer>& bytes, const iceberg::Schema& schema,
                   size_t first, size_t step, arrow::ArrayVector* columns) {
  table::DataFileRequest request;
  request.uri = uri;
  request.bytes = bytes;
  for (size_t i = first; i < schema.fields.size(); i += step) {
    request.fields.push_back(schema.fields[i]);
  }
  TL_ASSIGN_OR_RAISE(auto file, table::OpenDataFile(env, request));
  std::vector<int> row_groups(static_cast<size_t>(file->num_row_groups()));
  std::iota(row_groups.begin(), row_groups.end(), 0);
  TL_ASSIGN_OR_RAISE(auto reader, file->Read(row_groups, kRowGroupRows));
  TL_ASSIGN_OR_RAISE(auto table, reader->ToTable());
  TL_ASSIGN_OR_RAISE(auto batch, table->CombineChunksToBatch());
  for (int i = 0; i < batch->num_columns(); ++i) {
    (*columns)[first + static_cast<size_t>(i) * step] = batch->column(i);
  }
  return Status::OK();
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> Encode(const std::shared_ptr<arrow::RecordBatch>& batch,
                                              const iceberg::Schema& schema) {
  TL_ASSIGN_OR_RAISE(const auto settings, table::ResolveSettings({}));
  write::Rows rows{batch->columns(), {}, batch->num_rows()};
  for (auto& column : rows.columns) {
    rows.may_hold_nan.push_back(write::HoldsNan(*column->data()));
    TL_ASSIGN_OR_RAISE(column, write::CodeStrings(std::move(column)));
  }
  std::vector<uint32_t> order(static_cast<size_t>(rows.count));
  std::iota(order.begin(), order.end(), 0);
  write::FileFormat format;
  format.schema = &schema;
  format.settings = settings;
  format.columns =
      write::PlanColumns(schema, {}, settings, rows, order, 0, rows.count, settings.row_group_rows);
  if (rows.count >= kRowsInParallel) format.threads = MachineThreads();
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    if (format.columns[i].arrow_dictionary) continue;
    TL_ASSIGN_OR_RAISE(rows.columns[i], write::WithoutDictionary(rows.columns[i]));
  }
  const auto encoded = arrow::RecordBatch::Make(write::SchemaOf(format), rows.count, rows.columns);
  TL_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create());
  TL_ASSIGN_OR_RAISE(auto writer, write::DataFileWriter::Open(sink, std::move(format)));
  TL_RETURN_NOT_OK(writer->Write(*encoded));
  TL_RETURN_NOT_OK(writer->Close());
  return sink->Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> Read(const table::Env& env, const std::string& uri,
                                                 const iceberg::Schema& schema) {
  if (auto known = Recall(env, uri, schema)) return known;
  table::DataFileRequest request;
  request.uri = uri;
  request.fields = schema.fields;
  // All of it is read: with one request where each takes long.
  if (store::IsRemote(*env.store)) {
    TL_ASSIGN_OR_RAISE(request.bytes, table::ReadObject(env, uri));
  }
  TL_ASSIGN_OR_RAISE(auto file, table::OpenDataFile(env, request));
  int64_t count = 0;
  for (int i = 0; i < file->num_row_groups(); ++i) count += file->row_group_rows(i);
  // One thread where the store is memory: simulations must be repeatable.
  const bool small = count < kRowsInParallel || env.store->scheme() == "memory";
  const int threads = small ? 1 : MachineThreads();
  arrow::ArrayVector columns(schema.fields.size());
  const auto parts = std::min<size_t>(static_cast<size_t>(threads), columns.size());
  TL_RETURN_NOT_OK(ParallelFor(static_cast<int>(parts), threads, [&](int part) {
    return ReadColumns(env, uri, request.bytes, schema, static_cast<size_t>(part), parts, &columns);
  }));
  auto rows = arrow::RecordBatch::Make(iceberg::ToArrow(schema), count, std::move(columns));
  TL_RETURN_NOT_OK(WithContext(rows->Validate(), uri));
  Remember(env, uri, schema, rows);
  return rows;
}

std::shared_ptr<arrow::RecordBatch> Recall(const table::Env& env, const std::string& uri,
                                           const iceberg::Schema& schema) {
  if (!env.cache) return nullptr;
  const auto known = env.cache->Get<Known>(CacheKey(uri));
  // It may have been read under an older schema of the table.
  return known && iceberg::SameFields(known->schema, schema) ? known->rows : nullptr;
}

void Remember(const table::Env& env, const std::string& uri, const iceberg::Schema& schema,
              const std::shared_ptr<arrow::RecordBatch>& rows) {
  if (!env.cache) return;
  env.cache->Put<Known>(CacheKey(uri), std::make_shared<const Known>(Known{schema, rows}),
                        arrow::util::TotalBufferSize(*rows));
}

}  // namespace timelake::index
