#include "maintain/verify.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <fmt/format.h>
#include <parquet/metadata.h>

#include "base/parallel.h"
#include "base/text.h"
#include "index/last_value_index.h"
#include "maintain/in_order.h"
#include "maintain/live_files.h"
#include "maintain/newest_of.h"
#include "scan/file_rows.h"
#include "store/cached_store.h"
#include "table/data_file_reader.h"
#include "table/in_use.h"
#include "table/manifests.h"
#include "write/sort.h"

namespace timelake::maintain {
namespace {

constexpr int kFilesAtOnce = 8;

class Verifier {
 public:
  Verifier(table::Handle& handle, const table::Version& version, const write::Target& target,
           const VerifySettings& settings)
      : handle_(handle),
        env_(handle.env()),
        version_(version),
        target_(target),
        settings_(settings) {
    env_.cache = nullptr;  // what this process remembers proves nothing
    env_.store = store::WithFreshCache(env_.store);
  }

  Status Run() {
    for (const iceberg::Snapshot& snapshot : version_.metadata->snapshots) {
      TL_RETURN_NOT_OK(CheckCancelled());
      TL_RETURN_NOT_OK(Snapshot(snapshot));
    }
    TL_RETURN_NOT_OK(Files());
    TL_RETURN_NOT_OK(Index());
    if (settings_.deep) TL_RETURN_NOT_OK(Data());
    return Unreferenced();
  }

  VerifyResult result;

 private:
  Status CheckCancelled() const {
    if (!settings_.cancelled || !settings_.cancelled()) return Status::OK();
    return MakeError(ErrorKind::kCancelled, handle_.name() + ": verification cancelled");
  }

  void Find(const std::string& file, std::string what) {
    const std::lock_guard lock(mutex_);
    result.findings.push_back({file, std::move(what)});
  }

  // A missing or broken file is a finding; a store that gives no answer is an error.
  Status Failed(const std::string& file, const Status& status) {
    const ErrorKind kind = KindOf(status);
    if (kind == ErrorKind::kIo || kind == ErrorKind::kCancelled) return status;
    Find(file, MessageOf(status));
    return Status::OK();
  }

  Status Snapshot(const iceberg::Snapshot& snapshot) {
    ++result.snapshots;
    const auto rows = table::ReadRows(env_, snapshot);
    if (!rows.ok()) return Failed(snapshot.manifest_list, rows.status());
    for (const iceberg::ManifestFile& row : **rows) {
      if (row.sequence_number > snapshot.sequence_number) {
        Find(snapshot.manifest_list,
             fmt::format("{} has sequence number {}, above the snapshot's {}", row.manifest_path,
                         row.sequence_number, snapshot.sequence_number));
      }
      if (seen_.insert(row.manifest_path).second) TL_RETURN_NOT_OK(Manifest(row));
    }
    return Status::OK();
  }

  Status Manifest(const iceberg::ManifestFile& row) {
    ++result.manifests;
    TL_RETURN_NOT_OK(Stored(row.manifest_path, row.manifest_length));
    const auto manifest = table::ReadEntries(env_, row);
    if (!manifest.ok()) return Failed(row.manifest_path, manifest.status());
    int64_t files[3] = {0, 0, 0};
    int64_t least = row.sequence_number;
    for (const iceberg::ManifestEntry& entry : (*manifest)->entries) {
      ++files[static_cast<int>(entry.status)];
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      least = std::min(least, entry.sequence_number.value_or(row.sequence_number));
      files_.emplace(entry.file.file_path, entry.file);
    }
    const auto differs = [&](iceberg::EntryStatus status, int64_t listed) {
      return listed != iceberg::kUnknownCount && listed != files[static_cast<int>(status)];
    };
    if (differs(iceberg::EntryStatus::kAdded, row.added_files_count) ||
        differs(iceberg::EntryStatus::kExisting, row.existing_files_count) ||
        differs(iceberg::EntryStatus::kDeleted, row.deleted_files_count)) {
      Find(row.manifest_path,
           fmt::format("has {} added, {} existing, {} deleted files; its list says {}, {}, {}",
                       files[1], files[0], files[2], row.added_files_count,
                       row.existing_files_count, row.deleted_files_count));
    }
    if (least < row.min_sequence_number) {
      Find(row.manifest_path, fmt::format("has a file of sequence number {}; its list says {} or "
                                          "above",
                                          least, row.min_sequence_number));
    }
    return Status::OK();
  }

  // Whether the object is there, with the size that is recorded.
  Status Stored(const std::string& uri, int64_t size) {
    TL_ASSIGN_OR_RAISE(const std::string key, store::KeyOf(*env_.store, uri));
    TL_ASSIGN_OR_RAISE(const auto reply,
                       table::Retried(env_, [&] { return env_.store->Head(key); }));
    if (!reply.found) {
      Find(uri, "is missing");
    } else if (size > 0 && reply.info.size != size) {
      Find(uri, fmt::format("has {} bytes; {} are recorded", reply.info.size, size));
    }
    return Status::OK();
  }

  Status Files() {
    std::vector<const iceberg::DataFile*> files;
    for (const auto& [path, file] : files_) {
      files.push_back(&file);
      result.bytes += file.file_size_in_bytes;
      ++(file.content == iceberg::FileContent::kData ? result.data_files : result.delete_files);
    }
    return ParallelFor(static_cast<int>(files.size()), kFilesAtOnce, [&](int i) -> Status {
      TL_RETURN_NOT_OK(CheckCancelled());
      const iceberg::DataFile& file = *files[static_cast<size_t>(i)];
      TL_RETURN_NOT_OK(Stored(file.file_path, file.file_size_in_bytes));
      if (ToLowerAscii(file.file_format) != "parquet") return Status::OK();
      table::DataFileRequest request;
      request.uri = file.file_path;
      const auto reader = table::OpenDataFile(env_, request);
      if (!reader.ok()) {
        // That it is missing has been said.
        return KindOf(reader.status()) == ErrorKind::kNotFound
                   ? Status::OK()
                   : Failed(file.file_path, reader.status());
      }
      const int64_t rows = (*reader)->metadata().num_rows();
      if (rows != file.record_count) {
        Find(file.file_path,
             fmt::format("has {} rows; its manifest says {}", rows, file.record_count));
      }
      return Status::OK();
    });
  }

  Status Index() {
    for (const iceberg::Snapshot& snapshot : version_.metadata->snapshots) {
      for (const char* key : {table::kLastValueIndex, table::kIndexBase, table::kIndexPart}) {
        const auto uri = snapshot.summary.find(key);
        if (uri == snapshot.summary.end() || !seen_.insert(uri->second).second) continue;
        const auto rows = index::Read(env_, uri->second, target_.schema);
        if (!rows.ok()) TL_RETURN_NOT_OK(Failed(uri->second, rows.status()));
      }
    }
    return Status::OK();
  }

  // Rows of the files of the current snapshot.
  Status Data() {
    auto read = LiveFiles::Read(env_, version_.metadata, target_);
    if (!read.ok()) return Failed(version_.metadata->location, read.status());
    const LiveFiles& live = **read;
    const bool ordered = write::FollowsOrder(target_);
    bool readable = true;
    for (const LiveFile& file : live.files()) {
      TL_RETURN_NOT_OK(CheckCancelled());
      scan::ScanFile all = *file.file;
      all.position_deletes.clear();
      all.equality_deletes.clear();
      Status rows = Rows(all, file, ordered && file.sorted);
      if (rows.ok()) continue;
      readable = false;
      TL_RETURN_NOT_OK(Failed(file.file->data->file_path, rows));
    }
    const iceberg::Snapshot* head = iceberg::CurrentSnapshot(*version_.metadata);
    if (!readable || head == nullptr || !target_.contract.is_time_series()) return Status::OK();
    return IndexOfData(*head, live);
  }

  Status Rows(const scan::ScanFile& file, const LiveFile& live, bool sorted) {
    std::shared_ptr<arrow::RecordBatchReader> reader =
        scan::ReadFileRows(&env_, version_.metadata.get(), file, {target_.schema, false});
    bool in_order = true;
    int64_t counted = 0;
    if (sorted) {
      reader = std::make_shared<InOrder>(std::move(reader), write::OrderColumns(target_),
                                         file.data->file_path, &counted, &in_order);
    }
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      TL_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) return Status::OK();
      result.rows_read += batch->num_rows();
      if (!target_.contract.time_id) continue;
      const auto& times = *batch->GetColumnByName(target_.contract.time_name);
      const int64_t* values = times.data()->GetValues<int64_t>(1);
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        if (times.IsNull(row)) continue;
        if (values[row] >= live.range.first && values[row] <= live.range.last) continue;
        return Corrupt("a row has a time outside of the bounds in its manifest");
      }
    }
  }

  Status IndexOfData(const iceberg::Snapshot& head, const LiveFiles& live) {
    TL_ASSIGN_OR_RAISE(const auto known,
                       index::ValidAt(env_, *version_.metadata, head, target_.contract));
    if (!known) return Status::OK();
    std::vector<const scan::ScanFile*> files;
    for (const LiveFile& file : live.files()) files.push_back(file.file);
    TL_ASSIGN_OR_RAISE(const auto newest, NewestOf(env_, live, std::move(files), target_.contract));
    const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
    if (!(*known)->Equals(*newest, /*check_metadata=*/false, options)) {
      Find(head.manifest_list, "the last-value index is not the newest row of every series");
    }
    return Status::OK();
  }

  // What no version that is still there refers to.
  Status Unreferenced() {
    TL_RETURN_NOT_OK(CheckCancelled());
    std::vector<store::ObjectInfo> objects;
    for (const char* folder : {"/data/", "/metadata/"}) {
      TL_ASSIGN_OR_RAISE(auto reply, table::Retried(env_, [&] {
                           return env_.store->List(handle_.folder() + folder);
                         }));
      for (auto& info : reply.objects) objects.push_back(std::move(info));
    }
    // What is missing or broken has been said, as far as the newest version needs it.
    TL_ASSIGN_OR_RAISE(const auto in_use,
                       table::InUse::Read(handle_, table::Reading::kSkipMissing));
    for (const store::ObjectInfo& info : objects) {
      if (in_use.Has(info.key)) continue;
      ++result.unreferenced;
      result.unreferenced_bytes += info.size;
    }
    return Status::OK();
  }

  table::Handle& handle_;
  table::Env env_;
  const table::Version& version_;
  const write::Target& target_;
  const VerifySettings& settings_;
  std::mutex mutex_;
  std::set<std::string> seen_;                      // manifests and indexes
  std::map<std::string, iceberg::DataFile> files_;  // of all kept snapshots, by path
};

}  // namespace

Result<VerifyResult> RunVerify(table::Handle& handle, const table::Version& version,
                               const write::Target& target, const VerifySettings& settings) {
  Verifier verifier(handle, version, target, settings);
  TL_RETURN_NOT_OK(verifier.Run());
  return std::move(verifier.result);
}

}  // namespace timelake::maintain
