#include "output_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace timelake::cli {
namespace {

bool IsPlainFileOrMissing(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

Status WriteAll(int fd, const std::string& name, const char* data, int64_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, static_cast<size_t>(size));
    if (written >= 0) {
      data += written;
      size -= written;
    } else if (errno == EPIPE) {
      return BrokenPipe();
    } else if (errno != EINTR) {
      return SystemError("cannot write to " + name, errno);
    }
  }
  return Status::OK();
}

}  // namespace

Result<std::shared_ptr<ResultStream>> ResultStream::Open(const std::string& path) {
  if (path.empty() || path == "-") {
    return std::shared_ptr<ResultStream>(new ResultStream(STDOUT_FILENO, "standard output"));
  }
  // Devices and pipes are written in place.
  std::string part;
  if (IsPlainFileOrMissing(path)) part = path + ".part-" + std::to_string(::getpid());
  const std::string& target = part.empty() ? path : part;
  const int fd = ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return SystemError("cannot write to " + path, errno);
  auto stream = std::shared_ptr<ResultStream>(new ResultStream(fd, path));
  stream->part_ = std::move(part);
  return stream;
}

ResultStream::~ResultStream() {
  if (fd_ != STDOUT_FILENO) ::close(fd_);
  if (!part_.empty()) ::unlink(part_.c_str());
}

Status ResultStream::Write(const void* data, int64_t size) {
  ARROW_RETURN_NOT_OK(WriteAll(fd_, name_, static_cast<const char*>(data), size));
  position_ += size;
  return Status::OK();
}

Status ResultStream::Commit() {
  if (part_.empty()) return Status::OK();
  if (std::rename(part_.c_str(), name_.c_str()) != 0) {
    return SystemError("cannot write to " + name_, errno);
  }
  part_.clear();
  return Status::OK();
}

Status PrintOut(std::string_view text) {
  return WriteAll(STDOUT_FILENO, "standard output", text.data(), static_cast<int64_t>(text.size()));
}

}  // namespace timelake::cli
