#include <algorithm>
#include <iterator>
#include <utility>

#include "scan/delete_index.h"
#include "base/parallel.h"
#include "scan/prune.h"
#include "scan/scan.h"
#include "table/manifests.h"

namespace timelake::scan {
namespace {

using iceberg::ManifestContent;
using iceberg::ManifestEntry;
using iceberg::ManifestFile;
using iceberg::PartitionSpec;
using iceberg::TableMetadata;
using ManifestPtr = std::shared_ptr<const iceberg::Manifest>;

// Manifests read at once: enough to hide an object store's latency.
constexpr size_t kManifestsAtOnce = 16;

// A manifest that survived, with the spec that its files are partitioned by.
struct Opened {
  ManifestFile row;
  ManifestPtr manifest;
  PartitionSpec spec;
};

// Nothing but removed files. A count that the list leaves out is kUnknownCount, not 0.
bool HasNoLiveFile(const ManifestFile& row) {
  return row.added_files_count == 0 && row.existing_files_count == 0;
}

class Planner {
 public:
  Planner(const table::Env& env, const TableMetadata& metadata, const Predicate& predicate)
      : env_(env),
        metadata_(metadata),
        schema_(*iceberg::CurrentSchema(metadata)),
        predicate_(predicate),
        counters_(std::make_shared<Counters>()),
        deletes_(env.store) {}

  Result<Plan> Run(const iceberg::Snapshot& snapshot) {
    TL_ASSIGN_OR_RAISE(const auto opened, OpenAll(snapshot));
    for (const Opened& one : opened) {
      if (one.row.content != ManifestContent::kDeletes) continue;
      for (const ManifestEntry& entry : one.manifest->entries) AddDelete(entry, one.spec);
    }
    Plan plan;
    plan.counters = counters_;
    for (const Opened& one : opened) {
      if (one.row.content == ManifestContent::kDeletes) continue;
      TL_RETURN_NOT_OK(AddFiles(one, &plan.files));
    }
    std::sort(plan.files.begin(), plan.files.end(), [](const ScanFile& a, const ScanFile& b) {
      return a.data->file_path < b.data->file_path;
    });
    return plan;
  }

  Result<FileList> List(const iceberg::Snapshot& snapshot) {
    TL_ASSIGN_OR_RAISE(const auto opened, OpenAll(snapshot));
    FileList files;
    for (const Opened& one : opened) {
      if (one.row.content == ManifestContent::kDeletes) continue;
      for (const ManifestEntry& entry : one.manifest->entries) {
        if (!IsLive(entry) || CanSkipFile(entry.file, one.spec, schema_, predicate_)) continue;
        files.emplace_back(one.manifest, &entry.file);
      }
    }
    return files;
  }

 private:
  Result<std::vector<Opened>> OpenAll(const iceberg::Snapshot& snapshot) {
    TL_ASSIGN_OR_RAISE(auto rows, table::ReadRows(env_, snapshot));
    std::vector<Opened> opened;
    for (const ManifestFile& row : *rows) {
      ++counters_->manifests_total;
      if (IsSkipped(row)) {
        ++counters_->manifests_pruned;
        if (row.content == ManifestContent::kData) {
          const int64_t files = std::max<int64_t>(0, row.added_files_count) +
                                std::max<int64_t>(0, row.existing_files_count);
          counters_->files_total += files;
          counters_->files_pruned += files;
        }
      } else {
        opened.push_back(Opened{.row = row, .manifest = nullptr, .spec = {}});
      }
    }
    // One after another where the store has no latency (and simulations must be repeatable).
    const bool local_memory = env_.store->scheme() == "memory";
    const bool waits = std::any_of(opened.begin(), opened.end(), [&](const Opened& one) {
      return table::MustFetchEntries(env_, one.row);
    });
    TL_RETURN_NOT_OK(RunConcurrently(opened.size(), local_memory ? 1 : kManifestsAtOnce, waits,
                                     [&](size_t i) { return Open(&opened[i]); }));
    return opened;
  }

  // Delete manifests are pruned alike: what they hold applies within its own partition only.
  bool IsSkipped(const ManifestFile& row) const {
    if (HasNoLiveFile(row)) return true;
    const PartitionSpec* spec = iceberg::SpecById(metadata_, row.partition_spec_id);
    return spec && CanSkipManifest(row, *spec, schema_, predicate_);
  }

  Status Open(Opened* one) const {
    TL_ASSIGN_OR_RAISE(one->manifest, table::ReadEntries(env_, one->row));
    const int spec_id = one->row.partition_spec_id;
    const PartitionSpec* spec = iceberg::SpecById(metadata_, spec_id);
    one->spec = spec ? *spec : one->manifest->header.spec;
    one->spec.spec_id = spec_id;
    return Status::OK();
  }

  static bool IsLive(const ManifestEntry& entry) {
    return entry.status != iceberg::EntryStatus::kDeleted;
  }

  void AddDelete(const ManifestEntry& entry, const PartitionSpec& spec) {
    if (IsLive(entry)) deletes_.Add(entry, spec);
  }

  Status AddFiles(const Opened& one, std::vector<ScanFile>* files) {
    for (const ManifestEntry& entry : one.manifest->entries) {
      if (!IsLive(entry)) continue;
      if (entry.file.content != iceberg::FileContent::kData) {
        return Corrupt("{}: a delete file ({}) in a manifest of data files", one.row.manifest_path,
                       entry.file.file_path);
      }
      ++counters_->files_total;
      if (CanSkipFile(entry.file, one.spec, schema_, predicate_)) {
        ++counters_->files_pruned;
        continue;
      }
      ScanFile file;
      file.data = {one.manifest, &entry.file};
      file.spec_id = one.spec.spec_id;
      file.sequence_number = entry.sequence_number.value_or(0);
      file.snapshot_id = entry.snapshot_id;
      deletes_.Assign(&file);
      files->push_back(std::move(file));
    }
    return Status::OK();
  }

  const table::Env& env_;
  const TableMetadata& metadata_;
  const iceberg::Schema& schema_;
  const Predicate& predicate_;
  std::shared_ptr<Counters> counters_;
  DeleteIndex deletes_;
};

}  // namespace

Result<Plan> PlanFiles(const table::Env& env, const iceberg::TableMetadata& metadata,
                       const iceberg::Snapshot* snapshot, const Predicate& predicate) {
  if (!snapshot) {
    Plan plan;
    plan.counters = std::make_shared<Counters>();
    return plan;
  }
  return Planner(env, metadata, predicate).Run(*snapshot);
}

Result<FileList> ListFiles(const table::Env& env, const iceberg::TableMetadata& metadata,
                           const iceberg::Snapshot* snapshot, const Predicate& predicate) {
  if (!snapshot) return FileList();
  return Planner(env, metadata, predicate).List(*snapshot);
}

}  // namespace timelake::scan
