#include "sql/newest_rows.h"

#include <algorithm>
#include <utility>

#include <arrow/table.h>

#include "iceberg/arrow_schema.h"
#include "index/index_parts.h"
#include "scan/row_selection.h"
#include "table/data_file_reader.h"

namespace timelake::sql {

namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// What a query may read to bring an older index up to date.
constexpr int64_t kIndexBytes = 16 << 20;

bool IsOne(const scan::ColumnTest& test) {
  return test.op == scan::Op::kEq || test.op == scan::Op::kIn;
}

// Those rows of an index in memory that may pass.
Result<Batch> Narrow(const TableVersion& table, const Batch& rows,
                     const scan::Predicate& predicate) {
  table::RowRanges left;
  table::Append({0, rows->num_rows()}, &left);
  for (const scan::ColumnTest& test : predicate.all_of) {
    const auto& fields = table.schema->fields;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].id != test.field_id) continue;
      scan::KeepPassing(*rows->column_data(static_cast<int>(i)), {test}, &left);
    }
  }
  arrow::ArrayVector columns;
  for (const auto& column : rows->columns()) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(), scan::Take(column, left));
  }
  return arrow::RecordBatch::Make(rows->schema(), table::CountRows(left), std::move(columns));
}

// The rows of an index that may pass, from those of its pages that may hold them.
Result<Batch> ReadSome(const TableVersion& table, const std::string& uri,
                       const scan::Predicate& predicate) {
  scan::Plan plan;
  plan.counters = std::make_shared<scan::Counters>();
  plan.files.emplace_back();
  auto file = std::make_shared<iceberg::DataFile>();
  file->file_path = uri;
  file->file_format = "parquet";
  plan.files[0].data = std::move(file);
  plan.files[0].spec_id = -1;  // an index is not partitioned
  scan::ScanRequest request;
  request.schema = *table.schema;
  for (const auto& field : table.schema->fields) request.field_ids.push_back(field.id);
  request.predicate = predicate;
  TL_ASSIGN_OR_RAISE(auto scanner, scan::Scanner::Make(table.env, *table.metadata, std::move(plan),
                                                       std::move(request)));
  arrow::RecordBatchVector batches;
  while (true) {
    TL_ASSIGN_OR_RAISE(auto morsel, scanner->Next());
    if (!morsel) break;
    TL_ASSIGN_OR_RAISE(auto some, morsel->ToRecordBatches());
    std::move(some.begin(), some.end(), std::back_inserter(batches));
  }
  const auto schema = iceberg::ToArrow(*table.schema);
  for (Batch& batch : batches) {
    batch = arrow::RecordBatch::Make(schema, batch->num_rows(), batch->columns());
  }
  TL_ASSIGN_OR_RAISE(auto all, arrow::Table::FromRecordBatches(schema, batches));
  return all->CombineChunksToBatch();
}

Result<Batch> Some(const TableVersion& table, const std::string& uri,
                   const scan::Predicate& predicate) {
  if (const Batch known = index::Recall(table.env, uri, *table.schema)) {
    return Narrow(table, known, predicate);
  }
  return ReadSome(table, uri, predicate);
}

// Of a large index the rows of the wanted series; nullopt: better take all of it.
Result<std::optional<Batch>> LookUp(const TableVersion& table, const scan::Predicate& predicate) {
  if (std::none_of(predicate.all_of.begin(), predicate.all_of.end(), IsOne)) return std::nullopt;
  TL_ASSIGN_OR_RAISE(const auto ancestor,
                     index::FindAncestor(table.env, *table.metadata, *table.snapshot));
  if (!ancestor.parts || !ancestor.since.empty()) return std::nullopt;
  const index::IndexParts& parts = *ancestor.parts;
  if (parts.base_rows.value_or(0) <= table.env.rules->index_whole_rows) return std::nullopt;
  TL_ASSIGN_OR_RAISE(Batch rows, Some(table, parts.base, predicate));
  if (!parts.part.empty()) {
    TL_ASSIGN_OR_RAISE(const Batch newer, Some(table, parts.part, predicate));
    TL_ASSIGN_OR_RAISE(rows, index::Merge(rows, newer, *table.schema, table.contract));
  }
  return rows;
}

}  // namespace

Batch NewestRows(const TableVersion& table, const scan::Predicate& predicate) {
  // The index has the columns of today.
  if (!table.snapshot || table.schema != iceberg::CurrentSchema(*table.metadata)) return nullptr;
  // Of one that cannot be read the way below says why.
  const auto some = LookUp(table, predicate);
  if (some.ok() && *some) return **some;
  const auto rows =
      index::ValidAt(table.env, *table.metadata, *table.snapshot, table.contract, kIndexBytes);
  return rows.ok() && *rows ? **rows : nullptr;
}

std::optional<int64_t> CountSeries(const TableVersion& table) {
  if (!table.snapshot) return std::nullopt;
  const auto ancestor = index::FindAncestor(table.env, *table.metadata, *table.snapshot);
  if (!ancestor.ok() || !ancestor->parts) return std::nullopt;
  if (ancestor->parts->base_rows) return ancestor->parts->base_rows;
  table::DataFileRequest request;
  request.uri = ancestor->parts->base;
  const auto file = table::OpenDataFile(table.env, request);
  if (!file.ok()) return std::nullopt;
  int64_t rows = 0;
  for (int i = 0; i < (*file)->num_row_groups(); ++i) rows += (*file)->row_group_rows(i);
  return rows;
}

}  // namespace timelake::sql
