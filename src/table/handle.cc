#include "table/handle.h"

#include "table/versions.h"

namespace timelake::table {

std::string Handle::VersionKey(int64_t number) const { return VersionKeyIn(folder_, number); }

std::string Handle::HintKey() const { return folder_ + "/metadata/version-hint.text"; }

Version Handle::known() const {
  std::lock_guard lock(mutex_);
  return known_;
}

void Handle::Learn(const Version& version) {
  std::lock_guard lock(mutex_);
  const bool newer = !known_ || version.number > known_.number;
  const bool later_proof = known_ && version.number == known_.number &&
                           version.proved_boot_us > known_.proved_boot_us;
  if (newer || later_proof) known_ = version;
  if (table_uuid_.empty()) table_uuid_ = version.metadata->table_uuid;
}

void Handle::Forget() {
  std::lock_guard lock(mutex_);
  known_ = {};
  hint_identity_.reset();
}

std::string Handle::table_uuid() const {
  std::lock_guard lock(mutex_);
  return table_uuid_;
}

std::optional<std::string> Handle::hint_identity() const {
  std::lock_guard lock(mutex_);
  return hint_identity_;
}

void Handle::set_hint_identity(std::optional<std::string> identity) {
  std::lock_guard lock(mutex_);
  hint_identity_ = std::move(identity);
}

}  // namespace timelake::table
