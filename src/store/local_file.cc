#include "store/local_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

#include <arrow/buffer.h>

namespace timelake::store {
namespace {

constexpr int64_t kBufferBytes = 1 << 20;

// Errors of link and rename after which the name is certainly not there. Others (EIO, ESTALE,
// ETIMEDOUT...) may come after the effect.
bool CertainlyNotNamed(int error) {
  constexpr std::array kCertain = {EACCES,  EBADF,  EDQUOT, EINVAL,     EISDIR, ELOOP,  EMLINK,
                                   ENOENT,  ENOSPC, ENOSYS, EOPNOTSUPP, EPERM,  EROFS,  EXDEV,
                                   ENOTDIR, ENAMETOOLONG};
  return std::find(kCertain.begin(), kCertain.end(), error) != kCertain.end();
}

class FileStream : public arrow::io::OutputStream {
 public:
  explicit FileStream(NewFile file) : file_(std::move(file)) { buffer_.reserve(kBufferBytes); }

  Status Write(const void* data, int64_t size) override {
    TL_RETURN_NOT_OK(CheckOpen());
    if (static_cast<int64_t>(buffer_.size()) + size > kBufferBytes) TL_RETURN_NOT_OK(Flush());
    if (size >= kBufferBytes) {
      TL_RETURN_NOT_OK(Keep(file_->Write(data, size)));
    } else {
      const auto* bytes = static_cast<const char*>(data);
      buffer_.insert(buffer_.end(), bytes, bytes + size);
    }
    position_ += size;
    return Status::OK();
  }
  using arrow::io::OutputStream::Write;

  Status Flush() override {
    TL_RETURN_NOT_OK(CheckOpen());
    TL_RETURN_NOT_OK(Keep(file_->Write(buffer_.data(), static_cast<int64_t>(buffer_.size()))));
    buffer_.clear();
    return Status::OK();
  }

  Result<int64_t> Tell() const override { return position_; }

  Status Close() override {
    if (closed()) return Status::OK();
    Status status = Flush();  // the first error again, if a write has failed
    if (status.ok()) status = file_->NameOrReplace();
    file_.reset();
    return status;
  }

  Status Abort() override {
    file_.reset();
    return Status::OK();
  }

  bool closed() const override { return !file_.has_value(); }

 private:
  Status CheckOpen() const {
    if (closed()) return InvalidArgument("write to a closed stream");
    return failure_;
  }

  // After a failed write the file has a hole: nothing may follow.
  Status Keep(Status status) {
    failure_ = std::move(status);
    return failure_;
  }

  std::optional<NewFile> file_;
  std::vector<char> buffer_;
  int64_t position_ = 0;
  Status failure_;
};

}  // namespace

Result<NewFile> NewFile::Create(std::string target, const LocalAbilities& abilities,
                                Folders* folders) {
  const std::string folder = FolderOf(target);
  // The folder is nearly always there; one that is removed again and again is not worth a loop.
  for (int attempt = 0;; ++attempt) {
    if (abilities.unnamed_files) {
      Fd fd = OpenFd(folder, O_TMPFILE | O_RDWR);
      if (fd.ok()) return NewFile(std::move(target), std::move(fd), "", abilities);
    }
    if (!abilities.unnamed_files || NoUnnamedFiles(errno)) {
      std::string temp = TempName(folder);
      Fd fd = OpenFd(temp, O_CREAT | O_EXCL | O_RDWR);
      if (fd.ok()) return NewFile(std::move(target), std::move(fd), std::move(temp), abilities);
    }
    if (errno != ENOENT || attempt == 2) return ErrnoError(target, "create a new file", errno);
    TL_RETURN_NOT_OK(folders->Make(folder));
  }
}

NewFile::NewFile(NewFile&& other) noexcept
    : target_(std::move(other.target_)),
      fd_(std::move(other.fd_)),
      temp_(std::exchange(other.temp_, std::string())),
      abilities_(other.abilities_) {}

NewFile::~NewFile() {
  if (!temp_.empty()) unlink(temp_.c_str());
}

Status NewFile::Write(const void* data, int64_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written =
        Uninterrupted([&] { return write(fd_.get(), bytes, static_cast<size_t>(size)); });
    if (written < 0) return ErrnoError(target_, "write", errno);
    bytes += written;
    size -= written;
  }
  return Status::OK();
}

Status NewFile::SyncData() {
  if (Uninterrupted([&] { return fdatasync(fd_.get()); }) == 0) return Status::OK();
  return ErrnoError(target_, "fdatasync", errno);
}

Status NewFile::SyncNamed() {
  // These log a file's size and extents whether it has a name or not, and the link together with
  // the folder. btrfs logs nothing of a file without a name. Others: unknown, so on the safe side.
  struct statfs fs;
  if (fstatfs(fd_.get(), &fs) == 0 &&
      (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC)) {
    return Status::OK();
  }
  if (Uninterrupted([&] { return fsync(fd_.get()); }) == 0) return Status::OK();
  return ErrnoError(target_, "fsync", errno);
}

Status NewFile::WriteOut() {
  constexpr unsigned kWriteAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (sync_file_range(fd_.get(), 0, 0, kWriteAndWait) == 0) return Status::OK();
  return SyncData();  // where there is no such call; tells a real error again
}

Result<ObjectInfo> NewFile::Info() const {
  struct stat st;
  if (fstat(fd_.get(), &st) != 0) return ErrnoError(target_, "stat the new file", errno);
  return InfoOf(target_, st);
}

Status NewFile::AgePast(int64_t nanos) {
  const int error = AgeFilePast(fd_.get(), nanos);
  return error == 0 || error == ETIME ? Status::OK()
                                      : ErrnoError(target_, "touch the new file", error);
}

int NewFile::LinkAs(const std::string& path) {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_.get());
  if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return 0;
  if (errno != ENOENT) return errno;
  // The folder has vanished, or /proc is not mounted; newer kernels can do without.
  return linkat(fd_.get(), "", AT_FDCWD, path.c_str(), AT_EMPTY_PATH) == 0 ? 0 : errno;
}

int NewFile::RenameIfAbsent() {
  if (!abilities_.rename_noreplace) return EINVAL;
  if (renameat2(AT_FDCWD, temp_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
    return errno;
  }
  temp_.clear();
  return 0;
}

int NewFile::RenameOver() {
  if (rename(temp_.c_str(), target_.c_str()) != 0) return errno;
  temp_.clear();
  return 0;
}

Result<NewFile::Naming> NewFile::NameIfAbsent(std::string* why) {
  const bool by_rename = !temp_.empty();
  const int error = by_rename ? RenameIfAbsent() : LinkAs(target_);
  if (error == 0) return Naming::kDone;
  if (error == EEXIST) return Naming::kTaken;
  if (by_rename && (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP)) {
    return Unsupported(
        "{}: this file system can neither link a file without a name nor rename one without "
        "replacing what is there, and tables need one of the two to commit safely",
        target_);
  }
  const Status status =
      ErrnoError(target_, by_rename ? "rename the new file to it" : "link the new file", error);
  if (CertainlyNotNamed(error)) return status;
  *why = MessageOf(status);
  return Naming::kUnsure;
}

Status NewFile::NameOrReplace() {
  if (temp_.empty()) {
    int error = LinkAs(target_);
    if (error == 0) return Status::OK();
    if (error != EEXIST) return ErrnoError(target_, "link the new file", error);
    std::string temp = TempName(FolderOf(target_));
    error = LinkAs(temp);
    if (error != 0) return ErrnoError(target_, "link the new file under a temporary name", error);
    temp_ = std::move(temp);
  }
  const int error = RenameOver();
  return error == 0 ? Status::OK() : ErrnoError(target_, "rename the new file to it", error);
}

int AgeFilePast(int fd, int64_t nanos) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    struct stat st;
    if (fstat(fd, &st) != 0) return errno;
    if (ChangeNanos(st) > nanos) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (futimens(fd, nullptr) != 0) return errno;
  }
  return ETIME;
}

std::shared_ptr<arrow::io::OutputStream> MakeFileStream(NewFile file) {
  return std::make_shared<FileStream>(std::move(file));
}

}  // namespace timelake::store
