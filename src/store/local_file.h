#pragma once

#include <memory>
#include <string>

#include <arrow/io/interfaces.h>

#include "store/local_folder.h"
#include "store/posix.h"

// New files of the local store: they get their name only when they are whole.

namespace timelake::store {

// A file without its final name. Destroying it unnamed leaves nothing behind. Not thread-safe.
class NewFile {
 public:
  // In the folder of `target`, which is created if need be.
  static Result<NewFile> Create(std::string target, const LocalAbilities& abilities,
                                Folders* folders);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  const std::string& target() const { return target_; }

  Status Write(const void* data, int64_t size);

  // fdatasync: the bytes survive a power loss, on some file systems only if the name does, too.
  Status SyncData();

  // After SyncData and naming: makes up for those file systems. The name is the folder's affair.
  Status SyncNamed();

  // Hands the bytes to the device and waits for it, without making it flush its cache: they will
  // be there if a name given later is. That is order, not durability, at a fraction of the cost.
  Status WriteOut();

  Result<ObjectInfo> Info() const;

  // Waits until the file's change time is later than `nanos`, so that it cannot get the identity
  // of the object that it replaces even with a reused inode number. At most some 20 ms: longer,
  // and the clock has been set back, which makes a coincidence no likelier than any other.
  Status AgePast(int64_t nanos);

  enum class Naming { kDone, kTaken, kUnsure };

  // Gives the file its name if nothing has it. An error: certainly not named; kUnsupported if the
  // file system has no way to do it. kUnsure: `why` tells what the system answered.
  Result<Naming> NameIfAbsent(std::string* why);

  // Gives the file its name, in place of what has it. Readers see the old file or this one.
  Status NameOrReplace();

 private:
  NewFile(std::string target, Fd fd, std::string temp, const LocalAbilities& abilities)
      : target_(std::move(target)), fd_(std::move(fd)), temp_(std::move(temp)),
        abilities_(abilities) {}

  // Each 0 or errno.
  int LinkAs(const std::string& path);
  int RenameIfAbsent();
  int RenameOver();

  std::string target_;
  Fd fd_;
  std::string temp_;  // the name that it has meanwhile; empty: none
  LocalAbilities abilities_;
};

// Waits until the open file's change time is later than `nanos`. 0 or errno; ETIME: it is not yet,
// after a while (the clock was set back).
int AgeFilePast(int fd, int64_t nanos);

// Buffers, and names the file when closed without error.
std::shared_ptr<arrow::io::OutputStream> MakeFileStream(NewFile file);

}  // namespace timelake::store
