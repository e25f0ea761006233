#include "store/local_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

namespace timelake::store {
namespace {

// fsync of a folder; 0 or errno. Some file systems have no such thing and say so: what they have
// done by then is all they can.
int FsyncFolder(const std::string& folder) {
  const Fd fd = OpenFd(folder, O_RDONLY | O_DIRECTORY);
  if (!fd.ok()) return errno;
  if (Uninterrupted([&] { return fsync(fd.get()); }) == 0) return 0;
  return errno == EINVAL || errno == EOPNOTSUPP ? 0 : errno;
}

int64_t CoarseClockMicros() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME_COARSE, &ts);
  return int64_t{ts.tv_sec} * 1'000'000 + ts.tv_nsec / 1000;
}

}  // namespace

Status Folders::Make(const std::string& folder) {
  std::vector<std::string> missing = {folder};
  // Some file systems (/proc) say "no such folder" although the one above exists, and others may
  // delete folders meanwhile: a few tries a level are enough, or never will be.
  const auto levels = std::count(folder.begin(), folder.end(), '/');
  for (int64_t tries = 4 * levels + 4; !missing.empty(); --tries) {
    const std::string next = missing.back();
    if (tries == 0) return ErrnoError(next, "create the folder", ENOENT);
    if (mkdir(next.c_str(), 0777) == 0) {
      std::lock_guard lock(mutex_);
      durable_.erase(next);
    } else if (errno == ENOENT && next != "/") {
      missing.push_back(FolderOf(next));
      continue;
    } else if (errno != EEXIST) {
      return ErrnoError(next, "create the folder", errno);
    }
    missing.pop_back();
  }
  return Status::OK();
}

Status Folders::SyncNames(const std::string& folder) {
  std::vector<std::string> unknown;
  {
    std::lock_guard lock(mutex_);
    for (std::string at = folder; at != "/" && !durable_.contains(at); at = FolderOf(at)) {
      unknown.push_back(at);
    }
  }
  // From the top: a folder is marked only when all above it are, so that the walk may stop at it.
  for (auto at = unknown.rbegin(); at != unknown.rend(); ++at) {
    const std::string above = FolderOf(*at);
    // A folder that we may not read was not created by us, but long before (as /home).
    if (const int error = FsyncFolder(above); error != 0 && error != EACCES) {
      return ErrnoError(above, fmt::format("fsync the folder, for the new name {}", *at), error);
    }
    std::lock_guard lock(mutex_);
    durable_.insert(*at);
  }
  return Status::OK();
}

Status SyncFolder(const std::string& folder) {
  const int error = FsyncFolder(folder);
  return error == 0 ? Status::OK() : ErrnoError(folder, "fsync the folder", error);
}

int64_t FolderClocks::Date(const std::string& folder, const LocalAbilities& abilities) {
  struct stat st;
  if (abilities.unnamed_files) {
    if (stat(folder.c_str(), &st) != 0) return CoarseClockMicros();
    const dev_t device = st.st_dev;
    std::lock_guard lock(mutex_);
    if (const auto known = files_.find(device); known != files_.end()) {
      constexpr timespec kTouch[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
      const int fd = known->second.get();
      if (futimens(fd, kTouch) == 0 && fstat(fd, &st) == 0) return ChangeNanos(st) / 1000;
      files_.erase(known);
    }
    Fd fd = OpenFd(folder, O_TMPFILE | O_WRONLY, 0600);
    if (fd.ok() && fstat(fd.get(), &st) == 0) {
      files_.emplace(device, std::move(fd));
      return ChangeNanos(st) / 1000;
    }
    if (!NoUnnamedFiles(errno)) return CoarseClockMicros();
  }
  const std::string temp = TempName(folder);
  const Fd fd = OpenFd(temp, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (!fd.ok()) return CoarseClockMicros();
  const bool dated = fstat(fd.get(), &st) == 0;
  unlink(temp.c_str());
  return dated ? ChangeNanos(st) / 1000 : CoarseClockMicros();
}

int64_t FolderLock::GrowingPauses(int64_t waited_us) {
  return std::clamp<int64_t>(waited_us, 100, 5000);
}

FolderLock::FolderLock(const std::string& folder, int64_t wait_us, const Pauses& pauses)
    : fd_(OpenFd(folder, O_RDONLY | O_DIRECTORY)) {
  if (!fd_.ok()) {
    why_ = fmt::format("{}: cannot open the folder to lock it: {}", folder, ErrnoText(errno));
    return;
  }
  using std::chrono::microseconds;
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  while (true) {
    if (Uninterrupted([&] { return flock(fd_.get(), LOCK_EX | LOCK_NB); }) == 0) return;
    if (errno != EWOULDBLOCK) {
      why_ = fmt::format("{}: cannot lock the folder: {}", folder, ErrnoText(errno));
      break;
    }
    const int64_t waited =
        std::chrono::duration_cast<microseconds>(steady_clock::now() - begin).count();
    const int64_t pause = pauses(waited);
    if (waited >= wait_us || pause == kGiveUp) {
      why_ = fmt::format("{}: another process or thread held the folder's lock for {} ms", folder,
                         waited / 1000);
      break;
    }
    std::this_thread::sleep_for(microseconds(pause));
  }
  fd_.Reset(-1);
}

FolderLock::~FolderLock() {
  // Told explicitly: a child forked meanwhile has a copy of the descriptor and would keep the lock.
  if (fd_.ok()) flock(fd_.get(), LOCK_UN);
}

Status ReadFolder(const std::string& folder, std::string_view name_prefix,
                  const std::function<void(const FolderEntry&)>& visit) {
  Fd fd = OpenFd(folder, O_RDONLY | O_DIRECTORY);
  if (!fd.ok()) {
    if (errno == ENOENT || errno == ENOTDIR) return Status::OK();
    return ErrnoError(folder, "open the folder", errno);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(fd.get()), closedir);
  if (!dir) return ErrnoError(folder, "list the folder", errno);
  fd.Release();
  for (;;) {
    errno = 0;
    const dirent* found = readdir(dir.get());
    if (found == nullptr) break;
    FolderEntry entry{found->d_name, FolderEntry::Kind::kFile, {}};
    if (!entry.name.starts_with(name_prefix) || entry.name.starts_with(kTempPrefix)) continue;
    if (entry.name == "." || entry.name == "..") continue;
    if (fstatat(dirfd(dir.get()), found->d_name, &entry.st, 0) != 0) {
      if (errno == ENOENT || errno == ELOOP) continue;  // vanished, or a link to nothing
      return ErrnoError(fmt::format("{}/{}", folder, entry.name), "stat", errno);
    }
    if (S_ISDIR(entry.st.st_mode)) {
      struct stat link;
      const bool linked = found->d_type == DT_LNK || (found->d_type == DT_UNKNOWN &&
                                                      fstatat(dirfd(dir.get()), found->d_name,
                                                              &link, AT_SYMLINK_NOFOLLOW) == 0 &&
                                                      S_ISLNK(link.st_mode));
      entry.kind = linked ? FolderEntry::Kind::kLinkedFolder : FolderEntry::Kind::kFolder;
    } else if (!S_ISREG(entry.st.st_mode)) {
      continue;
    }
    visit(entry);
  }
  // A folder removed while it was read has no entries left.
  if (errno != 0 && errno != ENOENT) return ErrnoError(folder, "list the folder", errno);
  return Status::OK();
}

}  // namespace timelake::store
