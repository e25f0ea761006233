#include "store/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "store_testing.h"

namespace timelake::store {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kBudget = 16 << 20;

std::vector<fs::path> Blocks(const std::string& folder) {
  std::vector<fs::path> blocks;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".block") blocks.push_back(entry.path());
  }
  return blocks;
}

std::shared_ptr<DiskCache> Open(const std::string& folder, int64_t budget = kBudget) {
  auto cache = DiskCache::Open(folder, budget);
  EXPECT_TRUE(cache.ok()) << cache.status();
  return *cache;
}

std::string Text(DiskCache* cache, const std::string& name) {
  const auto bytes = cache->Load(name);
  return bytes ? bytes->ToString() : "(missing)";
}

TEST(DiskCache, KeepsAndShares) {
  TempFolder folder;
  const auto cache = Open(folder.path() + "/a/b");
  EXPECT_EQ(Text(cache.get(), "x"), "(missing)");
  cache->Store("x", *Bytes("one"));
  cache->Store("y", *Bytes(""));
  EXPECT_EQ(Text(cache.get(), "x"), "one");
  EXPECT_EQ(Text(cache.get(), "y"), "");
  EXPECT_EQ(Text(Open(folder.path() + "/a/b").get(), "x"), "one");
  cache->Store("x", *Bytes("two"));
  EXPECT_EQ(Text(cache.get(), "x"), "two");
  EXPECT_EQ(cache->damaged(), 0);
  EXPECT_EQ(cache->failed_writes(), 0);
  struct stat st {};
  ASSERT_EQ(stat((folder.path() + "/a/b").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);  // what tables hold is for its owner alone
}

TEST(DiskCache, AFolderThatCannotBeOneIsNamed) {
  TempFolder folder;
  std::ofstream(folder.path() + "/file") << "x";
  const auto cache = DiskCache::Open(folder.path() + "/file/sub", kBudget);
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(KindOf(cache.status()), ErrorKind::kInvalidArgument);
  EXPECT_NE(cache.status().message().find(folder.path() + "/file/sub"), std::string::npos);
}

// Each bit of a file, turned; and each length of it, cut: a miss, and the file is gone.
TEST(DiskCache, DamageIsAMiss) {
  TempFolder folder;
  const auto cache = Open(folder.path());
  cache->Store("name", *Bytes("some bytes"));
  const fs::path path = Blocks(folder.path()).at(0);
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  int64_t damaged = 0;
  const auto meets = [&](const std::string& bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(Text(cache.get(), "name"), "(missing)") << bytes.size();
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(cache->damaged(), ++damaged);
  };
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      meets(bad);
    }
  }
  for (size_t size = 0; size < good.size(); ++size) meets(good.substr(0, size));
  meets(good + "x");
  std::ofstream(path, std::ios::binary) << good;
  EXPECT_EQ(Text(cache.get(), "name"), "some bytes");
}

// A file with another's name in it: two names with one hash.
TEST(DiskCache, AnotherNameIsAMiss) {
  TempFolder folder;
  const auto cache = Open(folder.path());
  cache->Store("a", *Bytes("of a"));
  const fs::path a = Blocks(folder.path()).at(0);
  cache->Store("b", *Bytes("of b"));
  for (const fs::path& path : Blocks(folder.path())) {
    if (path != a) fs::copy_file(a, path, fs::copy_options::overwrite_existing);
  }
  EXPECT_EQ(Text(cache.get(), "b"), "(missing)");
  EXPECT_EQ(cache->damaged(), 0);
  EXPECT_EQ(Text(cache.get(), "a"), "of a");
}

TEST(DiskCache, TheLeastRecentlyUsedGo) {
  TempFolder folder;
  const auto cache = Open(folder.path());
  const std::string megabyte(1 << 20, 'x');
  const std::string piece(megabyte.begin(), megabyte.begin() + (512 << 10));
  for (int i = 0; i < 30; ++i) {
    cache->Store(std::to_string(i), *Bytes(piece));
    // A second apart, oldest first.
    for (const fs::path& path : Blocks(folder.path())) {
      struct stat st {};
      ASSERT_EQ(stat(path.c_str(), &st), 0);
      const timespec times[2] = {{st.st_mtime - 100, 0}, {st.st_mtime - 100, 0}};
      ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    }
  }
  EXPECT_EQ(Text(cache.get(), "0"), piece);  // used again
  for (int i = 30; i < 60; ++i) {
    cache->Store(std::to_string(i), *Bytes(piece));
    ASSERT_LE(cache->bytes(), kBudget + kBudget / 16);
  }
  EXPECT_EQ(Text(cache.get(), "59"), piece);
  EXPECT_EQ(Text(cache.get(), "1"), "(missing)");
  EXPECT_EQ(Text(cache.get(), "0"), piece);
  EXPECT_TRUE(cache->Sweep());
}

// Many short processes, each far below its share: what they add counts together.
TEST(DiskCache, AllProcessesCountTogether) {
  TempFolder folder;
  const std::string piece(512 << 10, 'x');
  for (int i = 0; i < 80; ++i) {
    const auto cache = Open(folder.path());
    cache->Store(std::to_string(i), *Bytes(piece));
    ASSERT_LE(cache->bytes(), kBudget + kBudget / 16);
    EXPECT_EQ(Text(cache.get(), std::to_string(i)), piece);
  }
}

// What a writer that died left: never read, removed when it is old.
TEST(DiskCache, UnfinishedFilesGo) {
  TempFolder folder;
  const auto cache = Open(folder.path());
  const std::string old = folder.path() + "/1-aa.part", young = folder.path() + "/2-bb.part";
  std::ofstream(old) << "half";
  std::ofstream(young) << "half";
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
  EXPECT_TRUE(cache->Sweep());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

// Processes write and read the same names, one with a budget that makes it sweep all the time, and
// are killed: whoever reads has right bytes or none.
TEST(DiskCache, ProcessesShareIt) {
  TempFolder folder;
  const auto content = [](int name) {
    std::string text(20'000 + 997 * name, static_cast<char>('a' + name % 26));
    return text + std::to_string(name);
  };
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto cache = DiskCache::Open(folder.path(), child == 0 ? 1 << 20 : kBudget);
      if (!cache.ok()) _exit(2);
      std::mt19937 random(static_cast<unsigned>(child));
      for (int i = 0; child > 0 ? i < 3000 : true; ++i) {
        const int name = static_cast<int>(random() % 40);
        const std::string wanted = content(name);
        const auto got = (*cache)->Load(std::to_string(name));
        if (got && got->ToString() != wanted) _exit(3);
        if (!got) (*cache)->Store(std::to_string(name), arrow::Buffer(wanted));
      }
      _exit((*cache)->damaged() == 0 ? 0 : 4);
    }
    children.push_back(pid);
  }
  for (size_t i = 1; i < children.size(); ++i) {
    int status = 0;
    ASSERT_EQ(waitpid(children[i], &status, 0), children[i]);
    EXPECT_EQ(status, 0);
  }
  kill(children[0], SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(children[0], &status, 0), children[0]);
  EXPECT_TRUE(WIFSIGNALED(status));  // it had found nothing wrong
  const auto cache = Open(folder.path());
  for (int name = 0; name < 40; ++name) {
    const auto got = cache->Load(std::to_string(name));
    if (got) {
      EXPECT_EQ(got->ToString(), content(name));
    }
  }
  EXPECT_EQ(cache->damaged(), 0);
}

}  // namespace
}  // namespace timelake::store
