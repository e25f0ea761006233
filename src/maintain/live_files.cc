#include "maintain/live_files.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "table/manifests.h"

namespace timelake::maintain {
namespace {

// Files of at least this share of the target size are left as they are.
bool IsSmall(int64_t bytes, int64_t target_bytes) { return bytes < target_bytes / 4 * 3; }

bool KnowsItsPartition(const iceberg::PartitionSpec& spec, const iceberg::Schema& schema) {
  return std::all_of(spec.fields.begin(), spec.fields.end(), [&](const auto& field) {
    if (field.transform.kind == iceberg::TransformKind::kVoid) return true;
    return field.transform.kind != iceberg::TransformKind::kUnknown &&
           iceberg::FindFieldById(schema, field.source_id) != nullptr;
  });
}

}  // namespace

LiveFile LiveFiles::Describe(const scan::ScanFile& file, const write::Target& target,
                             const std::optional<TimeWindow>& window) const {
  LiveFile described;
  described.file = &file;
  described.small = IsSmall(file.data->file_size_in_bytes, target.settings.target_file_size_bytes);
  const int order_id = target.order.order_id;
  described.sorted = order_id != 0 && file.data->sort_order_id == order_id;
  const iceberg::PartitionSpec* spec = iceberg::SpecById(*metadata_, file.spec_id);
  if (columns_.time != nullptr) described.range = scan::KeyRangeOf(*file.data, spec, columns_);
  if (ToLowerAscii(file.data->file_format) != "parquet") {
    described.unfit = fmt::format("its format is {}", file.data->file_format);
  } else if (file.data->key_metadata) {
    described.unfit = "it is encrypted";
  } else if (spec == nullptr || !KnowsItsPartition(*spec, target.schema)) {
    described.unfit = fmt::format("its partition spec {} cannot be written", file.spec_id);
  } else if (window &&
             (described.range.first < window->first || described.range.last > window->last)) {
    described.unfit = "it reaches beyond the times that are looked at";
  } else if (columns_.time != nullptr && !columns_.time->required) {
    const auto nulls = file.data->null_value_counts.find(columns_.time->id);
    const bool none = nulls != file.data->null_value_counts.end() && nulls->second == 0;
    if (!none) described.unfit = "it may hold rows without a time";
  }
  return described;
}

Status LiveFiles::ReadDeletes(const table::Env& env) {
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(*metadata_);
  if (head == nullptr) return Status::OK();
  TL_ASSIGN_OR_RAISE(const auto rows, table::ReadRows(env, *head));
  for (const iceberg::ManifestFile& row : *rows) {
    if (row.content != iceberg::ManifestContent::kDeletes) continue;
    TL_ASSIGN_OR_RAISE(const auto manifest, table::ReadEntries(env, row));
    const iceberg::PartitionSpec* known = iceberg::SpecById(*metadata_, row.partition_spec_id);
    iceberg::PartitionSpec spec = known != nullptr ? *known : manifest->header.spec;
    spec.spec_id = row.partition_spec_id;
    for (const iceberg::ManifestEntry& entry : manifest->entries) {
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      deletes_.Add(entry, spec);
      delete_paths_.push_back(entry.file.file_path);
    }
  }
  std::sort(delete_paths_.begin(), delete_paths_.end());
  return Status::OK();
}

std::string LiveFiles::PartitionText(const Home& partition) const {
  const iceberg::PartitionSpec* spec = iceberg::SpecById(*metadata_, partition.spec_id);
  if (spec == nullptr) return "";
  const iceberg::Schema& schema = *iceberg::CurrentSchema(*metadata_);
  return iceberg::PartitionPath(*spec, schema, partition.partition).ValueOr("");
}

std::set<std::string> LiveFiles::UnneededDeletes(
    const std::function<bool(const scan::ScanFile&, const iceberg::DataFile&)>& done) const {
  std::set<std::string> unneeded(delete_paths_.begin(), delete_paths_.end());
  if (unneeded.empty()) return unneeded;
  for (const LiveFile& live : files_) {
    for (const auto* deletes : {&live.file->position_deletes, &live.file->equality_deletes}) {
      for (const auto& one : *deletes) {
        if (!done(*live.file, *one)) unneeded.erase(one->file_path);
      }
    }
  }
  return unneeded;
}

Result<std::unique_ptr<LiveFiles>> LiveFiles::Read(
    const table::Env& env, std::shared_ptr<const iceberg::TableMetadata> metadata,
    const write::Target& target, std::optional<TimeWindow> window) {
  std::unique_ptr<LiveFiles> live(new LiveFiles(env, std::move(metadata)));
  const iceberg::Schema& schema = *iceberg::CurrentSchema(*live->metadata_);
  const table::Contract& contract = target.contract;
  if (contract.is_time_series()) {
    live->columns_.time = iceberg::FindFieldById(schema, *contract.time_id);
    for (int id : contract.key_ids) {
      live->columns_.keys.push_back(iceberg::FindFieldById(schema, id));
    }
    const auto& columns = live->columns_;
    const auto& keys = columns.keys;
    if (columns.time == nullptr || std::find(keys.begin(), keys.end(), nullptr) != keys.end()) {
      return Conflict("table {}: a column of its series key or its time was dropped meanwhile",
                      target.table_name);
    }
  }
  live->meet_ = [&columns = live->columns_](const scan::KeyRange& a, const scan::KeyRange& b) {
    return columns.time == nullptr || scan::RangesMeet(a, b, columns);
  };
  TL_RETURN_NOT_OK(live->ReadDeletes(env));
  scan::Predicate within;
  if (!live->delete_paths_.empty() || live->columns_.time == nullptr) window.reset();
  if (window) {
    const int time_id = *contract.time_id;
    within.all_of.push_back({time_id, scan::Op::kGe, {iceberg::Value(window->first)}});
    within.all_of.push_back({time_id, scan::Op::kLe, {iceberg::Value(window->last)}});
  }
  TL_ASSIGN_OR_RAISE(
      live->plan_,
      scan::PlanFiles(env, *live->metadata_, iceberg::CurrentSnapshot(*live->metadata_), within));
  for (const scan::ScanFile& file : live->plan_.files) {
    live->files_.push_back(live->Describe(file, target, window));
  }
  return live;
}

}  // namespace timelake::maintain
