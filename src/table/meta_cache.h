#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace timelake::table {

// Decoded immutable objects (manifest lists, manifests, footers, indexes) by key, least recently
// used out first beyond a byte budget. Thread-safe. A value's type is fixed by its key's kind.
class MetaCache {
 public:
  explicit MetaCache(int64_t budget_bytes = 256 << 20) : budget_(budget_bytes) {}

  template <typename T>
  std::shared_ptr<const T> Get(const std::string& key) {
    return std::static_pointer_cast<const T>(GetAny(key));
  }
  void Remove(const std::string& key);
  template <typename T>
  void Put(const std::string& key, std::shared_ptr<const T> value, int64_t bytes) {
    PutAny(key, std::move(value), bytes);
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const void> value;
    int64_t bytes;
  };

  std::shared_ptr<const void> GetAny(const std::string& key);
  void PutAny(const std::string& key, std::shared_ptr<const void> value, int64_t bytes);
  void RemoveLocked(const std::string& key);

  std::mutex mutex_;
  std::list<Entry> entries_;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  int64_t budget_;
  int64_t used_ = 0;
};

}  // namespace timelake::table
