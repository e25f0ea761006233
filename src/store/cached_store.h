#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "store/block_cache.h"
#include "store/object_store.h"

namespace timelake::store {

// What the storage options timelake_cache... say; docs/object-stores.md is the user's side of it.
struct CacheOptions {
  enum class Kind { kOff, kMemory, kDisk };
  Kind kind = Kind::kOff;
  std::string folder;  // kDisk
  int64_t memory_bytes = int64_t{256} << 20;
  int64_t disk_bytes = int64_t{4} << 30;
  int64_t request_bytes = int64_t{4} << 20;
  int64_t gap_bytes = int64_t{128} << 10;
};

// Takes the cache's options out of `options`. A store that is `remote` has a cache in memory unless
// they say otherwise; others never have one, so that an option for all warehouses does no harm.
// kInvalidArgument for values that are not accepted.
Result<CacheOptions> TakeCacheOptions(std::map<std::string, std::string>* options, bool remote);

// `base` with immutable objects kept: what OpenRead gives reads blocks of a cache, asks for what is
// missing in few requests side by side, and has WillNeed fetch ahead; Get of manifests, their lists
// and Parquet files is answered by the disk where there is one. Nothing else is ever kept, least of
// all the metadata files of versions: that one is still there is what the commit protocol asks.
Result<std::shared_ptr<ObjectStore>> MakeCachedStore(
    std::shared_ptr<ObjectStore> base, const CacheOptions& options,
    std::function<void(const char* name, int64_t value)> metric);

// The store below, read ahead of but with nothing kept from before: to verify what is there.
std::shared_ptr<ObjectStore> WithFreshCache(const std::shared_ptr<ObjectStore>& store);

// nullopt: the store keeps nothing.
std::optional<CacheStats> CacheStatsOf(const ObjectStore& store);

}  // namespace timelake::store
