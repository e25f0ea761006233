#include "store/spare_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "store/local_file.h"

namespace timelake::store {
namespace {

// A name that is replaced so often will be again.
constexpr int kSeldom = 3;
constexpr int kMuchLater = 1000;  // where it cannot be done
constexpr size_t kMostSpares = 16;

}  // namespace

SpareFiles::~SpareFiles() {
  for (Spare& spare : spares_) Drop(&spare);
}

// A child's copy is not its own.
void SpareFiles::Drop(Spare* spare) {
  if (!spare->temp.empty() && spare->owner == getpid()) unlink(spare->temp.c_str());
  spare->temp.clear();
  spare->fd.Reset(-1);
  spare->on_disk = false;
}

SpareFiles::Spare* SpareFiles::Find(const std::string& path) {
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const Spare& spare) { return spare.path == path; });
  if (found != spares_.end()) {
    spares_.splice(spares_.begin(), spares_, found);
  } else {
    spares_.emplace_front().path = path;
    if (spares_.size() > kMostSpares) {
      Drop(&spares_.back());
      spares_.pop_back();
    }
  }
  return &spares_.front();
}

bool SpareFiles::Has(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return std::any_of(spares_.begin(), spares_.end(), [&](const Spare& spare) {
    return spare.path == path && spare.replaced >= kSeldom;
  });
}

// There is a file of our own that nobody else has a name for. Who opened it while it had the name
// may read it only now: that is a later text, but never one that is cut off.
bool SpareFiles::Ready(Spare* spare, int64_t size) {
  if (!spare->temp.empty() && spare->owner == getpid()) {
    struct stat named, open;
    if (lstat(spare->temp.c_str(), &named) == 0 && fstat(spare->fd.get(), &open) == 0 &&
        named.st_ino == open.st_ino && named.st_dev == open.st_dev && open.st_nlink == 1 &&
        S_ISREG(open.st_mode) && open.st_size == size) {
      return true;
    }
  }
  Drop(spare);
  std::string temp = TempName(FolderOf(spare->path));
  Fd fd = OpenFd(temp, O_CREAT | O_EXCL | O_RDWR);
  if (!fd.ok()) return false;
  spare->temp = std::move(temp);
  spare->fd = std::move(fd);
  spare->owner = getpid();
  return true;
}

bool SpareFiles::Write(Spare* spare, const arrow::Buffer& bytes, int64_t present) {
  const int fd = spare->fd.get();
  const auto size = static_cast<size_t>(bytes.size());
  if (Uninterrupted([&] { return pwrite(fd, bytes.data(), size, 0); }) != bytes.size()) {
    return false;
  }
  // A power loss leaves either text, once there is one.
  if (!spare->on_disk && fdatasync(fd) != 0) return false;
  spare->on_disk = true;
  // It must not get the identity of the file that it replaces, whose inode it may once have been.
  return AgeFilePast(fd, present) == 0;
}

std::optional<ObjectInfo> SpareFiles::Swap(const std::string& path, const arrow::Buffer& bytes,
                                           int64_t present) {
  const std::lock_guard lock(mutex_);
  Spare* spare = Find(path);
  if (spare->replaced < kSeldom) {
    ++spare->replaced;
    return std::nullopt;
  }
  if (!Ready(spare, bytes.size()) || !Write(spare, bytes, present) ||
      renameat2(AT_FDCWD, spare->temp.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0) {
    Drop(spare);
    spare->replaced = kSeldom - kMuchLater;
    return std::nullopt;
  }
  struct stat put, before;
  const bool known = fstat(spare->fd.get(), &put) == 0;
  // What had the name before is next.
  spare->fd = OpenFd(spare->temp, O_RDWR);
  spare->on_disk = fstat(spare->fd.get(), &before) == 0 && before.st_ino == spare->put;
  spare->put = known ? put.st_ino : 0;
  if (!spare->fd.ok()) Drop(spare);
  if (!known) return std::nullopt;
  return InfoOf(path, put);
}

}  // namespace timelake::store
