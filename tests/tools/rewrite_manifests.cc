// rewrite_manifests <metadata folder>: reads every manifest (*-m.avro) and manifest list
// (snap-*.avro) of any writer and writes it anew under its name, so that the writer's own reader
// can be tried on our files. Lengths in the lists are brought up to date.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "iceberg/manifest.h"
#include "unit/iceberg/manifest_sample.h"

namespace timelake::iceberg {
namespace {

namespace fs = std::filesystem;

std::string Load(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Status Save(const fs::path& path, const std::shared_ptr<arrow::Buffer>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << ViewOf(bytes);
  file.close();
  return file ? Status::OK() : IoError("cannot write {}", path.string());
}

Status RewriteManifest(const fs::path& path) {
  TL_ASSIGN_OR_RAISE(const Manifest manifest, ReadManifest(Load(path), path.string()));
  TL_ASSIGN_OR_RAISE(auto bytes, WriteManifest(manifest.header, manifest.entries));
  return Save(path, bytes);
}

// All lists of a table are written under the header of none: only rows count here.
Status RewriteList(const fs::path& path, const fs::path& folder) {
  TL_ASSIGN_OR_RAISE(auto rows, ReadManifestList(Load(path), path.string()));
  ManifestListHeader header;
  for (ManifestFile& row : rows) {
    const fs::path manifest = folder / fs::path(row.manifest_path).filename();
    row.manifest_length = static_cast<int64_t>(fs::file_size(manifest));
    if (row.sequence_number > header.sequence_number) {
      header.sequence_number = row.sequence_number;
      header.snapshot_id = row.added_snapshot_id;
    }
  }
  TL_ASSIGN_OR_RAISE(auto bytes, WriteManifestList(header, rows));
  return Save(path, bytes);
}

Status Run(const fs::path& folder) {
  for (const auto& item : fs::directory_iterator(folder)) {
    if (item.path().string().ends_with("-m.avro")) TL_RETURN_NOT_OK(RewriteManifest(item.path()));
  }
  for (const auto& item : fs::directory_iterator(folder)) {
    const bool list = item.path().filename().string().starts_with("snap-");
    if (list) TL_RETURN_NOT_OK(RewriteList(item.path(), folder));
  }
  return Status::OK();
}

}  // namespace
}  // namespace timelake::iceberg

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: rewrite_manifests <metadata folder>\n", stderr);
    return 2;
  }
  const timelake::Status status = timelake::iceberg::Run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
