// write_sample_manifest <folder>: writes manifest.avro, deletes.avro and list.avro with something
// of everything for other Avro readers to be tried on, and as first input of the fuzzer.

#include <cstdio>
#include <fstream>
#include <string>

#include "iceberg/manifest.h"
#include "unit/iceberg/manifest_sample.h"

namespace timelake::iceberg {
namespace {

constexpr int64_t kSnapshotId = 5184430069070270604;
constexpr int64_t kSequenceNumber = 9;

Status Save(const std::string& path, const std::shared_ptr<arrow::Buffer>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << ViewOf(bytes);
  file.close();
  return file ? Status::OK() : IoError("cannot write {}", path);
}

Result<ManifestFile> SaveManifest(const std::string& path, const ManifestHeader& header,
                                  const std::vector<ManifestEntry>& entries) {
  TL_ASSIGN_OR_RAISE(auto bytes, WriteManifest(header, entries));
  TL_RETURN_NOT_OK(Save(path, bytes));
  return DescribeManifest(header, entries, path, bytes->size(), kSnapshotId, kSequenceNumber);
}

Status Run(const std::string& folder) {
  std::vector<ManifestFile> rows(2);
  TL_ASSIGN_OR_RAISE(rows[0],
                     SaveManifest(folder + "/manifest.avro", SampleHeader(), SampleEntries()));
  ManifestHeader header = SampleHeader();
  header.content = ManifestContent::kDeletes;
  header.spec = {};
  ManifestEntry entry = SampleEntry(1);
  entry.file.content = FileContent::kEqualityDeletes;
  entry.file.equality_ids = {1, 2};
  entry.file.partition.clear();
  TL_ASSIGN_OR_RAISE(rows[1], SaveManifest(folder + "/deletes.avro", header, {entry}));
  ManifestListHeader list;
  list.snapshot_id = kSnapshotId;
  list.sequence_number = kSequenceNumber;
  TL_ASSIGN_OR_RAISE(auto bytes, WriteManifestList(list, rows));
  return Save(folder + "/list.avro", bytes);
}

}  // namespace
}  // namespace timelake::iceberg

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_sample_manifest <folder>\n", stderr);
    return 2;
  }
  const timelake::Status status = timelake::iceberg::Run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
