#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "status.h"
#include "timelake/timelake.h"

namespace timelake::cli {

// What all commands share: the global options, and the command to run once they are parsed.
struct Context {
  std::string warehouse;
  std::vector<std::string> storage_options;  // "key=value"
  std::string cache_dir;                     // empty: as the options say
  std::string cache_bytes;                   // of that folder; empty: the default
  int verbosity = 0;                         // how often -v was given
  std::function<Status()> action;
  std::string after_error;  // a note to follow the error message

  Result<Lake> OpenLake(const std::map<std::string, std::string>& settings = {});
  Result<Table> OpenTable(std::string_view name);

  // With -v: the counters that the library reported, on stderr.
  void SayCounters() const;

 private:
  class Counters;
  std::shared_ptr<Observer> MakeObserver();
  std::shared_ptr<Counters> counters_;
};

}  // namespace timelake::cli
