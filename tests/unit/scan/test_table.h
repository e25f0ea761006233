#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "scan/scan.h"
#include "unit/scan/sample_rows.h"
#include "unit/table/data_file_testing.h"

namespace timelake::scan {

// A table in memory, put together file by file as other engines may have done it.
class TestTable {
 public:
  TestTable(iceberg::Schema schema, std::vector<iceberg::PartitionSpec> specs)
      : env_(table::MemoryEnv()) {
    metadata_.schemas = {std::move(schema)};
    metadata_.partition_specs = std::move(specs);
  }

  const table::Env& env() const { return env_; }
  iceberg::TableMetadata& metadata() { return metadata_; }
  const iceberg::Schema& schema() const { return *iceberg::CurrentSchema(metadata_); }

  // Writes Parquet in the table's own types; one JSON array per column of the schema.
  iceberg::DataFile Write(const std::string& name, const std::vector<std::string>& columns,
                          std::vector<iceberg::Value> partition = {},
                          const table::FileOptions& options = {}) {
    return WriteAs(name, iceberg::ToArrow(schema())->fields(), columns, std::move(partition),
                   options);
  }

  iceberg::DataFile WriteAs(const std::string& name, const arrow::FieldVector& fields,
                            const std::vector<std::string>& columns,
                            std::vector<iceberg::Value> partition = {},
                            const table::FileOptions& options = {}) {
    arrow::ArrayVector arrays;
    for (size_t i = 0; i < fields.size(); ++i) {
      arrays.push_back(table::FromJson(fields[i]->type(), columns[i]));
    }
    auto bytes = table::ParquetBytes(fields, arrays, options);
    iceberg::DataFile file;
    file.record_count = arrays.empty() ? 0 : arrays[0]->length();
    file.file_size_in_bytes = bytes->size();
    file.file_path = table::PutBytes(env_, "t/data/" + name, std::move(bytes));
    file.partition = std::move(partition);
    return file;
  }

  // Deletes of (path, position) pairs.
  iceberg::DataFile WritePositionDeletes(const std::string& name,
                                         const std::vector<std::pair<std::string, int64_t>>& rows,
                                         std::vector<iceberg::Value> partition = {}) {
    std::string paths, positions;
    for (const auto& [path, position] : rows) {
      paths += (paths.empty() ? "\"" : ", \"") + path + "\"";
      positions += (positions.empty() ? "" : ", ") + std::to_string(position);
    }
    auto file = WriteAs(name,
                        {table::ArrowColumn("file_path", arrow::utf8(), 2147483546, false),
                         table::ArrowColumn("pos", arrow::int64(), 2147483545, false)},
                        {"[" + paths + "]", "[" + positions + "]"}, std::move(partition));
    file.content = iceberg::FileContent::kPositionDeletes;
    return file;
  }

  iceberg::DataFile WriteEqualityDeletes(const std::string& name, const std::vector<int>& ids,
                                         const std::vector<std::string>& columns,
                                         std::vector<iceberg::Value> partition = {}) {
    arrow::FieldVector fields;
    for (int id : ids) {
      iceberg::Schema one;
      one.fields = {*iceberg::FindFieldById(schema(), id)};
      fields.push_back(iceberg::ToArrow(one)->field(0));
    }
    auto file = WriteAs(name, fields, columns, std::move(partition));
    file.content = iceberg::FileContent::kEqualityDeletes;
    file.equality_ids = ids;
    return file;
  }

  // A snapshot that adds the files, all of one spec and either data or deletes.
  void Commit(const std::vector<iceberg::DataFile>& files, int spec_id = 0) {
    std::vector<iceberg::ManifestEntry> entries;
    for (const auto& file : files) {
      entries.push_back({});
      entries.back().file = file;
    }
    CommitEntries(entries, spec_id);
  }

  void CommitEntries(const std::vector<iceberg::ManifestEntry>& entries, int spec_id = 0) {
    const int64_t number = ++metadata_.last_sequence_number;
    iceberg::ManifestHeader header;
    header.schema = schema();
    header.spec = *iceberg::SpecById(metadata_, spec_id);
    header.content = entries[0].file.content == iceberg::FileContent::kData
                         ? iceberg::ManifestContent::kData
                         : iceberg::ManifestContent::kDeletes;
    auto bytes = iceberg::WriteManifest(header, entries).ValueOrDie();
    const int64_t length = bytes->size();
    const std::string uri =
        table::PutBytes(env_, "t/metadata/m" + std::to_string(number), std::move(bytes));
    rows_.push_back(
        iceberg::DescribeManifest(header, entries, uri, length, number, number).ValueOrDie());
    iceberg::Snapshot snapshot;
    snapshot.snapshot_id = snapshot.sequence_number = number;
    auto list = iceberg::WriteManifestList({number, std::nullopt, number}, rows_).ValueOrDie();
    snapshot.manifest_list =
        table::PutBytes(env_, "t/metadata/l" + std::to_string(number), std::move(list));
    metadata_.snapshots.push_back(snapshot);
    metadata_.current_snapshot_id = number;
  }

  Result<Plan> MakePlan(const Predicate& predicate = {}) const {
    return PlanFiles(env_, metadata_, iceberg::CurrentSnapshot(metadata_), predicate);
  }

  // File names of a plan, without their folder.
  static std::vector<std::string> Names(const std::vector<ScanFile>& files) {
    std::vector<std::string> names;
    for (const ScanFile& file : files) names.push_back(NameOf(*file.data));
    return names;
  }
  static std::string NameOf(const iceberg::DataFile& file) {
    return file.file_path.substr(file.file_path.rfind('/') + 1);
  }

  Result<std::shared_ptr<Scanner>> MakeScanner(std::vector<int> field_ids, Predicate predicate = {},
                                               int64_t batch_rows = 2048,
                                               bool keep_dictionaries = false) const {
    TL_ASSIGN_OR_RAISE(Plan plan, MakePlan(predicate));
    ScanRequest request;
    request.schema = schema();
    request.field_ids = std::move(field_ids);
    request.predicate = std::move(predicate);
    request.batch_rows = batch_rows;
    request.keep_dictionaries = keep_dictionaries;
    return Scanner::Make(env_, metadata_, std::move(plan), std::move(request));
  }

  // Rows as "1, a", sorted as text.
  Result<std::vector<std::string>> Scan(std::vector<int> field_ids, Predicate predicate = {},
                                        int64_t batch_rows = 2048,
                                        bool keep_dictionaries = false) const {
    TL_ASSIGN_OR_RAISE(auto scanner,
                       MakeScanner(field_ids, predicate, batch_rows, keep_dictionaries));
    std::vector<std::string> rows;
    while (true) {
      TL_ASSIGN_OR_RAISE(auto reader, scanner->Next());
      if (!reader) break;
      TL_RETURN_NOT_OK(Append(reader.get(), &rows));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  static Status Append(arrow::RecordBatchReader* reader, std::vector<std::string>* rows) {
    while (true) {
      TL_ASSIGN_OR_RAISE(auto batch, reader->Next());
      if (!batch) return Status::OK();
      TL_RETURN_NOT_OK(batch->ValidateFull());
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        std::string row;
        for (const auto& column : batch->columns()) {
          TL_ASSIGN_OR_RAISE(auto scalar, column->GetScalar(i));
          if (scalar->type->id() == arrow::Type::DICTIONARY) {
            TL_ASSIGN_OR_RAISE(
                scalar, static_cast<const arrow::DictionaryScalar&>(*scalar).GetEncodedValue());
          }
          row += (row.empty() ? "" : ", ") + scalar->ToString();
        }
        rows->push_back(row);
      }
    }
  }

 private:
  table::Env env_;
  iceberg::TableMetadata metadata_;
  std::vector<iceberg::ManifestFile> rows_;
};

}  // namespace timelake::scan
