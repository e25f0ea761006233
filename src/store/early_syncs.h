#pragma once

#include <condition_variable>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace timelake::store {

// fdatasync; an error names the path.
Status SyncFile(const std::string& path);

// Files, and names in folders, that become durable on other threads before somebody waits for it.
// Thread-safe.
class EarlySyncs {
 public:
  EarlySyncs();

  // The files are not written any more before they are asked for. Of a folder the names that it has
  // by now are meant.
  void Begin(const std::vector<std::string>& files, const std::set<std::string>& folders);

  // What one caller waits for.
  struct Waiting {
    int left = 0;
    Status status = Status::OK();  // the first error
    std::condition_variable done;
  };
  // Adds a path, if a thread is at it or done. False: the caller has to do it.
  bool WaitFor(const std::string& path, const std::shared_ptr<Waiting>& waiting);
  // Until all that was added is done.
  Status Await(const std::shared_ptr<Waiting>& waiting);

  // For files that are deleted.
  void Forget(const std::string& file);

 private:
  struct State;
  // Shared with the threads, which may come late.
  const std::shared_ptr<State> state_;
};

}  // namespace timelake::store
