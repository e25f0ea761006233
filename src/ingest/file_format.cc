#include "ingest/file_format.h"

#include <sys/stat.h>

#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>

#include <arrow/buffer.h>

#include "base/text.h"

namespace timelake::ingest {
namespace {

struct Suffix {
  const char* text;
  FileFormat format;
};
constexpr Suffix kSuffixes[] = {{".parquet", FileFormat::kParquet},
                                {".pq", FileFormat::kParquet},
                                {".csv", FileFormat::kCsv},
                                {".tsv", FileFormat::kTsv},
                                {".tab", FileFormat::kTsv}};

FileFormat BySuffix(const std::string& path) {
  std::string name = ToLowerAscii(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const Suffix& suffix : kSuffixes) {
    if (name.ends_with(suffix.text)) return suffix.format;
  }
  return FileFormat::kAuto;
}

}  // namespace

bool HasKnownSuffix(const std::string& path) { return BySuffix(path) != FileFormat::kAuto; }

Result<FileKind> KindOfFile(const std::string& path, FileFormat asked) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return NotFound("file {} does not exist", path);
  TL_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  TL_ASSIGN_OR_RAISE(auto head, file->Read(4));
  const std::string magic = head->ToString();
  FileKind kind;
  kind.gzip = magic.starts_with("\x1f\x8b");
  kind.format = asked == FileFormat::kAuto ? BySuffix(path) : asked;
  if (kind.format == FileFormat::kAuto && magic == "PAR1") kind.format = FileFormat::kParquet;
  if (kind.format == FileFormat::kAuto) {
    return InvalidArgument(
        "file {}: its name does not say what it is; accepted are .parquet, .csv, .tsv "
        "(also .gz), or give the format",
        path);
  }
  if (head->size() == 0) return InvalidArgument("file {} is empty", path);
  if (kind.format == FileFormat::kParquet && magic != "PAR1") {
    return InvalidArgument("file {} is not a Parquet file: it does not begin with PAR1", path);
  }
  return kind;
}

Result<std::shared_ptr<arrow::io::InputStream>> OpenText(const std::string& path, bool gzip) {
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::io::InputStream> file,
                     arrow::io::ReadableFile::Open(path));
  if (!gzip) return file;
  TL_ASSIGN_OR_RAISE(auto codec, arrow::util::Codec::Create(arrow::Compression::GZIP));
  // The stream keeps no reference to the codec beyond its decompressor.
  TL_ASSIGN_OR_RAISE(auto text, arrow::io::CompressedInputStream::Make(codec.get(), file));
  return std::static_pointer_cast<arrow::io::InputStream>(text);
}

int64_t FileSize(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

}  // namespace timelake::ingest
