#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fork.h"
#include "stream.h"
#include "timelake/lake.h"
#include "timelake/session.h"

namespace timelake::python {

// Sessions that wait for the next query of a lake, so that it need not start an engine.
// Thread-safe.
class SessionPool : public std::enable_shared_from_this<SessionPool> {
 public:
  explicit SessionPool(Lake lake) : lake_(std::move(lake)) {}

  struct Item {
    std::string name_space;
    bool dictionaries = false;
    std::shared_ptr<Session> session;
  };

  arrow::Result<Item> Take(const std::string& name_space, bool dictionaries);
  void Give(Item item);
  void Close();

 private:
  const Lake lake_;
  std::mutex mutex_;
  std::vector<Item> idle_;
  bool closed_ = false;
};

// Runs a statement in a session of the pool, which gets it back when the result has ended.
nb::object PooledSql(const std::shared_ptr<SessionPool>& pool, const std::string& text,
                     nb::handle params, const std::string& name_space, bool dictionaries,
                     const std::shared_ptr<CancelToken>& token);

void BindSession(nb::module_& m);

}  // namespace timelake::python
