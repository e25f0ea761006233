#include "scan/delete_index.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace timelake::scan {
namespace {

using iceberg::DataFile;
using iceberg::Value;

// Equal exactly for equal partitions of one spec. Integers and floats count by value: a column may
// have been promoted between the two manifests.
void AppendKey(const Value& value, std::string* key) {
  std::string bytes;
  char kind = 'n';
  auto raw = [&](char k, const void* data, size_t size) {
    kind = k;
    bytes.assign(static_cast<const char*>(data), size);
  };
  if (auto b = std::get_if<bool>(&value)) raw('b', b, 1);
  int64_t integer = 0;
  if (auto i = std::get_if<int32_t>(&value)) raw('i', &(integer = *i), 8);
  if (auto l = std::get_if<int64_t>(&value)) raw('i', l, 8);
  double number = 0;
  if (auto f = std::get_if<float>(&value)) raw('f', &(number = *f), 8);
  if (auto d = std::get_if<double>(&value)) raw('f', d, 8);
  if (auto d = std::get_if<arrow::Decimal128>(&value)) bytes = d->ToIntegerString(), kind = 'd';
  if (auto s = std::get_if<std::string>(&value)) raw('s', s->data(), s->size());
  key->push_back(kind);
  key->append(std::to_string(bytes.size())).push_back(':');
  key->append(bytes);
}

std::string PartitionKey(int spec_id, const std::vector<Value>& partition) {
  std::string key = std::to_string(spec_id) + "/";
  for (const Value& value : partition) AppendKey(value, &key);
  return key;
}

bool IsUnpartitioned(const iceberg::PartitionSpec& spec) {
  return std::all_of(spec.fields.begin(), spec.fields.end(), [](const auto& field) {
    return field.transform.kind == iceberg::TransformKind::kVoid;
  });
}

// The one data file that a position delete file is about, if it says so.
std::optional<std::string> ReferencedFile(const DataFile& file) {
  if (file.referenced_data_file) return file.referenced_data_file;
  auto lower = file.lower_bounds.find(kDeleteFilePathId);
  auto upper = file.upper_bounds.find(kDeleteFilePathId);
  // A cut upper bound is rounded up, so equal bounds are the whole path. A short equal pair
  // may be two plain prefixes of a careless writer.
  if (lower == file.lower_bounds.end() || upper == file.upper_bounds.end() ||
      lower->second != upper->second || !lower->second.ends_with(".parquet")) {
    return std::nullopt;
  }
  return lower->second;
}

}  // namespace

std::string DeleteIndex::PathKey(const std::string& uri) const {
  auto key = store::KeyOf(*store_, uri);
  return key.ok() ? *std::move(key) : uri;
}

void DeleteIndex::Add(const iceberg::ManifestEntry& entry, const iceberg::PartitionSpec& spec) {
  empty_ = false;
  Delete own{entry.sequence_number.value_or(0), std::make_shared<const DataFile>(entry.file)};
  const std::string partition = PartitionKey(spec.spec_id, entry.file.partition);
  if (entry.file.content == iceberg::FileContent::kPositionDeletes) {
    if (auto path = ReferencedFile(entry.file)) {
      positions_by_path_[PathKey(*path)].push_back(std::move(own));
    } else {
      positions_by_partition_[partition].push_back(std::move(own));
    }
  } else if (IsUnpartitioned(spec)) {
    equalities_everywhere_.push_back(std::move(own));
  } else {
    equalities_by_partition_[partition].push_back(std::move(own));
  }
}

void DeleteIndex::Assign(ScanFile* file) const {
  if (empty_) return;
  auto take = [](const Deletes* deletes, int64_t lowest, auto* out) {
    if (!deletes) return;
    for (const Delete& one : *deletes) {
      if (one.sequence_number >= lowest) out->push_back(one.file);
    }
  };
  auto find = [](const auto& map, const std::string& key) -> const Deletes* {
    auto it = map.find(key);
    return it == map.end() ? nullptr : &it->second;
  };
  const std::string partition = PartitionKey(file->spec_id, file->data->partition);
  const std::string path = PathKey(file->data->file_path);
  // Position deletes of the same commit apply, equality deletes only of later ones.
  const int64_t own = file->sequence_number;
  take(find(positions_by_path_, path), own, &file->position_deletes);
  take(find(positions_by_partition_, partition), own, &file->position_deletes);
  take(&equalities_everywhere_, own + 1, &file->equality_deletes);
  take(find(equalities_by_partition_, partition), own + 1, &file->equality_deletes);
  for (auto* deletes : {&file->position_deletes, &file->equality_deletes}) {
    std::sort(deletes->begin(), deletes->end(),
              [](const auto& a, const auto& b) { return a->file_path < b->file_path; });
  }
}

}  // namespace timelake::scan
