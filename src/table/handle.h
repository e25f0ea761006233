#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "iceberg/metadata.h"
#include "store/object_store.h"
#include "table/env.h"

namespace timelake::table {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

// One version of a table's metadata as it was read or written.
struct Version {
  int64_t number = 0;
  std::shared_ptr<const iceberg::TableMetadata> metadata;
  store::ObjectInfo info;  // the object that holds it
  // Boot time read before the request that proved this version newest, or that wrote it; kNever:
  // it was seen, but a newer one may have existed already.
  int64_t proved_boot_us = kNever;
  std::optional<bool> shared;  // IsShared of the metadata, where that is known without looking

  explicit operator bool() const { return metadata != nullptr; }
};

// A table as one process knows it: where it is and the newest version seen. Thread-safe; commits
// through one handle run concurrently, each on its own copy of the version.
class Handle {
 public:
  Handle(Env env, std::string name, std::string folder_key)
      : env_(std::move(env)), name_(std::move(name)), folder_(std::move(folder_key)) {}

  const Env& env() const { return env_; }
  const std::string& name() const { return name_; }      // "namespace.table"
  const std::string& folder() const { return folder_; }  // key, no trailing slash
  std::string location() const { return store::UriOf(*env_.store, folder_); }

  std::string VersionKey(int64_t number) const;
  std::string HintKey() const;

  Version known() const;
  // Keeps `version` if it is newer than what is known, or the same with a later proof. False: it is
  // of another table than the first version seen, and is not kept.
  bool Learn(const Version& version);
  // Forgets the version (it was a dead fork); the table's uuid stays known, so that a table that
  // was dropped and created again is not taken for the same.
  void Forget();
  // Of the first version seen; empty while none was.
  std::string table_uuid() const;

  // The hint that was last written or seen through this handle; for compare-and-swap without
  // reading. Other calls may have moved it on.
  struct KnownHint {
    int64_t version = 0;
    std::string identity;  // of the object
  };
  std::optional<KnownHint> hint() const;
  void set_hint(std::optional<KnownHint> hint);

 private:
  Env env_;
  std::string name_;
  std::string folder_;
  mutable std::mutex mutex_;
  Version known_;
  std::string table_uuid_;
  std::optional<KnownHint> hint_;
};

}  // namespace timelake::table
