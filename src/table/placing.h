#pragma once

#include <memory>
#include <string>

#include "iceberg/metadata.h"
#include "table/env.h"
#include "table/reach.h"

namespace timelake::table {

// Metadata names files by absolute URIs. When a table's folder is moved or copied they go on naming
// the old place; what they name lies below the new folder. For a table in its own place all of this
// changes nothing. The old place may have been in another store.
class Placing {
 public:
  // Of metadata that lies in `folder`.
  static Result<Placing> Of(const Env& env, const iceberg::TableMetadata& metadata,
                            const std::string& folder);

  bool moved() const { return recorded_ != folder_; }
  // Reads by the recorded names; once moved it cannot write.
  const Env& env() const { return env_; }

  // Where the object of a key or URI lies now; what is not below the recorded folder stays.
  std::string Key(const std::string& key) const;
  std::string Uri(const std::string& uri) const;

  // What a version names, by where it lies now. Of a moved one without what lies outside of its
  // folder: after a copy that is another table's.
  Reach Placed(Reach reach) const;

 private:
  Env env_;
  std::shared_ptr<store::ObjectStore> store_;
  std::string recorded_;
  std::string folder_;
};

}  // namespace timelake::table
