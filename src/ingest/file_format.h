#pragma once

#include <memory>
#include <string>

#include <arrow/io/interfaces.h>

#include "base/error.h"
#include "timelake/ingest.h"

namespace timelake::ingest {

// What a file is: by suffix (.parquet, .csv, .tsv, .tab, .txt; each text form also with .gz) where
// `asked` is kAuto, and whether it is gzip by its first bytes, whatever the suffix.
struct FileKind {
  FileFormat format = FileFormat::kCsv;
  bool gzip = false;
};
Result<FileKind> KindOfFile(const std::string& path, FileFormat asked);

bool HasKnownSuffix(const std::string& path);

// The file's bytes, decompressed.
Result<std::shared_ptr<arrow::io::InputStream>> OpenText(const std::string& path, bool gzip);

int64_t FileSize(const std::string& path);  // 0 when it cannot be told

}  // namespace timelake::ingest
