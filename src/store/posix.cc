#include "store/posix.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/random.h"

namespace timelake::store {

void Fd::Reset(int fd) {
  // Not repeated after EINTR: on Linux the descriptor is gone then, perhaps someone else's.
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Fd OpenFd(const std::string& path, int flags, mode_t mode) {
  return Fd(Uninterrupted([&] { return open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

std::string ErrnoText(int error) {
  std::array<char, 256> text{};
  return strerror_r(error, text.data(), text.size());  // the GNU one: returns the text
}

Status ErrnoError(std::string_view path, std::string_view step, int error) {
  std::string message = fmt::format("{}: cannot {}: {}", path, step, ErrnoText(error));
  return MakeError(error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo, std::move(message));
}

bool NoUnnamedFiles(int error) {
  return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOSYS;
}

std::string TempName(const std::string& folder) {
  return fmt::format("{}/{}{:016x}", folder == "/" ? "" : folder, kTempPrefix,
                     SystemRandom()->Next64());
}

std::string FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash));
}

int64_t ChangeNanos(const struct stat& st) {
  return int64_t{st.st_ctim.tv_sec} * 1'000'000'000 + st.st_ctim.tv_nsec;
}

ObjectInfo InfoOf(std::string key, const struct stat& st) {
  ObjectInfo info;
  info.key = std::move(key);
  info.size = st.st_size;
  info.mtime_us = int64_t{st.st_ctim.tv_sec} * 1'000'000 + st.st_ctim.tv_nsec / 1000;
  info.identity = fmt::format("{}-{}", st.st_ino, ChangeNanos(st));
  return info;
}

}  // namespace timelake::store
