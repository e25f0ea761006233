#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>

#include <arrow/buffer.h>

#include "store/posix.h"

namespace timelake::store {

// Replaces small files again and again without making new ones: the file that has lost its name is
// kept under a temporary one, written anew and swapped with its successor. To make a file and free
// another each time costs more than all the rest, on some disks many times more (discard). Only
// names that a process replaces often get such a spare, so that few are left behind if it is
// killed. Thread-safe.
class SpareFiles {
 public:
  SpareFiles() = default;
  SpareFiles(const SpareFiles&) = delete;
  ~SpareFiles();

  // Whether the next Swap of `path` will most likely do.
  bool Has(const std::string& path);

  // Puts `bytes` in the place of the file at `path`, which is there and has the change time
  // `present`, while the caller keeps others from doing so. Readers see the old file or the new
  // one, also after a power loss; who waits between opening and reading may see a later one.
  // nullopt: not done, nothing has changed; replace it by a new file.
  std::optional<ObjectInfo> Swap(const std::string& path, const arrow::Buffer& bytes,
                                 int64_t present);

 private:
  struct Spare {
    std::string path;
    int replaced = 0;  // times
    std::string temp;  // the file's name; empty: there is none
    Fd fd;
    pid_t owner = 0;
    bool on_disk = false;  // the file, with some text that was right once
    ino_t put = 0;         // the file that was put last, which is on the disk
  };

  Spare* Find(const std::string& path);
  static bool Ready(Spare* spare, int64_t size);
  static bool Write(Spare* spare, const arrow::Buffer& bytes, int64_t present);
  static void Drop(Spare* spare);

  std::mutex mutex_;
  std::list<Spare> spares_;  // most recently used first
};

}  // namespace timelake::store
