#include "maintain/relocate.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/uuid.h"
#include "maintain/relocate_deletes.h"
#include "table/batch_ids.h"
#include "table/contract.h"
#include "table/manifests.h"
#include "table/next_metadata.h"
#include "table/placing.h"

namespace timelake::maintain {
namespace {

using iceberg::ManifestFile;
using iceberg::Snapshot;
using table::Placing;

class Mover {
 public:
  Mover(const table::Handle& handle, const Placing& placing, table::Attempt* attempt,
        RelocateReport* report)
      : handle_(handle), placing_(placing), attempt_(attempt), report_(report) {}

  Status Run() {
    iceberg::TableMetadata& metadata = attempt_->metadata;
    report_->from = metadata.location;
    report_->to = metadata.location = handle_.location();
    for (Snapshot& snapshot : metadata.snapshots) TL_RETURN_NOT_OK(Move(&snapshot));
    for (auto& entry : metadata.metadata_log) {
      entry.metadata_file = placing_.Uri(entry.metadata_file);
    }
    if (const auto log = table::BatchIdLogFile(metadata)) {
      metadata.properties[table::kBatchIdLog] = placing_.Uri(*log);
    }
    for (const char* place : {"write.data.path", "write.metadata.path"}) {
      const auto property = metadata.properties.find(place);
      if (property != metadata.properties.end()) property->second = placing_.Uri(property->second);
    }
    // Statistics files, which only others read.
    for (const char* member : {"statistics", "partition-statistics"}) {
      const auto text = metadata.unknown.find(member);
      if (text != metadata.unknown.end())
        Replace("\"" + report_->from + "/", "\"" + report_->to + "/", &text->second);
    }
    report_->snapshots = static_cast<int64_t>(metadata.snapshots.size());
    return Status::OK();
  }

 private:
  static void Replace(const std::string& from, const std::string& to, std::string* text) {
    for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at)) {
      text->replace(at, from.size(), to);
      at += to.size();
    }
  }
  std::string NewKey(std::string_view before, std::string_view after) const {
    return fmt::format("{}/metadata/{}{}{}", handle_.folder(), before,
                       FormatUuid(NewUuidV4(*handle_.env().random)), after);
  }
  std::string Put(std::string key, std::shared_ptr<arrow::Buffer> bytes) {
    std::string uri = store::UriOf(*handle_.env().store, key);
    attempt_->objects.push_back({std::move(key), std::move(bytes)});
    return uri;
  }

  Status Move(Snapshot* snapshot) {
    TL_ASSIGN_OR_RAISE(const auto rows, table::ReadRows(placing_.env(), *snapshot));
    table::ManifestRows placed;
    for (const ManifestFile& row : *rows) {
      TL_ASSIGN_OR_RAISE(placed.emplace_back(), Moved(row));
    }
    TL_ASSIGN_OR_RAISE(
        auto list, iceberg::WriteManifestList({snapshot->snapshot_id, snapshot->parent_snapshot_id,
                                               snapshot->sequence_number},
                                              placed));
    snapshot->manifest_list =
        Put(NewKey(fmt::format("snap-{}-", snapshot->snapshot_id), ".avro"), std::move(list));
    snapshot->manifests.clear();
    for (const char* key : {table::kLastValueIndex, table::kIndexBase, table::kIndexPart}) {
      if (!snapshot->summary.contains(key)) continue;
      std::string& uri = snapshot->summary[key];
      uri = placing_.Uri(uri);
    }
    return Status::OK();
  }

  // Most manifests are of many snapshots.
  Result<ManifestFile> Moved(const ManifestFile& row) {
    if (const auto known = moved_.find(row.manifest_path); known != moved_.end()) {
      return known->second;
    }
    TL_ASSIGN_OR_RAISE(const auto manifest, table::ReadEntries(placing_.env(), row));
    iceberg::ManifestHeader header = manifest->header;
    header.format_version = iceberg::kFormatVersion;
    header.content = row.content;
    header.spec.spec_id = row.partition_spec_id;
    std::vector<iceberg::ManifestEntry> entries = manifest->entries;
    for (iceberg::ManifestEntry& entry : entries) TL_RETURN_NOT_OK(Move(&entry));
    TL_ASSIGN_OR_RAISE(auto bytes, iceberg::WriteManifest(header, entries));
    const int64_t length = bytes->size();
    const std::string uri = Put(NewKey("", "-merged-m.avro"), std::move(bytes));
    TL_ASSIGN_OR_RAISE(ManifestFile described,
                       iceberg::DescribeManifest(header, entries, uri, length,
                                                 row.added_snapshot_id, row.sequence_number));
    ++report_->manifests;
    return moved_.emplace(row.manifest_path, std::move(described)).first->second;
  }

  Status Move(iceberg::ManifestEntry* entry) {
    iceberg::DataFile& file = entry->file;
    const bool live = entry->status != iceberg::EntryStatus::kDeleted;
    if (live) ++report_->files;
    if (file.referenced_data_file)
      file.referenced_data_file = placing_.Uri(*file.referenced_data_file);
    if (file.content != iceberg::FileContent::kPositionDeletes || !live) {
      file.file_path = placing_.Uri(file.file_path);
      return Status::OK();
    }
    auto known = deletes_.find(file.file_path);
    if (known == deletes_.end()) {
      const std::string key = fmt::format("{}/data/{}-deletes.parquet", handle_.folder(),
                                          FormatUuid(NewUuidV4(*handle_.env().random)));
      TL_ASSIGN_OR_RAISE(auto moved, MovePositionDeletes(placing_, file));
      moved.file.file_path = Put(key, std::move(moved.bytes));
      ++report_->delete_files;
      known = deletes_.emplace(file.file_path, std::move(moved.file)).first;
    }
    file = known->second;
    return Status::OK();
  }

  const table::Handle& handle_;
  const Placing& placing_;
  table::Attempt* attempt_;
  RelocateReport* report_;
  std::map<std::string, ManifestFile> moved_;         // by the old path
  std::map<std::string, iceberg::DataFile> deletes_;  // position deletes, alike
};

}  // namespace

Result<RelocateReport> RunRelocate(table::Handle& handle, const table::CommitOptions& options) {
  RelocateReport report;
  TL_ASSIGN_OR_RAISE(
      const table::CommitResult done,
      table::Commit(
          handle,
          [&](const table::Version& base, const std::set<int64_t>&) -> Result<table::BuildResult> {
            table::Env env = handle.env();
            env.cache = nullptr;  // what this process remembers need not have come along
            TL_ASSIGN_OR_RAISE(const Placing placing,
                               Placing::Of(env, *base.metadata, handle.folder()));
            report = {};
            report.from = report.to = base.metadata->location;
            if (!placing.moved()) return table::Settled{};
            table::Attempt attempt;
            attempt.metadata = table::Following(handle, base);
            TL_RETURN_NOT_OK(Mover(handle, placing, &attempt, &report).Run());
            table::StampCommit(handle.env(), &attempt.metadata);
            return attempt;
          },
          options));
  report.relocated = done.committed;
  report.version = done.version.number;
  return report;
}

}  // namespace timelake::maintain
