#include "table/handle.h"

#include "table/versions.h"

namespace timelake::table {

std::string Handle::VersionKey(int64_t number) const { return VersionKeyIn(folder_, number); }

std::string Handle::HintKey() const { return folder_ + "/metadata/version-hint.text"; }

Version Handle::known() const {
  std::lock_guard lock(mutex_);
  return known_;
}

bool Handle::Learn(const Version& version) {
  std::lock_guard lock(mutex_);
  const std::string& uuid = version.metadata->table_uuid;
  if (table_uuid_.empty()) table_uuid_ = uuid;
  if (table_uuid_ != uuid && env_.rules->uuid) return false;
  const bool newer = !known_ || version.number > known_.number;
  const bool later_proof =
      known_ && version.number == known_.number && version.proved_boot_us > known_.proved_boot_us;
  if (newer || later_proof) {
    known_ = version;
    known_.shared = IsShared(version);
  }
  return true;
}

void Handle::Forget() {
  std::lock_guard lock(mutex_);
  known_ = {};
  hint_.reset();
}

std::string Handle::table_uuid() const {
  std::lock_guard lock(mutex_);
  return table_uuid_;
}

std::optional<Handle::KnownHint> Handle::hint() const {
  std::lock_guard lock(mutex_);
  return hint_;
}

void Handle::set_hint(std::optional<KnownHint> hint) {
  std::lock_guard lock(mutex_);
  hint_ = std::move(hint);
}

}  // namespace timelake::table
