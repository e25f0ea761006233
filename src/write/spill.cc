#include "write/spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>

#include "base/text.h"

namespace timelake::write {
namespace {

std::string TempFolder(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  const char* environment = std::getenv("TMPDIR");
  return environment != nullptr && *environment != '\0' ? environment : "/tmp";
}

// A new file that only the descriptor leads to; -1 and errno.
int OpenUnnamed(const std::string& folder) {
#ifdef O_TMPFILE
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
#endif
  const std::string path = folder + "/.timelake-spill-XXXXXX";
  std::vector<char> name(path.begin(), path.end());
  name.push_back('\0');
  const int named = mkstemp(name.data());
  if (named < 0) return -1;
  fcntl(named, F_SETFD, FD_CLOEXEC);
  unlink(name.data());
  return named;
}

Result<arrow::ipc::IpcWriteOptions> WriteOptionsFor(bool parallel) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = parallel;
  for (const auto codec : {arrow::Compression::LZ4_FRAME, arrow::Compression::ZSTD}) {
    if (!arrow::util::Codec::IsAvailable(codec)) continue;
    TL_ASSIGN_OR_RAISE(auto made, arrow::util::Codec::Create(codec));
    options.codec = std::move(made);
    break;
  }
  return options;
}

}  // namespace

// Frees what it has read. Batches outlive it: they are decompressed copies.
class SpillFile::Reader : public arrow::RecordBatchReader {
 public:
  Reader(const SpillFile* file, const SpilledRun& run,
         std::shared_ptr<arrow::RecordBatchReader> batches)
      : file_(file), run_(run), batches_(std::move(batches)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return batches_->schema(); }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    Status status = batches_->ReadNext(batch);
    if (!status.ok()) return file_->WithFolder(status);
    if (*batch == nullptr) Free();
    return Status::OK();
  }

 private:
  // Best effort: file systems that cannot punch holes keep the space until the append ends.
  void Free() {
#ifdef FALLOC_FL_PUNCH_HOLE
    if (!std::exchange(freed_, true)) {
      (void)fallocate(file_->fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, run_.offset,
                      run_.length);
    }
#endif
  }

  const SpillFile* file_;
  SpilledRun run_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  bool freed_ = false;
};

Status SpillFile::WithFolder(const Status& status) const {
  return WithContext(status, "rows that wait in " + Quote(folder_) + " (setting temp-directory)");
}

Result<std::unique_ptr<SpillFile>> SpillFile::Create(const std::string& folder) {
  std::unique_ptr<SpillFile> file(new SpillFile(TempFolder(folder)));
  const int fd = OpenUnnamed(file->folder_);
  if (fd < 0) {
    return IoError(
        "cannot make a temporary file in {} (setting temp-directory, environment variable TMPDIR): "
        "{}",
        Quote(file->folder_), std::strerror(errno));
  }
  auto source = arrow::io::ReadableFile::Open(fd);
  if (!source.ok()) {
    close(fd);
    return file->WithFolder(source.status());
  }
  file->source_ = *std::move(source);
  file->fd_ = fd;
  const int written = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (written < 0) return IoError("{}: {}", file->folder_, std::strerror(errno));
  auto sink = arrow::io::FileOutputStream::Open(written);
  if (!sink.ok()) {
    close(written);
    return file->WithFolder(sink.status());
  }
  file->sink_ = *std::move(sink);
  return file;
}

Result<SpilledRun> SpillFile::Write(const std::shared_ptr<arrow::Schema>& schema,
                                    const NextBatch& next, bool parallel) {
  SpilledRun run;
  run.offset = end_;
  TL_ASSIGN_OR_RAISE(const auto options, WriteOptionsFor(parallel));
  auto writer = arrow::ipc::MakeStreamWriter(sink_, schema, options);
  if (!writer.ok()) return WithFolder(writer.status());
  while (true) {
    TL_ASSIGN_OR_RAISE(auto batch, next());
    if (batch == nullptr) break;
    run.rows += batch->num_rows();
    if (Status status = (*writer)->WriteRecordBatch(*batch); !status.ok()) {
      return WithFolder(status);
    }
  }
  if (Status status = (*writer)->Close(); !status.ok()) return WithFolder(status);
  TL_ASSIGN_OR_RAISE(end_, sink_->Tell());
  run.length = end_ - run.offset;
  return run;
}

Result<std::shared_ptr<arrow::RecordBatchReader>> SpillFile::Read(const SpilledRun& run) const {
  TL_ASSIGN_OR_RAISE(auto stream,
                     arrow::io::RandomAccessFile::GetStream(source_, run.offset, run.length));
  auto batches = arrow::ipc::RecordBatchStreamReader::Open(std::move(stream));
  if (!batches.ok()) return WithFolder(batches.status());
  return std::make_shared<Reader>(this, run, *std::move(batches));
}

}  // namespace timelake::write
