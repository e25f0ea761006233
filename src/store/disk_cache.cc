#include "store/disk_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <arrow/util/crc32.h>
#include <fmt/format.h>

#include "base/random.h"
#include "store/posix.h"

namespace timelake::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".block";
constexpr std::string_view kUnfinished = ".part";
constexpr char kMagic[8] = {'T', 'L', 'B', 'L', 'O', 'C', 'K', '1'};
constexpr int64_t kUsedAgainSeconds = 60;    // a file's time is set anew when older than this
constexpr int64_t kAbandonedSeconds = 3600;  // a file being written for so long has no writer
constexpr int64_t kLookAfterShare = 16;

// Before name and bytes. Only this machine reads it: in its own byte order.
struct Head {
  char magic[8];
  uint32_t checksum;  // of lengths, name and bytes
  uint32_t name_length;
  uint64_t length;
};
static_assert(sizeof(Head) == 24);

uint32_t Checksum(const Head& head, const char* name, const void* bytes) {
  uint32_t sum = arrow::internal::crc32(0, &head.name_length, sizeof head.name_length);
  sum = arrow::internal::crc32(sum, &head.length, sizeof head.length);
  sum = arrow::internal::crc32(sum, name, head.name_length);
  return arrow::internal::crc32(sum, bytes, head.length);
}

// FNV-1a. Two names with one hash replace each other: the name in the file tells.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

bool WriteAll(int fd, const void* data, size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto written = Uninterrupted([&] { return write(fd, at, size); });
    if (written <= 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool ReadAll(int fd, void* data, size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto got = Uninterrupted([&] { return read(fd, at, size); });
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

struct Entry {
  std::string path;
  int64_t bytes = 0;
  int64_t used_s = 0;
};

// All files of the cache; those that no writer will finish go.
std::vector<Entry> Look(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  const int64_t now = time(nullptr);
  fs::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    struct stat st {};
    const std::string path = at->path().string();
    if (lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    if (path.ends_with(kUnfinished)) {
      if (now - st.st_mtime > kAbandonedSeconds) unlink(path.c_str());
    } else if (path.ends_with(kSuffix)) {
      entries.push_back({path, static_cast<int64_t>(st.st_size), st.st_mtime});
    }
  }
  return entries;
}

int64_t BytesOf(const std::vector<Entry>& entries) {
  int64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  return bytes;
}

}  // namespace

Result<std::shared_ptr<DiskCache>> DiskCache::Open(std::string folder, int64_t budget_bytes) {
  std::error_code error;
  const bool there = fs::is_directory(folder, error);
  if (!there) {
    fs::create_directories(folder, error);
    if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  }
  if (error || access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return InvalidArgument("cache folder {}: {}", folder,
                           error ? error.message() : "it cannot be read and written");
  }
  std::shared_ptr<DiskCache> cache(new DiskCache(std::move(folder), budget_bytes));
  const Fd fd = OpenFd(cache->folder_ + "/added", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  void* counter = MAP_FAILED;
  if (fd.ok() && ftruncate(fd.get(), sizeof(int64_t)) == 0) {
    counter = mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  }
  if (counter == MAP_FAILED) {
    return InvalidArgument("cache folder {}: its file 'added': {}", cache->folder_,
                           ErrnoText(errno));
  }
  cache->added_ = static_cast<int64_t*>(counter);
  return cache;
}

DiskCache::~DiskCache() {
  if (added_ != nullptr) munmap(added_, sizeof(int64_t));
}

std::string DiskCache::PathOf(const std::string& name) const {
  const std::string hash = fmt::format("{:016x}", HashOf(name));
  return folder_ + "/" + hash.substr(0, 2) + "/" + hash.substr(2) + std::string(kSuffix);
}

std::shared_ptr<arrow::Buffer> DiskCache::Load(const std::string& name) {
  const std::string path = PathOf(name);
  const Fd fd = OpenFd(path, O_RDONLY | O_NOFOLLOW);
  if (!fd.ok()) return nullptr;
  struct stat st {};
  Head head{};
  std::string own;
  std::shared_ptr<arrow::Buffer> bytes;
  const auto read = [&] {
    if (fstat(fd.get(), &st) != 0 || !ReadAll(fd.get(), &head, sizeof head)) return false;
    const uint64_t size = sizeof head + uint64_t{head.name_length} + head.length;
    if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) return false;
    if (static_cast<uint64_t>(st.st_size) != size || head.length > size) return false;
    own.resize(head.name_length);
    auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(head.length));
    if (!buffer.ok() || !ReadAll(fd.get(), own.data(), own.size())) return false;
    bytes = *std::move(buffer);
    return ReadAll(fd.get(), bytes->mutable_data(), head.length) &&
           Checksum(head, own.data(), bytes->data()) == head.checksum;
  };
  if (!read()) {
    ++damaged_;
    unlink(path.c_str());
    return nullptr;
  }
  if (own != name) return nullptr;
  if (time(nullptr) - st.st_mtime > kUsedAgainSeconds) futimens(fd.get(), nullptr);
  return bytes;
}

void DiskCache::Store(const std::string& name, const arrow::Buffer& bytes) {
  const auto size = static_cast<int64_t>(sizeof(Head) + name.size()) + bytes.size();
  if (size > budget_ / kLookAfterShare) return;
  if (IsFullFor(size)) {
    // Others of this process wait for the one that looks: what they have is kept, too.
    const std::lock_guard one(sweeping_);
    if (IsFullFor(size) && !SweepAlone()) return;
  }
  this->added() += size;
  const std::string path = PathOf(name);
  mkdir(FolderOf(path).c_str(), 0700);
  const std::string unfinished =
      fmt::format("{}/{}-{:016x}{}", folder_, getpid(), SystemRandom()->Next64(), kUnfinished);
  const Fd fd = OpenFd(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.name_length = static_cast<uint32_t>(name.size());
  head.length = static_cast<uint64_t>(bytes.size());
  head.checksum = Checksum(head, name.data(), bytes.data());
  const bool written = fd.ok() && WriteAll(fd.get(), &head, sizeof head) &&
                       WriteAll(fd.get(), name.data(), name.size()) &&
                       WriteAll(fd.get(), bytes.data(), static_cast<size_t>(bytes.size())) &&
                       rename(unfinished.c_str(), path.c_str()) == 0;
  if (written) return;
  ++failed_;
  if (fd.ok()) unlink(unfinished.c_str());
}

bool DiskCache::IsFullFor(int64_t size) const {
  const int64_t before = added();
  return before <= 0 || before - 1 + size > budget_ / kLookAfterShare;
}

bool DiskCache::Sweep() {
  const std::lock_guard one(sweeping_);
  return SweepAlone();
}

bool DiskCache::SweepAlone() {
  const Fd lock = OpenFd(folder_ + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock.ok() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  std::vector<Entry> entries = Look(folder_);
  int64_t bytes = BytesOf(entries);
  if (bytes > budget_ - budget_ / kLookAfterShare) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.used_s < b.used_s; });
    for (const Entry& entry : entries) {
      if (bytes <= budget_ - budget_ / 10) break;
      if (unlink(entry.path.c_str()) == 0 || errno == ENOENT) bytes -= entry.bytes;
    }
  }
  added() = 1;
  return true;
}

int64_t DiskCache::bytes() { return BytesOf(Look(folder_)); }

}  // namespace timelake::store
