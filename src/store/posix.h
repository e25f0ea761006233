#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "store/object_store.h"

// The little that all files of the local store share: descriptors, errno, stat. Linux.

namespace timelake::store {

// Names of files that are not objects yet: used while a name is replaced, and throughout where a
// file system has no unnamed files. A crash may leave one behind; no listing shows it.
inline constexpr std::string_view kTempPrefix = ".tl-tmp-";

// What a file system is taken to be able to do; a false pretends that it cannot (for tests).
struct LocalAbilities {
  bool unnamed_files = true;     // O_TMPFILE and linkat
  bool rename_noreplace = true;  // renameat2(RENAME_NOREPLACE)
};

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~Fd() { Reset(-1); }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd);

 private:
  int fd_ = -1;
};

// Calls again while a signal interrupts.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

// open with O_CLOEXEC; errno tells why when not ok().
Fd OpenFd(const std::string& path, int flags, mode_t mode = 0666);

std::string ErrnoText(int error);

// "path: cannot <step>: <errno text>"; kNotFound for ENOENT, else kIo.
Status ErrnoError(std::string_view path, std::string_view step, int error);

// What open(O_TMPFILE) answers where there are no unnamed files.
bool NoUnnamedFiles(int error);

// A temporary name in `folder` that nobody has.
std::string TempName(const std::string& folder);

// The folder of a path; "/" for a name below the root.
std::string FolderOf(std::string_view path);

// mtime_us is the change time: for a linked file the moment when it got its name. Identity is
// inode and change time: a name freed and used again, or a file changed in place, looks different.
ObjectInfo InfoOf(std::string key, const struct stat& st);
int64_t ChangeNanos(const struct stat& st);

}  // namespace timelake::store
