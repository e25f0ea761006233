#include "sql/result_batch.h"

#include <utility>

#include <arrow/c/bridge.h>
#include <duckdb/common/arrow/arrow_appender.hpp>
#include <duckdb/common/types/data_chunk.hpp>

#include "sql/error.h"

namespace timelake::sql {

namespace {

constexpr int64_t kMostRows = 65536;
constexpr int64_t kMostBytes = 4 << 20;
// DuckDB's converter does not say how much it holds.
constexpr int64_t kMostRowsOfOthers = 16384;

}  // namespace

ResultBatch::ResultBatch(std::shared_ptr<const ResultFormat> format) : format_(std::move(format)) {
  for (size_t i = 0; i < format_->types.size(); ++i) {
    columns_.push_back(MakeResultColumn(format_->paths[i], format_->types[i],
                                        format_->schema->field(static_cast<int>(i))->type()));
  }
}

ResultBatch::~ResultBatch() = default;

void ResultBatch::Append(duckdb::DataChunk& chunk) {
  const duckdb::idx_t count = chunk.size();
  duckdb::DataChunk others;
  if (!format_->other_types.empty()) others.InitializeEmpty(format_->other_types);
  size_t other = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i]) {
      columns_[i]->Append(chunk.data[i], count);
    } else {
      others.data[other++].Reference(chunk.data[i]);
    }
  }
  if (other > 0) {
    others.SetCardinality(count);
    if (!others_) {
      others_ = std::make_unique<duckdb::ArrowAppender>(
          format_->other_types, count, format_->options, format_->other_extensions);
    }
    others_->Append(others, 0, count, count);
  }
  rows_ += static_cast<int64_t>(count);
}

int64_t ResultBatch::bytes() const {
  int64_t bytes = 0;
  for (const auto& column : columns_) {
    if (column) bytes += column->bytes();
  }
  for (const auto& type : format_->other_types) {
    bytes += rows_ * static_cast<int64_t>(duckdb::GetTypeIdSize(type.InternalType()));
  }
  return bytes;
}

bool ResultBatch::full() const {
  return rows_ >= (others_ ? kMostRowsOfOthers : kMostRows) || bytes() >= kMostBytes;
}

std::vector<std::shared_ptr<arrow::ArrayData>> ResultBatch::FinishOthers() {
  if (!others_) return {};
  ArrowArray exported = others_->Finalize();
  others_.reset();
  return ValueOrThrow(arrow::ImportRecordBatch(&exported, format_->other_schema))->column_data();
}

std::shared_ptr<arrow::RecordBatch> ResultBatch::Finish() {
  const auto others = FinishOthers();
  size_t other = 0;
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  columns.reserve(columns_.size());
  for (const auto& column : columns_) {
    columns.push_back(column ? column->Finish() : others[other++]);
  }
  return arrow::RecordBatch::Make(format_->schema, std::exchange(rows_, 0), std::move(columns));
}

}  // namespace timelake::sql
