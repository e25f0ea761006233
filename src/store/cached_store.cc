#include "store/cached_store.h"

#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "store/forwarding_store.h"
#include "store/ranged_file.h"

namespace timelake::store {
namespace {

// Only to read ahead with, where nothing is to be kept.
constexpr int64_t kReadAheadOnly = int64_t{32} << 20;
constexpr size_t kMostSizes = 10'000;

class CachedFile : public RangedFile {
 public:
  CachedFile(std::shared_ptr<BlockCache> cache, std::shared_ptr<CachedObject> object)
      : RangedFile(object->size), cache_(std::move(cache)), object_(std::move(object)) {}

  Result<std::shared_ptr<arrow::Buffer>> ReadRange(int64_t position, int64_t bytes) override {
    return cache_->Read(object_, position, bytes);
  }
  Status WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override {
    std::vector<ByteRange> wanted;
    for (const auto& range : ranges) wanted.push_back({range.offset, range.length});
    cache_->WillNeed(object_, wanted);
    return Status::OK();
  }

 private:
  const std::shared_ptr<BlockCache> cache_;
  const std::shared_ptr<CachedObject> object_;
};

class CachedStore : public ForwardingStore {
 public:
  CachedStore(std::shared_ptr<ObjectStore> base, std::shared_ptr<BlockCache> cache, bool keeps)
      : ForwardingStore(std::move(base)), cache_(std::move(cache)), keeps_(keeps) {}

  std::optional<CacheStats> stats() const {
    return keeps_ ? std::make_optional(cache_->stats()) : std::nullopt;
  }

  Result<GetReply> Get(const std::string& key) override {
    if (!key.ends_with(".avro") && !key.ends_with(".parquet")) return base_->Get(key);
    if (auto bytes = cache_->LoadWhole(NameOf(key))) {
      GetReply reply;
      reply.found = true;
      reply.info.key = key;
      reply.info.size = bytes->size();
      reply.bytes = std::move(bytes);
      return reply;
    }
    TL_ASSIGN_OR_RAISE(GetReply reply, base_->Get(key));
    if (reply.found) cache_->StoreWhole(NameOf(key), *reply.bytes);
    return reply;
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    if (!size) size = KnownSize(key);
    auto object = std::make_shared<CachedObject>();
    TL_ASSIGN_OR_RAISE(object->file, base_->OpenRead(key, size));
    TL_ASSIGN_OR_RAISE(object->size, object->file->GetSize());
    if (!size) Remember(key, object->size);
    object->name = NameOf(key);
    return std::make_shared<CachedFile>(cache_, std::move(object));
  }
  std::shared_ptr<ObjectStore> direct() override { return base_; }

 private:
  std::string NameOf(const std::string& key) const { return base_->origin() + "\n" + key; }

  std::optional<int64_t> KnownSize(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(key);
    return found == sizes_.end() ? std::nullopt : std::make_optional(found->second);
  }
  void Remember(const std::string& key, int64_t size) {
    const std::lock_guard lock(mutex_);
    if (sizes_.size() >= kMostSizes) sizes_.clear();
    sizes_[key] = size;
  }

  const std::shared_ptr<BlockCache> cache_;
  const bool keeps_;  // else it only reads ahead
  std::mutex mutex_;
  std::unordered_map<std::string, int64_t> sizes_;  // of objects that were opened without it
};

Result<int64_t> BytesOf(const std::string& name, const std::string& text, int64_t least) {
  const Result<int64_t> bytes = ParseInt64(text);
  if (bytes.ok() && *bytes >= least && *bytes <= int64_t{1} << 50) return bytes;
  return InvalidArgument("storage option {}: {} is not a number of bytes from {} on", name,
                         Quote(text), least);
}

// "~/" is the home folder, as in locations.
Result<std::string> FolderFrom(const std::string& text) {
  if (text.empty())
    return InvalidArgument("storage option timelake_cache_dir: the folder is empty");
  TL_ASSIGN_OR_RAISE(const Location location, ParseLocation(text));
  if (location.scheme == "file") return location.root;
  return InvalidArgument("storage option timelake_cache_dir: {} is not a local folder",
                         Quote(text));
}

}  // namespace

Result<CacheOptions> TakeCacheOptions(std::map<std::string, std::string>* options, bool remote) {
  CacheOptions cache;
  std::optional<std::string> kind, folder;
  for (auto at = options->begin(); at != options->end();) {
    const std::string name = ToLowerAscii(at->first);
    const std::string& text = at->second;
    if (name == "timelake_cache") {
      kind = ToLowerAscii(text);
    } else if (name == "timelake_cache_dir") {
      folder = text;
    } else if (name == "timelake_cache_memory_bytes") {
      TL_ASSIGN_OR_RAISE(cache.memory_bytes, BytesOf(name, text, 1 << 20));
    } else if (name == "timelake_cache_disk_bytes") {
      TL_ASSIGN_OR_RAISE(cache.disk_bytes, BytesOf(name, text, 16 << 20));
    } else if (name == "timelake_cache_request_bytes") {
      TL_ASSIGN_OR_RAISE(cache.request_bytes, BytesOf(name, text, BlockCache::kBlock));
    } else if (name == "timelake_cache_gap_bytes") {
      TL_ASSIGN_OR_RAISE(cache.gap_bytes, BytesOf(name, text, 0));
    } else {
      ++at;
      continue;
    }
    at = options->erase(at);
  }
  if (!kind) kind = folder ? "disk" : "memory";
  if (*kind != "off" && *kind != "memory" && *kind != "disk") {
    return InvalidArgument("storage option timelake_cache: {} is not accepted: off, memory or disk",
                           Quote(*kind));
  }
  if (folder && *kind != "disk") {
    return InvalidArgument("storage option timelake_cache_dir needs timelake_cache = disk");
  }
  if (!remote) {
    cache.memory_bytes = 0;
    return cache;
  }
  if (*kind == "off") cache.memory_bytes = kReadAheadOnly;
  if (*kind == "memory") cache.kind = CacheOptions::Kind::kMemory;
  if (*kind != "disk") return cache;
  cache.kind = CacheOptions::Kind::kDisk;
  if (!folder) {
    const char* caches = std::getenv("XDG_CACHE_HOME");
    folder = caches && caches[0] == '/' ? std::string(caches) + "/timelake" : "~/.cache/timelake";
  }
  TL_ASSIGN_OR_RAISE(cache.folder, FolderFrom(*folder));
  return cache;
}

Result<std::shared_ptr<ObjectStore>> MakeCachedStore(
    std::shared_ptr<ObjectStore> base, const CacheOptions& options,
    std::function<void(const char*, int64_t)> metric) {
  if (options.kind == CacheOptions::Kind::kOff && options.memory_bytes == 0) return base;
  std::shared_ptr<DiskCache> disk;
  if (options.kind == CacheOptions::Kind::kDisk) {
    TL_ASSIGN_OR_RAISE(disk, DiskCache::Open(options.folder, options.disk_bytes));
  }
  auto cache = std::make_shared<BlockCache>(
      BlockCache::Limits{options.memory_bytes, options.request_bytes, options.gap_bytes},
      std::move(disk), std::move(metric));
  return std::make_shared<CachedStore>(std::move(base), std::move(cache),
                                       options.kind != CacheOptions::Kind::kOff);
}

std::shared_ptr<ObjectStore> WithFreshCache(const std::shared_ptr<ObjectStore>& store) {
  auto below = DirectStore(store);
  if (!IsRemote(*below)) return below;
  const CacheOptions limits;
  return std::make_shared<CachedStore>(
      std::move(below),
      std::make_shared<BlockCache>(
          BlockCache::Limits{kReadAheadOnly, limits.request_bytes, limits.gap_bytes}, nullptr,
          nullptr),
      false);
}

std::optional<CacheStats> CacheStatsOf(const ObjectStore& store) {
  const auto* cached = dynamic_cast<const CachedStore*>(&store);
  return cached ? cached->stats() : std::nullopt;
}

}  // namespace timelake::store
