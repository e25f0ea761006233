#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "iceberg/arrow_schema.h"
#include "index/index_parts.h"
#include "index/last_value_index.h"
#include "table/data_file_reader.h"
#include "table/manifests.h"

namespace timelake::index {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// Why there is no index. Not an error: the caller scans.
Status NoIndex(std::string reason) { return NotFound("{}", reason); }

struct AddedFile {
  int64_t sequence_number = 0;
  table::DataFileRequest request;
};

table::DataFileRequest RequestOf(const iceberg::DataFile& file, const iceberg::PartitionSpec& spec,
                                 const iceberg::Schema& schema) {
  table::DataFileRequest request;
  request.uri = file.file_path;
  request.size = file.file_size_in_bytes;
  request.fields = schema.fields;
  for (size_t i = 0; i < spec.fields.size() && i < file.partition.size(); ++i) {
    if (spec.fields[i].transform.kind == iceberg::TransformKind::kIdentity) {
      request.constants.emplace_back(spec.fields[i].source_id, file.partition[i]);
    }
  }
  return request;
}

// The live data files that came with the snapshots since, in the order of writes.
Result<std::vector<AddedFile>> FilesSince(const table::Env& env, const iceberg::Snapshot& snapshot,
                                          const Ancestor& base, const iceberg::Schema& schema,
                                          int64_t max_bytes) {
  TL_ASSIGN_OR_RAISE(auto rows, table::ReadRows(env, snapshot));
  std::vector<AddedFile> files;
  int64_t bytes = 0;
  for (const iceberg::ManifestFile& row : *rows) {
    if (row.content == iceberg::ManifestContent::kDeletes) {
      return NoIndex("the table has delete files");
    }
    // A manifest holds no entry that is younger than itself. (Version 1 has no sequence numbers.)
    if (row.sequence_number != 0 && row.sequence_number <= base.sequence_number) continue;
    TL_ASSIGN_OR_RAISE(auto manifest, table::ReadEntries(env, row));
    for (const iceberg::ManifestEntry& entry : manifest->entries) {
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      if (!base.since.count(entry.snapshot_id.value_or(row.added_snapshot_id))) continue;
      bytes += entry.file.file_size_in_bytes;
      if (bytes > max_bytes) {
        return NoIndex(
            fmt::format("more than {} bytes were added since the last index", max_bytes));
      }
      files.push_back({entry.sequence_number.value_or(row.sequence_number),
                       RequestOf(entry.file, manifest->header.spec, schema)});
    }
  }
  std::sort(files.begin(), files.end(), [](const AddedFile& a, const AddedFile& b) {
    return std::tie(a.sequence_number, a.request.uri) < std::tie(b.sequence_number, b.request.uri);
  });
  return files;
}

// The rows of files, one file after the other.
class FileRows : public arrow::RecordBatchReader {
 public:
  FileRows(const table::Env* env, std::shared_ptr<arrow::Schema> schema,
           std::vector<AddedFile> files)
      : env_(env), schema_(std::move(schema)), files_(std::move(files)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(Batch* batch) override {
    while (true) {
      batch->reset();
      if (reader_) TL_RETURN_NOT_OK(reader_->ReadNext(batch));
      if (*batch) return Status::OK();
      reader_.reset();
      if (next_ == files_.size()) return Status::OK();
      TL_ASSIGN_OR_RAISE(file_, table::OpenDataFile(*env_, files_[next_++].request));
      std::vector<int> row_groups(static_cast<size_t>(file_->num_row_groups()));
      std::iota(row_groups.begin(), row_groups.end(), 0);
      TL_ASSIGN_OR_RAISE(reader_, file_->Read(row_groups));
    }
  }

 private:
  const table::Env* env_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<AddedFile> files_;
  size_t next_ = 0;
  std::unique_ptr<table::DataFileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> reader_;
};

Result<Batch> NewestOf(const table::Env& env, const iceberg::Schema& schema,
                       const table::Contract& contract, std::vector<AddedFile> files) {
  return NewestRows(std::make_shared<FileRows>(&env, iceberg::ToArrow(schema), std::move(files)),
                    schema, contract);
}

Result<Batch> Extend(const table::Env& env, const iceberg::Snapshot& snapshot, const Ancestor& base,
                     const iceberg::Schema& schema, const table::Contract& contract,
                     int64_t max_bytes) {
  Batch index;
  if (base.parts) {
    TL_ASSIGN_OR_RAISE(index, ReadParts(env, *base.parts, schema, contract));
  } else {
    TL_ASSIGN_OR_RAISE(index, arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(schema)));
  }
  if (base.since.empty()) return index;
  TL_ASSIGN_OR_RAISE(auto files, FilesSince(env, snapshot, base, schema, max_bytes));
  const auto first_new = std::find_if(files.begin(), files.end(), [&](const AddedFile& file) {
    return file.sequence_number > base.sequence_number;
  });
  if (first_new != files.begin()) {
    TL_ASSIGN_OR_RAISE(auto moved, NewestOf(env, schema, contract, {files.begin(), first_new}));
    TL_RETURN_NOT_OK(CheckMoved(index, moved, schema, contract, /*order_kept=*/false));
  }
  TL_ASSIGN_OR_RAISE(auto newer, NewestOf(env, schema, contract, {first_new, files.end()}));
  return Merge(index, newer, schema, contract);
}

}  // namespace

Result<std::optional<Batch>> ValidAt(const table::Env& env, const iceberg::TableMetadata& metadata,
                                     const iceberg::Snapshot& snapshot,
                                     const table::Contract& contract, int64_t max_bytes) {
  const auto find = [&]() -> Result<Batch> {
    if (!contract.is_time_series()) return NoIndex("the table has no time column");
    TL_ASSIGN_OR_RAISE(const Ancestor base, FindAncestor(env, metadata, snapshot));
    return Extend(env, snapshot, base, *iceberg::CurrentSchema(metadata), contract, max_bytes);
  };
  Result<Batch> index = find();
  if (index.ok()) return std::optional<Batch>(*std::move(index));
  // Also when a part is unreadable: whoever asks can read the data instead, and will meet the error
  // again if it concerns the data.
  env.Metric("index.miss");
  env.Log(LogLevel::kInfo,
          fmt::format("{}: no last-value index at snapshot {}: {}", metadata.location,
                      snapshot.snapshot_id, MessageOf(index.status())));
  return std::optional<Batch>();
}

}  // namespace timelake::index
