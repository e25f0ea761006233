#include "scan/series_rows.h"

#include <algorithm>
#include <memory>

#include <arrow/array.h>

#include "scan/file_work.h"
#include "scan/row_key.h"

namespace timelake::scan {
namespace {

bool IsDictionary(const arrow::Array& array) { return array.type_id() == arrow::Type::DICTIONARY; }

ScanRequest RequestFor(const iceberg::TableMetadata& metadata, const DedupKey& key,
                       const SeriesRowsRequest& wanted) {
  ScanRequest request;
  request.schema = *iceberg::CurrentSchema(metadata);
  request.keep_dictionaries = true;
  request.field_ids = key.key_ids;
  request.field_ids.push_back(key.time_id);
  if (key.ingest_time_id) request.field_ids.push_back(*key.ingest_time_id);
  if (wanted.narrow) request.predicate = *wanted.narrow;
  request.predicate.all_of.push_back({key.time_id, Op::kGe, {iceberg::Value(wanted.first)}});
  request.predicate.all_of.push_back({key.time_id, Op::kLe, {iceberg::Value(wanted.last)}});
  return request;
}

}  // namespace

int32_t SeriesIds::Id(const std::string& key, bool add) {
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  if (!add) return kUnknown;
  const auto next = static_cast<int32_t>(ids_.size());
  ids_.emplace(key, next);
  return next;
}

Status SeriesIds::Of(const arrow::ArrayVector& columns, int64_t rows, bool add,
                     std::vector<int32_t>* ids) {
  ids->clear();
  ids->reserve(static_cast<size_t>(rows));
  std::string key;
  if (columns.size() == 1 && IsDictionary(*columns[0])) {
    // Each entry is looked up once.
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*columns[0]);
    TL_ASSIGN_OR_RAISE(const RowKeys keys, RowKeys::Make(columns));
    constexpr int32_t kNotYet = -2;
    std::vector<int32_t> by_code(static_cast<size_t>(coded.dictionary()->length()), kNotYet);
    int32_t of_null = kNotYet;
    for (int64_t i = 0; i < rows; ++i) {
      int32_t& id =
          coded.IsNull(i) ? of_null : by_code[static_cast<size_t>(coded.GetValueIndex(i))];
      if (id == kNotYet) {
        keys.Get(i, &key);
        id = Id(key, add);
      }
      ids->push_back(id);
    }
    return Status::OK();
  }
  TL_ASSIGN_OR_RAISE(const RowKeys keys, RowKeys::Make(columns));
  std::string last;
  for (int64_t i = 0; i < rows; ++i) {
    keys.Get(i, &key);
    if (i > 0 && key == last) {
      ids->push_back(ids->back());
      continue;
    }
    ids->push_back(Id(key, add));
    std::swap(key, last);
  }
  return Status::OK();
}

Status VisitSeriesRows(const table::Env& env, const iceberg::TableMetadata& metadata,
                       const ScanFile& file, const DedupKey& key, const SeriesRowsRequest& wanted,
                       SeriesIds* ids, const std::function<void(const SeriesBatch&)>& visit) {
  const ScanRequest request = RequestFor(metadata, key, wanted);
  auto counters = std::make_shared<Counters>();
  ScanFile undecided = file;
  undecided.superseded = nullptr;
  TL_ASSIGN_OR_RAISE(const auto work, OpenFile(env, metadata, undecided, 0, request));
  TL_ASSIGN_OR_RAISE(auto morsels, Split(work, request, counters.get()));
  const size_t keys = key.key_ids.size();
  std::vector<int32_t> series;
  std::vector<int64_t> positions;
  for (Morsel& morsel : morsels) {
    TL_ASSIGN_OR_RAISE(const auto reader,
                       ReadMorsel(env, std::move(morsel), request, counters, nullptr, &positions));
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      TL_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (!batch) break;
      const arrow::ArrayVector& columns = batch->columns();
      TL_RETURN_NOT_OK(ids->Of({columns.begin(), columns.begin() + static_cast<int64_t>(keys)},
                               batch->num_rows(), wanted.add, &series));
      const auto times = [&](size_t column) {
        return static_cast<const arrow::TimestampArray*>(columns[column].get());
      };
      visit({.series = &series,
             .times = times(keys),
             .ingests = key.ingest_time_id ? times(keys + 1) : nullptr,
             .positions = &positions});
    }
  }
  return Status::OK();
}

Result<std::vector<SeriesRow>> ReadSeriesRows(const table::Env& env,
                                              const iceberg::TableMetadata& metadata,
                                              const ScanFile& file, const DedupKey& key,
                                              const SeriesRowsRequest& wanted, SeriesIds* ids) {
  std::vector<SeriesRow> rows;
  const auto collect = [&](const SeriesBatch& batch) {
    for (size_t i = 0; i < batch.series->size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int32_t series = (*batch.series)[i];
      if (series == SeriesIds::kUnknown || batch.times->IsNull(at)) continue;
      SeriesRow row{.series = series, .time = batch.times->Value(at)};
      if (row.time < wanted.first || row.time > wanted.last) continue;
      if (batch.ingests && batch.ingests->IsValid(at)) row.ingest = batch.ingests->Value(at);
      row.position = (*batch.positions)[i];
      rows.push_back(row);
    }
  };
  TL_RETURN_NOT_OK(VisitSeriesRows(env, metadata, file, key, wanted, ids, collect));
  return rows;
}

}  // namespace timelake::scan
