#include "store/block_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace timelake::store {
namespace {

// Requests at a time: what hides a latency of tens of milliseconds at a gigabyte a second.
constexpr int kThreads = 32;

using BufferPtr = std::shared_ptr<arrow::Buffer>;

Result<BufferPtr> Copy(const uint8_t* data, int64_t size) {
  TL_ASSIGN_OR_RAISE(BufferPtr copy, arrow::AllocateBuffer(size));
  std::memcpy(copy->mutable_data(), data, static_cast<size_t>(size));
  return copy;
}

Result<BufferPtr> Join(const std::vector<BlockCache::Piece>& pieces, const ByteRange& range) {
  const BlockCache::Piece& first = pieces.front();
  if (std::all_of(pieces.begin(), pieces.end(),
                  [&](const auto& piece) { return piece.bytes == first.bytes; })) {
    return arrow::SliceBuffer(first.bytes, range.offset - first.offset, range.length);
  }
  TL_ASSIGN_OR_RAISE(BufferPtr out, arrow::AllocateBuffer(range.length));
  const int64_t block = range.offset / BlockCache::kBlock;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int64_t at = (block + static_cast<int64_t>(i)) * BlockCache::kBlock;
    const int64_t begin = std::max(range.offset, at);
    const int64_t end = std::min(range.end(), at + BlockCache::kBlock);
    std::memcpy(out->mutable_data() + (begin - range.offset),
                pieces[i].bytes->data() + (begin - pieces[i].offset),
                static_cast<size_t>(end - begin));
  }
  return out;
}

}  // namespace

BlockCache::BlockCache(Limits limits, std::shared_ptr<DiskCache> disk,
                       std::function<void(const char*, int64_t)> metric)
    : limits_(limits), disk_(std::move(disk)), metric_(std::move(metric)) {
  if (auto threads = arrow::internal::ThreadPool::Make(kThreads); threads.ok()) {
    threads_ = *std::move(threads);
  }
}

BlockCache::~BlockCache() {
  if (threads_) (void)threads_->Shutdown(/*wait=*/true);
}

std::string BlockCache::NameOf(const CachedObject& object, int64_t block) const {
  return fmt::format("{}\n{} {} {}", object.name, object.size, kBlock, block);
}

BlockCache::Fetches BlockCache::Claim(const std::shared_ptr<CachedObject>& object,
                                      const std::vector<ByteRange>& ranges) {
  std::vector<ByteRange> missing;
  for (const ByteRange& range : ranges) {
    const int64_t last = (range.end() + kBlock - 1) / kBlock;
    for (int64_t block = range.offset / kBlock; block < last; ++block) {
      if (!slots_.contains({object, block})) missing.push_back({block, 1});
    }
  }
  const int64_t most = std::max<int64_t>(1, limits_.request_bytes / kBlock);
  Fetches fetches;
  for (const ByteRange& run : PlanRequests(missing, limits_.gap_bytes / kBlock, most)) {
    auto fetch = std::make_shared<Fetch>();
    fetch->object = object;
    fetch->first = run.offset;
    fetch->count = run.length;
    for (int64_t block = run.offset; block < run.end(); ++block) {
      // In a gap there may be blocks that are there, or that others fetch: those stay.
      slots_.try_emplace({object, block}, Slot{nullptr, fetch, false, {}});
    }
    fetches.push_back(std::move(fetch));
  }
  for (const ByteRange& block : missing) {  // not what lies in gaps: nobody waits for that
    Slot& slot = slots_.find({object, block.offset})->second;
    if (!std::exchange(slot.ahead, true)) ++ahead_;
  }
  return fetches;
}

// Whether the block had been fetched ahead, and is now read for the first time, or gone.
bool BlockCache::NoLongerAhead(Slot* slot) {
  if (!std::exchange(slot->ahead, false)) return false;
  --ahead_;
  return true;
}

bool BlockCache::InBackground(const std::shared_ptr<Fetch>& fetch) {
  return threads_ && threads_->Spawn([this, fetch] { Run(fetch); }).ok();
}

void BlockCache::WillNeed(const std::shared_ptr<CachedObject>& object,
                          const std::vector<ByteRange>& ranges) {
  Fetches fetches;
  {
    const std::lock_guard lock(mutex_);
    // What is fetched ahead must not push out what was fetched ahead before.
    int64_t room = std::max(limits_.memory_bytes / 2 - ahead_ * kBlock,
                            limits_.memory_bytes - used_ - ahead_ * kBlock);
    std::vector<ByteRange> inside;
    for (const ByteRange& range : ranges) {
      const int64_t begin = std::clamp<int64_t>(range.offset, 0, object->size);
      const int64_t length = std::clamp<int64_t>(range.length, 0, object->size - begin);
      room -= length;
      if (room < 0) break;
      if (length > 0) inside.push_back({begin, length});
    }
    fetches = Claim(object, inside);
  }
  for (const auto& fetch : fetches) {
    if (!InBackground(fetch)) Publish(fetch, IoError("no thread to read ahead with"));
  }
}

Result<BufferPtr> BlockCache::Read(const std::shared_ptr<CachedObject>& object, int64_t position,
                                   int64_t bytes) {
  if (position < 0 || bytes < 0) return InvalidArgument("read {} bytes at {}", bytes, position);
  const ByteRange range{position, std::min(bytes, std::max<int64_t>(0, object->size - position))};
  if (range.length == 0) return arrow::Buffer::FromString("");
  const int64_t blocks = (range.end() + kBlock - 1) / kBlock - position / kBlock;
  std::vector<Piece> pieces(static_cast<size_t>(blocks));
  Status others;
  TL_RETURN_NOT_OK(Collect(object, range, &pieces, &others));
  // What somebody else asked for and did not get, e.g. a read ahead: once more, by this thread.
  if (!others.ok()) {
    others = Status::OK();
    TL_RETURN_NOT_OK(Collect(object, range, &pieces, &others));
  }
  if (!others.ok()) return others;
  return Join(pieces, range);
}

Status BlockCache::Collect(const std::shared_ptr<CachedObject>& object, const ByteRange& range,
                           std::vector<Piece>* pieces, Status* others) {
  const int64_t first = range.offset / kBlock;
  Fetches waited(pieces->size());
  int64_t hits = 0;
  std::unique_lock lock(mutex_);
  const Fetches own = Claim(object, {range});
  for (size_t i = 0; i < pieces->size(); ++i) {
    if ((*pieces)[i].bytes) continue;
    const int64_t block = first + static_cast<int64_t>(i);
    Slot& slot = slots_.find({object, block})->second;
    const bool ahead = NoLongerAhead(&slot);
    waited[i] = slot.fetch;
    if (slot.fetch) continue;
    (*pieces)[i] = {slot.bytes, block * kBlock};
    order_.splice(order_.begin(), order_, slot.place);
    if (ahead) continue;
    ++hits;
    stats_.bytes_hit += slot.bytes->size();
  }
  stats_.memory_hits += hits;
  lock.unlock();
  if (metric_ && hits > 0) metric_("cache.blocks_hit", hits);
  for (size_t i = 1; i < own.size(); ++i) {
    if (!InBackground(own[i])) Run(own[i]);
  }
  if (!own.empty()) Run(own.front());
  lock.lock();
  for (size_t i = 0; i < pieces->size(); ++i) {
    if (!waited[i]) continue;
    const Fetch& fetch = *waited[i];
    changed_.wait(lock, [&] { return fetch.done; });
    if (fetch.status.ok()) {
      (*pieces)[i] = {fetch.bytes, fetch.offset()};
    } else if (std::find(own.begin(), own.end(), waited[i]) != own.end()) {
      return fetch.status;
    } else {
      *others = fetch.status;
    }
  }
  return Status::OK();
}

void BlockCache::Run(const std::shared_ptr<Fetch>& fetch) {
  std::vector<bool> from_disk(static_cast<size_t>(fetch->count), false);
  Publish(fetch, Get(fetch.get(), &from_disk));
  if (!disk_ || !fetch->status.ok()) return;
  // Nobody waits for that.
  auto keep = [this, fetch, from_disk = std::move(from_disk)] { Keep(*fetch, from_disk); };
  if (!threads_ || !threads_->Spawn(keep).ok()) keep();
}

void BlockCache::Keep(const Fetch& fetch, const std::vector<bool>& from_disk) {
  for (int64_t i = 0; i < fetch.count; ++i) {
    if (from_disk[static_cast<size_t>(i)]) continue;
    const int64_t at = i * kBlock;
    disk_->Store(
        NameOf(*fetch.object, fetch.first + i),
        arrow::Buffer(fetch.bytes->data() + at, std::min(kBlock, fetch.bytes->size() - at)));
  }
}

// The blocks from the disk as far as they are there, what lies between the first and the last of
// the others by one request.
Status BlockCache::Get(Fetch* fetch, std::vector<bool>* from_disk) {
  const CachedObject& object = *fetch->object;
  const int64_t bytes = std::min(fetch->count * kBlock, object.size - fetch->offset());
  std::vector<BufferPtr> stored(static_cast<size_t>(fetch->count));
  int64_t begin = 0, end = fetch->count, disk_blocks = 0;
  if (disk_) {
    begin = fetch->count, end = 0;
    for (int64_t i = 0; i < fetch->count; ++i) {
      const int64_t want = std::min(kBlock, bytes - i * kBlock);
      auto block = disk_->Load(NameOf(object, fetch->first + i));
      if (block && block->size() == want) {
        stored[static_cast<size_t>(i)] = std::move(block);
        (*from_disk)[static_cast<size_t>(i)] = true;
        ++disk_blocks;
      } else {
        begin = std::min(begin, i);
        end = i + 1;
      }
    }
  }
  BufferPtr fetched;
  const int64_t from = begin * kBlock, to = std::min(end * kBlock, bytes);
  if (begin < end) {
    TL_ASSIGN_OR_RAISE(fetched, object.file->ReadAt(fetch->offset() + from, to - from));
    if (fetched->size() != to - from) {
      return IoError("asked for {} bytes at {}, got {}", to - from, fetch->offset() + from,
                     fetched->size());
    }
  }
  {
    const std::lock_guard lock(mutex_);
    stats_.disk_hits += disk_blocks;
    stats_.misses += std::max<int64_t>(0, end - begin);
    if (fetched) {
      ++stats_.requests;
      stats_.bytes_fetched += fetched->size();
    }
  }
  if (metric_) {
    if (disk_blocks > 0) metric_("cache.blocks_on_disk", disk_blocks);
    if (begin < end) metric_("cache.blocks_missed", end - begin);
  }
  if (disk_blocks == 0) {
    fetch->bytes = std::move(fetched);
    return Status::OK();
  }
  TL_ASSIGN_OR_RAISE(BufferPtr whole, arrow::AllocateBuffer(bytes));
  if (fetched) {
    std::memcpy(whole->mutable_data() + from, fetched->data(),
                static_cast<size_t>(fetched->size()));
  }
  for (int64_t i = 0; i < fetch->count; ++i) {
    const BufferPtr& block = stored[static_cast<size_t>(i)];
    if (block) {
      std::memcpy(whole->mutable_data() + i * kBlock, block->data(),
                  static_cast<size_t>(block->size()));
    }
  }
  fetch->bytes = std::move(whole);
  return Status::OK();
}

void BlockCache::Publish(const std::shared_ptr<Fetch>& fetch, Status status) {
  // Each block is memory of its own: one that stays must not hold on to a whole request.
  std::vector<BufferPtr> blocks;
  for (int64_t i = 0; i < fetch->count && status.ok(); ++i) {
    const int64_t at = i * kBlock;
    auto block = Copy(fetch->bytes->data() + at, std::min(kBlock, fetch->bytes->size() - at));
    if (block.ok()) blocks.push_back(*std::move(block));
    if (!block.ok()) status = block.status();
  }
  if (metric_ && status.ok()) metric_("cache.bytes_fetched", fetch->bytes->size());
  const std::lock_guard lock(mutex_);
  for (int64_t i = 0; i < fetch->count; ++i) {
    const BlockId id{fetch->object, fetch->first + i};
    const auto found = slots_.find(id);
    if (found == slots_.end() || found->second.fetch != fetch) continue;
    if (!status.ok()) {
      NoLongerAhead(&found->second);
      slots_.erase(found);
      continue;
    }
    Slot& slot = found->second;
    slot.fetch = nullptr;
    slot.bytes = std::move(blocks[static_cast<size_t>(i)]);
    order_.push_front(id);
    slot.place = order_.begin();
    used_ += slot.bytes->size();
  }
  fetch->status = std::move(status);
  fetch->done = true;
  Shrink();
  changed_.notify_all();
}

void BlockCache::Shrink() {
  while (used_ > limits_.memory_bytes && !order_.empty()) {
    const auto found = slots_.find(order_.back());
    used_ -= found->second.bytes->size();
    NoLongerAhead(&found->second);
    slots_.erase(found);
    order_.pop_back();
    ++stats_.evictions;
  }
}

std::shared_ptr<arrow::Buffer> BlockCache::LoadWhole(const std::string& name) {
  if (!disk_) return nullptr;
  auto bytes = disk_->Load(name + "\nwhole");
  const std::lock_guard lock(mutex_);
  if (bytes) ++stats_.disk_hits;
  if (!bytes) ++stats_.misses;
  return bytes;
}

void BlockCache::StoreWhole(const std::string& name, const arrow::Buffer& bytes) {
  if (disk_) disk_->Store(name + "\nwhole", bytes);
}

CacheStats BlockCache::stats() const {
  CacheStats stats;
  {
    const std::lock_guard lock(mutex_);
    stats = stats_;
    stats.memory_bytes = used_;
    stats.memory_limit = limits_.memory_bytes;
  }
  if (disk_) {
    stats.disk_bytes = disk_->bytes();
    stats.disk_limit = disk_->limit();
    stats.damaged = disk_->damaged();
    stats.failed_writes = disk_->failed_writes();
  }
  return stats;
}

}  // namespace timelake::store
