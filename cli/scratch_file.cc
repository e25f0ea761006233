#include "scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace timelake::cli {
namespace {

// -1 and errno.
int OpenUnnamed(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = folder + "/timelake-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

ScratchFile::~ScratchFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status ScratchFile::Make() {
  std::error_code error;
  folder_ = std::filesystem::temp_directory_path(error).string();
  if (error) return Status::IOError("no folder for temporary files: ", error.message());
  fd_ = OpenUnnamed(folder_);
  if (fd_ < 0) return SystemError("cannot make a temporary file in " + folder_, errno);
  path_ = fmt::format("/proc/self/fd/{}", fd_);
  return Status::OK();
}

Status ScratchFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return SystemError("cannot write a temporary file in " + folder_, errno);
    }
  }
  return Status::OK();
}

Status ScratchFile::Clear() {
  if (::ftruncate(fd_, 0) == 0 && ::lseek(fd_, 0, SEEK_SET) == 0) return Status::OK();
  return SystemError("cannot empty a temporary file in " + folder_, errno);
}

}  // namespace timelake::cli
