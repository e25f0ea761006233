#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "table/handle.h"
#include "table/reach.h"

namespace timelake::table {

// What the versions of a table that are there refer to, to tell the rest from it.
class InUse {
 public:
  // Reads all versions that are listed now. kStrict: a list or manifest that is missing or broken
  // of the newest one is an error; of older ones, part of whose files may be freed already, what
  // is missing is skipped. kSkipMissing: what is missing or broken is skipped throughout.
  static Result<InUse> Read(const Handle& handle, Reading reading);

  // By store key. A name that is mentioned in parts of the metadata that only other engines know
  // (statistics) counts, too.
  bool Has(const std::string& key) const;
  // Whether some file of that name, wherever it is recorded to be, is in use. Data files, manifests
  // and indexes have names of their own, so this sees through other spellings of a location.
  bool HasName(const std::string& key) const;

 private:
  void Add(Reach reach);
  void Add(const std::string& key);

  std::unordered_set<std::string> keys_;
  std::unordered_set<std::string> names_;
  std::vector<std::string> mentions_;  // JSON
};

}  // namespace timelake::table
