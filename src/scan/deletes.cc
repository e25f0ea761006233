#include "scan/deletes.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>

#include "base/text.h"
#include "scan/delete_index.h"
#include "scan/row_key.h"
#include "table/data_file_reader.h"
#include "table/meta_cache.h"

namespace timelake::scan {
namespace {

using iceberg::DataFile;
using iceberg::Field;
using iceberg::TypeId;

// Deleted positions by the key of the data file.
using PositionsByFile = std::unordered_map<std::string, std::vector<int64_t>>;

// Paths are compared as keys: engines spell one file's URI differently.
std::string KeyOrUri(const table::Env& env, std::string_view uri) {
  auto key = store::KeyOf(*env.store, uri);
  return key.ok() ? *std::move(key) : std::string(uri);
}

Field MakeField(int id, const char* name, TypeId type) {
  Field field;
  field.id = id;
  field.name = name;
  field.required = true;
  field.type.id = type;
  return field;
}

Result<std::shared_ptr<const PositionsByFile>> ReadPositions(const table::Env& env,
                                                             const DataFile& file) {
  const std::string cache_key = "position-deletes:" + KeyOrUri(env, file.file_path);
  if (env.cache) {
    if (auto found = env.cache->Get<PositionsByFile>(cache_key)) return found;
  }
  // Specification, "Position Delete Files"; the deleted row itself, if stored, is not needed.
  TL_ASSIGN_OR_RAISE(auto batches,
                     ReadDeleteFile(env, file,
                                    {MakeField(kDeleteFilePathId, "file_path", TypeId::kString),
                                     MakeField(kDeletePosId, "pos", TypeId::kLong)}));
  auto positions = std::make_shared<PositionsByFile>();
  int64_t bytes = 0;
  std::string last_uri;
  std::vector<int64_t>* last = nullptr;
  for (const auto& batch : batches) {
    const auto& paths = static_cast<const arrow::StringArray&>(*batch->column(0));
    const auto& rows = static_cast<const arrow::Int64Array&>(*batch->column(1));
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      if (!last || paths.GetView(i) != last_uri) {  // sorted by path, so this is rare
        last_uri = paths.GetString(i);
        last = &(*positions)[KeyOrUri(env, last_uri)];
        bytes += static_cast<int64_t>(last_uri.size()) + 100;
      }
      last->push_back(rows.Value(i));
    }
    bytes += batch->num_rows() * 8;
  }
  for (auto& [path, rows] : *positions) {
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  }
  if (env.cache) env.cache->Put<PositionsByFile>(cache_key, positions, bytes);
  return positions;
}

// The column in the current schema, else in the newest older one that has it: a dropped column
// still tells which old rows are deleted.
Result<Field> EqualityField(const iceberg::TableMetadata& metadata, const iceberg::Schema& schema,
                            int id, const DataFile& file) {
  const Field* found = iceberg::FindFieldById(schema, id);
  for (auto it = metadata.schemas.rbegin(); !found && it != metadata.schemas.rend(); ++it) {
    found = iceberg::FindFieldById(*it, id);
  }
  if (!found) {
    for (const auto& any : metadata.schemas) {
      if (iceberg::FindAnyFieldById(any, id)) {
        return Unsupported("{}: equality deletes on a nested column (field id {})", file.file_path,
                           id);
      }
    }
    return Corrupt("{}: equality deletes on field id {}, which no schema of the table has",
                   file.file_path, id);
  }
  Field field = *found;
  field.required = false;  // an older file may not have it
  return field;
}

}  // namespace

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> ReadDeleteFile(const table::Env& env,
                                                                        const DataFile& file,
                                                                        std::vector<Field> fields) {
  if (ToLowerAscii(file.file_format) != "parquet") {
    return Unsupported("{}: delete files of format {} are not read", file.file_path,
                       file.file_format);
  }
  table::DataFileRequest request;
  request.uri = file.file_path;
  if (file.file_size_in_bytes > 0) request.size = file.file_size_in_bytes;
  request.fields = std::move(fields);
  TL_ASSIGN_OR_RAISE(auto reader, table::OpenDataFile(env, request));
  std::vector<int> row_groups(static_cast<size_t>(reader->num_row_groups()));
  std::iota(row_groups.begin(), row_groups.end(), 0);
  TL_ASSIGN_OR_RAISE(auto batches, reader->Read(row_groups));
  return batches->ToRecordBatches();
}

Result<std::shared_ptr<const FileDeletes>> FileDeletes::Load(const table::Env& env,
                                                             const iceberg::TableMetadata& metadata,
                                                             const iceberg::Schema& schema,
                                                             const ScanFile& file) {
  auto deletes = std::make_shared<FileDeletes>();
  if (file.superseded) deletes->positions_ = *file.superseded;
  TL_RETURN_NOT_OK(deletes->AddPositions(env, file));
  for (const auto& one : file.equality_deletes) {
    TL_RETURN_NOT_OK(deletes->AddEquality(env, metadata, schema, *one));
  }
  return deletes;
}

Status FileDeletes::AddPositions(const table::Env& env, const ScanFile& file) {
  const std::string path = KeyOrUri(env, file.data->file_path);
  for (const auto& one : file.position_deletes) {
    TL_ASSIGN_OR_RAISE(auto by_file, ReadPositions(env, *one));
    auto own = by_file->find(path);
    if (own == by_file->end()) continue;
    std::vector<int64_t> merged;
    std::set_union(positions_.begin(), positions_.end(), own->second.begin(), own->second.end(),
                   std::back_inserter(merged));
    positions_ = std::move(merged);
  }
  return Status::OK();
}

Status FileDeletes::AddEquality(const table::Env& env, const iceberg::TableMetadata& metadata,
                                const iceberg::Schema& schema, const DataFile& deletes) {
  if (deletes.equality_ids.empty()) {
    return Corrupt("{}: an equality delete file without equality ids", deletes.file_path);
  }
  std::vector<Field> fields;
  for (int id : deletes.equality_ids) {
    TL_ASSIGN_OR_RAISE(Field field, EqualityField(metadata, schema, id, deletes));
    fields.push_back(std::move(field));
  }
  auto group = std::find_if(equalities_.begin(), equalities_.end(),
                            [&](const Equality& one) { return one.ids == deletes.equality_ids; });
  if (group == equalities_.end()) {
    Equality added{.ids = deletes.equality_ids, .columns = {}, .deleted = {}};
    for (const Field& field : fields) {
      auto known = std::find_if(columns_.begin(), columns_.end(),
                                [&](const Field& one) { return one.id == field.id; });
      added.columns.push_back(static_cast<size_t>(known - columns_.begin()));
      if (known == columns_.end()) columns_.push_back(field);
    }
    group = equalities_.insert(group, std::move(added));
  }
  const std::string cache_key = "equality-deletes:" + KeyOrUri(env, deletes.file_path);
  std::shared_ptr<const Keys> keys = env.cache ? env.cache->Get<Keys>(cache_key) : nullptr;
  if (!keys) {
    TL_ASSIGN_OR_RAISE(auto batches, ReadDeleteFile(env, deletes, fields));
    auto read = std::make_shared<Keys>();
    int64_t bytes = 0;
    std::string key;
    for (const auto& batch : batches) {
      auto rows = RowKeys::Make(batch->columns());
      if (!rows.ok()) return WithContext(rows.status(), deletes.file_path);
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        rows->Get(i, &key);
        if (read->insert(key).second) bytes += static_cast<int64_t>(key.size()) + 64;
      }
    }
    keys = read;
    if (env.cache) env.cache->Put<Keys>(cache_key, keys, bytes);
  }
  group->deleted.push_back(std::move(keys));
  return Status::OK();
}

bool FileDeletes::MayTouch(int64_t first, int64_t end) const {
  if (!equalities_.empty()) return true;
  const auto next = std::lower_bound(positions_.begin(), positions_.end(), first);
  return next != positions_.end() && *next < end;
}

Status FileDeletes::Remove(int64_t first, const arrow::ArrayVector& arrays,
                           std::vector<uint32_t>* rows) const {
  std::vector<RowKeys> keys;
  for (const Equality& equality : equalities_) {
    arrow::ArrayVector compared;
    for (size_t column : equality.columns) compared.push_back(arrays[column]);
    TL_ASSIGN_OR_RAISE(RowKeys of_rows, RowKeys::Make(compared));
    keys.push_back(std::move(of_rows));
  }
  auto next = rows->empty()
                  ? positions_.end()
                  : std::lower_bound(positions_.begin(), positions_.end(), first + rows->front());
  std::string key;
  const auto deleted = [&](size_t i) {
    const int64_t position = first + (*rows)[i];
    while (next != positions_.end() && *next < position) ++next;
    if (next != positions_.end() && *next == position) return true;
    for (size_t e = 0; e < equalities_.size(); ++e) {
      keys[e].Get(static_cast<int64_t>(i), &key);
      const auto& sets = equalities_[e].deleted;
      if (std::any_of(sets.begin(), sets.end(),
                      [&](const auto& one) { return one->contains(key); })) {
        return true;
      }
    }
    return false;
  };
  size_t kept = 0;
  for (size_t i = 0; i < rows->size(); ++i) {
    if (!deleted(i)) (*rows)[kept++] = (*rows)[i];
  }
  rows->resize(kept);
  return Status::OK();
}

}  // namespace timelake::scan
