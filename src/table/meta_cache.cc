#include "table/meta_cache.h"

#include "table/env.h"

namespace timelake::table {
namespace {

// Of small files that were just written, together: a few dozen appends.
constexpr int64_t kRecentBytes = 16 << 20;

}  // namespace

std::shared_ptr<const void> MetaCache::GetAny(const std::string& key) {
  std::lock_guard lock(mutex_);
  auto it = by_key_.find(key);
  if (it == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->value;
}

void MetaCache::Remove(const std::string& key) {
  std::lock_guard lock(mutex_);
  RemoveLocked(key);
}

void MetaCache::RemoveLocked(const std::string& key) {
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return;
  used_ -= it->second->bytes;
  entries_.erase(it->second);
  by_key_.erase(it);
}

void MetaCache::PutAny(const std::string& key, std::shared_ptr<const void> value, int64_t bytes) {
  std::lock_guard lock(mutex_);
  RemoveLocked(key);
  if (bytes > budget_) return;
  entries_.push_front({key, std::move(value), bytes});
  by_key_[key] = entries_.begin();
  used_ += bytes;
  while (used_ > budget_) {
    used_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

Env MakeEnv(std::shared_ptr<store::ObjectStore> store, std::shared_ptr<Observer> observer) {
  static const auto kAllRules = std::make_shared<const Rules>();
  return {std::move(store),
          SystemClock(),
          SystemRandom(),
          std::move(observer),
          std::make_shared<MetaCache>(),
          kAllRules,
          std::make_shared<MetaCache>(kRecentBytes)};
}

}  // namespace timelake::table
