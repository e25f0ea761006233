#include "sim/raw_table.h"

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/reader.h>

#include "base/text.h"
#include "iceberg/manifest.h"
#include "table/contract.h"

namespace timelake::sim {
namespace {

std::string_view View(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

Result<int64_t> FieldId(const arrow::Field& field) {
  if (field.metadata() == nullptr) return Corrupt("column {} has no field id", field.name());
  TL_ASSIGN_OR_RAISE(const std::string text, field.metadata()->Get("PARQUET:field_id"));
  return ParseInt64(text);
}

// The columns of an index, by field id.
struct IndexColumns {
  std::shared_ptr<arrow::TimestampArray> times;
  std::shared_ptr<arrow::Int64Array> series;
  std::map<int, std::shared_ptr<arrow::Int64Array>> values;
};

Result<IndexColumns> ColumnsOf(const arrow::RecordBatch& batch) {
  IndexColumns columns;
  for (int i = 0; i < batch.num_columns(); ++i) {
    TL_ASSIGN_OR_RAISE(const int64_t id, FieldId(*batch.schema()->field(i)));
    if (id == 1) {
      columns.times = std::static_pointer_cast<arrow::TimestampArray>(batch.column(i));
      continue;
    }
    auto numbers = std::static_pointer_cast<arrow::Int64Array>(batch.column(i));
    if (id == 2) {
      columns.series = std::move(numbers);
    } else {
      columns.values[static_cast<int>(id)] = std::move(numbers);
    }
  }
  if (!columns.times || !columns.series) return Corrupt("an index without time or series");
  return columns;
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> RawTable::Bytes(const std::string& key) const {
  auto object = disk_->Find(key);
  if (!object) return NotFound("{} is missing", key);
  return object->bytes;
}

Result<std::map<int64_t, Row>> RawTable::ReadIndex(const std::string& key) const {
  TL_ASSIGN_OR_RAISE(auto bytes, Bytes(key));
  TL_ASSIGN_OR_RAISE(auto reader,
                     parquet::arrow::OpenFile(std::make_shared<arrow::io::BufferReader>(bytes),
                                              arrow::default_memory_pool()));
  reader->set_use_threads(false);
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Table> table, reader->ReadTable());
  TL_ASSIGN_OR_RAISE(auto batch, table->CombineChunksToBatch());
  TL_ASSIGN_OR_RAISE(const IndexColumns columns, ColumnsOf(*batch));
  std::map<int64_t, Row> rows;
  for (int64_t i = 0; i < batch->num_rows(); ++i) {
    Row row{columns.series->Value(i), (columns.times->Value(i) - kFirstTimeUs) / kTimeStepUs, 0, 0};
    for (const auto& [id, values] : columns.values) {
      if (values->IsNull(i)) continue;
      if (row.column != 0) return Corrupt("{} holds two values of one row", key);
      row.value = values->Value(i);
      row.column = id;
    }
    if (!rows.emplace(row.series, row).second) {
      return Corrupt("{} holds series {} twice", key, row.series);
    }
  }
  return rows;
}

Result<std::shared_ptr<const RawSnapshot>> RawTable::Read(const iceberg::Snapshot& snapshot) {
  auto& known = known_[snapshot.manifest_list];
  if (known) return known;
  auto raw = std::make_shared<RawSnapshot>();
  TL_ASSIGN_OR_RAISE(const std::string list_key, store::KeyOf(*disk_, snapshot.manifest_list));
  raw->keys.insert(list_key);
  TL_ASSIGN_OR_RAISE(auto list, Bytes(list_key));
  TL_ASSIGN_OR_RAISE(auto rows, iceberg::ReadManifestList(View(*list), list_key));
  for (const auto& row : rows) {
    TL_ASSIGN_OR_RAISE(const std::string key, store::KeyOf(*disk_, row.manifest_path));
    raw->keys.insert(key);
    TL_ASSIGN_OR_RAISE(auto bytes, Bytes(key));
    TL_ASSIGN_OR_RAISE(auto manifest, iceberg::ReadManifest(View(*bytes), key));
    iceberg::Inherit(row, &manifest.entries);
    for (const auto& entry : manifest.entries) {
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      TL_ASSIGN_OR_RAISE(std::string file, store::KeyOf(*disk_, entry.file.file_path));
      if (!entry.sequence_number) return Corrupt("{}: no sequence number in {}", file, key);
      TL_RETURN_NOT_OK(Bytes(file).status());
      raw->keys.insert(file);
      raw->files.push_back({std::move(file), *entry.sequence_number});
    }
  }
  for (const char* name : {table::kLastValueIndex, table::kIndexBase, table::kIndexPart}) {
    const auto it = snapshot.summary.find(name);
    if (it == snapshot.summary.end()) continue;
    TL_ASSIGN_OR_RAISE(const std::string key, store::KeyOf(*disk_, it->second));
    raw->keys.insert(key);
    TL_ASSIGN_OR_RAISE(const auto rows, ReadIndex(key));
    if (!raw->index) {
      raw->index = rows;
      continue;
    }
    // The part: of equal times it holds the later row.
    for (const auto& [series, row] : rows) {
      const auto [known, added] = raw->index->emplace(series, row);
      if (!added && row.time >= known->second.time) known->second = row;
    }
    raw->index_in_parts = true;
  }
  return known = raw;
}

}  // namespace timelake::sim
