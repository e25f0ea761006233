#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "table/handle.h"

namespace timelake::store {
class FolderLock;
}

namespace timelake::table {

// On local disk the writers of one table take turns, so that no attempt is built in vain and nobody
// is overtaken for ever: a lock on the table's folder, held from before the base is looked for to
// the put. It is advice, no rule of the protocol: who does not get it in time goes on without. No
// turns in other stores.
class Turn {
 public:
  Turn();
  ~Turn();

  // Waits for at most `most_us` or five seconds, and not when `cancelled`; whoever waits longer
  // asks more often. True: it had to wait, so that others may have committed. Who has waited in
  // vain (the holder sleeps, it seems) does not wait again for a minute.
  bool Take(const Handle& handle, int64_t most_us, const std::function<bool()>& cancelled);
  void Leave();
  bool held() const;

 private:
  std::unique_ptr<store::FolderLock> lock_;
};

}  // namespace timelake::table
