#include "store/cached_store.h"

#include <arrow/io/interfaces.h>

#include <atomic>
#include <random>
#include <thread>

#include "moody_store.h"
#include "store/memory_store.h"
#include "store/metered_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

constexpr int64_t kBlock = BlockCache::kBlock;

std::string Random(size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string text(size, 0);
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// A store in memory with a cache over it, and what the cache asks the store.
class Cached : public testing::Test {
 protected:
  void Make(CacheOptions options) {
    auto metered = MakeMeteredStore(memory_, [this](const char* name, int64_t value) {
      if (std::string_view(name) == "store.read_at") reads_ += static_cast<int>(value);
      if (std::string_view(name) == "store.get") gets_ += static_cast<int>(value);
    });
    auto made = MakeCachedStore(metered, options, nullptr);
    ASSERT_TRUE(made.ok()) << made.status();
    store_ = *made;
  }
  void SetUp() override { Make(Options()); }

  static CacheOptions Options() {
    CacheOptions options;
    options.kind = CacheOptions::Kind::kMemory;
    options.gap_bytes = 2 * kBlock;
    options.request_bytes = 8 * kBlock;
    return options;
  }

  void Put(const std::string& key, const std::string& text) {
    ASSERT_TRUE(memory_->Put(key, Bytes(text)).ok());
  }
  std::shared_ptr<arrow::io::RandomAccessFile> File(const std::string& key) {
    auto file = store_->OpenRead(key);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *file : nullptr;
  }
  std::string Read(const std::string& key, int64_t position, int64_t bytes) {
    auto read = File(key)->ReadAt(position, bytes);
    return read.ok() ? (*read)->ToString() : read.status().ToString();
  }

  std::shared_ptr<ObjectStore> memory_ = std::make_shared<MemoryStore>(SystemClock());
  std::shared_ptr<ObjectStore> store_;
  std::atomic<int> reads_ = 0, gets_ = 0;
};

TEST_F(Cached, AsksForABlockOnce) {
  const std::string text = Random(10 * kBlock + 100);
  Put("w/data/a.parquet", text);
  EXPECT_EQ(Read("w/data/a.parquet", 5, 10), text.substr(5, 10));
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(Read("w/data/a.parquet", 0, kBlock), text.substr(0, kBlock));
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(Read("w/data/a.parquet", kBlock - 5, 10), text.substr(kBlock - 5, 10));
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(Read("w/data/a.parquet", 10 * kBlock, 1000), text.substr(10 * kBlock));
  EXPECT_EQ(Read("w/data/a.parquet", 11 * kBlock, 10), "");
  const CacheStats stats = *CacheStatsOf(*store_);
  EXPECT_EQ(stats.misses, 3);
  EXPECT_EQ(stats.memory_hits, 2);
  EXPECT_EQ(stats.memory_bytes, 2 * kBlock + 100);
}

TEST_F(Cached, AnyReadIsRight) {
  const std::string text = Random(40 * kBlock + 4321, 7);
  Put("w/data/a.parquet", text);
  for (const int64_t memory : {int64_t{1} << 20, int64_t{256} << 20}) {
    CacheOptions options = Options();
    options.memory_bytes = memory;
    Make(options);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (unsigned seed = 0; seed < 4; ++seed) {
      threads.emplace_back([&, seed] {
        std::mt19937_64 random(seed);
        auto file = *store_->OpenRead("w/data/a.parquet");
        for (int i = 0; i < 400; ++i) {
          const auto at = static_cast<int64_t>(random() % text.size());
          const auto most = i % 3 == 0 ? 20 * kBlock : 2 * kBlock;
          const auto size = static_cast<int64_t>(random() % static_cast<uint64_t>(most));
          if (i % 5 == 0) (void)file->WillNeed({{at, size}, {at / 2, kBlock}});
          auto read = file->ReadAt(at, size);
          if (!read.ok() || (*read)->ToString() != text.substr(at, size)) ++wrong;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(CacheStatsOf(*store_)->memory_bytes, memory);
  }
}

TEST_F(Cached, FetchesAheadWithFewRequests) {
  const std::string text = Random(64 * kBlock);
  Put("w/data/a.parquet", text);
  auto file = File("w/data/a.parquet");
  // Two that are near, and one that is far.
  ASSERT_TRUE(file->WillNeed({{0, 10}, {3 * kBlock, 10}, {40 * kBlock, 10}}).ok());
  for (const int64_t at : {int64_t{0}, 3 * kBlock, 40 * kBlock}) {
    EXPECT_EQ((*file->ReadAt(at, 10))->ToString(), text.substr(at, 10));
  }
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(CacheStatsOf(*store_)->memory_hits, 0);  // they are what was fetched for them
  EXPECT_EQ(Read("w/data/a.parquet", 0, 4 * kBlock), text.substr(0, 4 * kBlock));
  EXPECT_EQ(reads_, 2);  // with the gap
  EXPECT_EQ(Read("w/data/a.parquet", 10 * kBlock, 20 * kBlock),
            text.substr(10 * kBlock, 20 * kBlock));
  EXPECT_EQ(reads_, 5);  // 20 blocks in pieces of at most 8
}

// More than is kept is not fetched ahead, and what is cut off is read when it is wanted.
TEST_F(Cached, FetchesAheadWithinItsMemory) {
  CacheOptions options = Options();
  options.memory_bytes = 1 << 20;
  Make(options);
  const std::string text = Random(64 * kBlock);
  Put("w/data/a.parquet", text);
  auto file = File("w/data/a.parquet");
  std::vector<arrow::io::ReadRange> all;
  for (int64_t i = 0; i < 64; ++i) all.push_back({i * kBlock, kBlock});
  ASSERT_TRUE(file->WillNeed(all).ok());
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ((*file->ReadAt(i * kBlock, kBlock))->ToString(), text.substr(i * kBlock, kBlock));
  }
  const CacheStats stats = *CacheStatsOf(*store_);
  EXPECT_EQ(stats.misses, 64);
  EXPECT_LE(stats.memory_bytes, 1 << 20);
}

TEST_F(Cached, AFailureIsToldAndNotKept) {
  auto moody = std::make_shared<Moody>(memory_);
  store_ = *MakeCachedStore(moody, Options(), nullptr);
  const std::string text = Random(4 * kBlock);
  Put("w/data/a.parquet", text);
  auto file = File("w/data/a.parquet");
  moody->failures = 1;
  EXPECT_NE(Read("w/data/a.parquet", 0, 10).find("the store is away"), std::string::npos);
  EXPECT_EQ(Read("w/data/a.parquet", 0, 10), text.substr(0, 10));
  // Of a read ahead nobody is told: who wants the bytes asks again.
  moody->failures = 1;
  ASSERT_TRUE(file->WillNeed({{2 * kBlock, 10}}).ok());
  EXPECT_EQ(Read("w/data/a.parquet", 2 * kBlock, 10), text.substr(2 * kBlock, 10));
  moody->shorten = true;
  EXPECT_NE(Read("w/data/a.parquet", 3 * kBlock, 10).find("got"), std::string::npos);
}

TEST_F(Cached, ManyReadersOneRequest) {
  auto moody = std::make_shared<Moody>(memory_);
  store_ = *MakeCachedStore(moody, Options(), nullptr);
  const std::string text = Random(4 * kBlock);
  Put("w/data/a.parquet", text);
  moody->open = false;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      if (Read("w/data/a.parquet", 7, 3 * kBlock) == text.substr(7, 3 * kBlock)) ++right;
    });
  }
  while (moody->reads == 0) std::this_thread::yield();
  moody->Open();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(moody->reads, 1);
}

TEST_F(Cached, TheDiskServesTheNextProcess) {
  TempFolder folder;
  CacheOptions options = Options();
  options.kind = CacheOptions::Kind::kDisk;
  options.folder = folder.path();
  Make(options);
  const std::string text = Random(10 * kBlock + 5);
  Put("w/data/a.parquet", text);
  Put("w/metadata/m.avro", "manifest");
  Put("w/metadata/v1.metadata.json", "{}");
  for (int64_t i = 0; i < 11; i += 2) (void)Read("w/data/a.parquet", i * kBlock, 10);
  EXPECT_EQ(Text(*store_, "w/metadata/m.avro"), "manifest");
  EXPECT_EQ(Text(*store_, "w/metadata/v1.metadata.json"), "{}");
  Make(options);  // the one before has ended, and written all it had
  reads_ = gets_ = 0;
  EXPECT_EQ(Read("w/data/a.parquet", 0, kBlock), text.substr(0, kBlock));
  EXPECT_EQ(Read("w/data/a.parquet", 10 * kBlock, 100), text.substr(10 * kBlock));
  EXPECT_EQ(Text(*store_, "w/metadata/m.avro"), "manifest");
  EXPECT_EQ(reads_, 0);
  EXPECT_EQ(gets_, 0);
  EXPECT_EQ(Read("w/data/a.parquet", 0, 4 * kBlock), text.substr(0, 4 * kBlock));
  EXPECT_EQ(reads_, 1);  // from the first block that is missing to the last
  EXPECT_EQ(Read("w/data/a.parquet", 0, 1000 * kBlock), text);
  // A version must be asked for each time: that it is still there is the point.
  EXPECT_EQ(Text(*store_, "w/metadata/v1.metadata.json"), "{}");
  EXPECT_EQ(gets_, 1);
  // An object of another size is another object.
  Put("w/data/a.parquet", "short");
  Make(options);
  EXPECT_EQ(Read("w/data/a.parquet", 0, 100), "short");
}

TEST(CacheOptions, AreTakenOutOfTheStoreOptions) {
  std::map<std::string, std::string> options = {
      {"aws_region", "x"}, {"TIMELAKE_CACHE_DIR", "/c"}, {"timelake_cache_disk_bytes", "99999999"}};
  const auto cache = TakeCacheOptions(&options, true);
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_EQ(cache->kind, CacheOptions::Kind::kDisk);
  EXPECT_EQ(cache->folder, "/c");
  EXPECT_EQ(cache->disk_bytes, 99999999);
  EXPECT_EQ(options, (std::map<std::string, std::string>{{"aws_region", "x"}}));
  options = {};
  EXPECT_EQ(TakeCacheOptions(&options, true)->kind, CacheOptions::Kind::kMemory);
  EXPECT_EQ(TakeCacheOptions(&options, false)->kind, CacheOptions::Kind::kOff);
  EXPECT_EQ(TakeCacheOptions(&options, false)->memory_bytes, 0);
}

TEST(CacheOptions, WrongOnesAreNamed) {
  const std::vector<std::pair<std::map<std::string, std::string>, std::string>> cases = {
      {{{"timelake_cache", "tape"}}, "off, memory or disk"},
      {{{"timelake_cache_memory_bytes", "256MB"}}, "256MB"},
      {{{"timelake_cache_memory_bytes", "5"}}, "from 1048576"},
      {{{"timelake_cache_disk_bytes", "-1"}}, "timelake_cache_disk_bytes"},
      {{{"timelake_cache_dir", ""}}, "empty"},
      {{{"timelake_cache_dir", "s3://b/c"}}, "not a local folder"},
      {{{"timelake_cache_dir", "/c"}, {"timelake_cache", "memory"}}, "timelake_cache = disk"},
  };
  for (auto [options, says] : cases) {
    const auto cache = TakeCacheOptions(&options, true);
    ASSERT_FALSE(cache.ok()) << says;
    EXPECT_EQ(KindOf(cache.status()), ErrorKind::kInvalidArgument);
    EXPECT_NE(cache.status().message().find(says), std::string::npos) << cache.status();
  }
}

}  // namespace
}  // namespace timelake::store
