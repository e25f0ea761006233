#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>

#include "store/posix.h"

// Folders of the local store: made durable, dated, locked, read.

namespace timelake::store {

// Which folders are known to survive a power loss. A process trusts only what it made durable
// itself: a folder that it finds may have been created by another process a moment ago.
// Thread-safe.
class Folders {
 public:
  // Creates `folder` and what is missing above it.
  Status Make(const std::string& folder);

  // Makes the names of `folder` and of all folders above it durable; free from the second time on.
  Status SyncNames(const std::string& folder);

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> durable_;
};

// fsync of the folder itself: the names in it become durable.
Status SyncFolder(const std::string& folder);

// The clocks that stamp files. Thread-safe.
class FolderClocks {
 public:
  // That of `folder`, in microseconds: the change time of a file without a name that is touched for
  // it. One a file system is kept open: creating it anew each time would slow down every creation
  // of a file (ext4 does not give the number of a file just deleted to another). The machine's
  // clock where none can be created (read-only, no such folder).
  int64_t Date(const std::string& folder, const LocalAbilities& abilities);

 private:
  std::mutex mutex_;
  std::map<dev_t, Fd> files_;
};

// Excludes other holders of the same folder's lock, in this process and in others on this machine.
// Leaves no file behind: the lock is on the folder itself.
class FolderLock {
 public:
  // How long to wait for the next try, by how long it has been; kGiveUp: not at all.
  using Pauses = std::function<int64_t(int64_t waited_us)>;
  static constexpr int64_t kGiveUp = -1;

  // Tries for at most `wait_us`. When not held(), `why()` says what was in the way.
  FolderLock(const std::string& folder, int64_t wait_us, const Pauses& pauses = GrowingPauses);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  bool held() const { return why_.empty(); }
  const std::string& why() const { return why_; }

  // For locks that are held for a moment.
  static int64_t GrowingPauses(int64_t waited_us);

 private:
  Fd fd_;
  std::string why_;
};

// One name in a folder. Links to files count as files; links to folders are told apart.
struct FolderEntry {
  std::string_view name;  // valid during the call
  enum class Kind { kFile, kFolder, kLinkedFolder } kind;
  struct stat st;
};

// Calls `visit` for each file and folder whose name starts with `name_prefix`, in no order; other
// names are not even looked at. Temporary names are left out, as are files that vanish meanwhile.
// No such folder: nothing is called.
Status ReadFolder(const std::string& folder, std::string_view name_prefix,
                  const std::function<void(const FolderEntry&)>& visit);

}  // namespace timelake::store
