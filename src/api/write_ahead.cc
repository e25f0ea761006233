#include "api/write_ahead.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>

#include "base/hash.h"
#include "base/text.h"

namespace timelake::api {
namespace {

constexpr uint32_t kMagic = 0x41574C54;  // "TLWA"; never changes
constexpr size_t kHeaderBytes = 24;
constexpr int kTries = 100;

struct Header {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t length = 0;
  uint32_t checksum = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(Header) == kHeaderBytes);

uint32_t ChecksumOf(const Header& header, std::string_view payload) {
  char fields[sizeof header.kind + sizeof header.length + sizeof(int32_t)];
  const int32_t inner = HashBytes(payload);
  std::memcpy(fields, &header.kind, sizeof header.kind);
  std::memcpy(fields + sizeof header.kind, &header.length, sizeof header.length);
  std::memcpy(fields + sizeof header.kind + sizeof header.length, &inner, sizeof inner);
  return static_cast<uint32_t>(HashBytes({fields, sizeof fields}));
}

// The payload of a whole record that `bytes` begin with.
std::optional<std::string_view> PayloadAt(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  Header header;
  std::memcpy(&header, bytes.data(), kHeaderBytes);
  if (header.magic != kMagic || header.length > bytes.size() - kHeaderBytes) return std::nullopt;
  const std::string_view payload = bytes.substr(kHeaderBytes, header.length);
  if (header.checksum != ChecksumOf(header, payload)) return std::nullopt;
  return payload;
}

bool WriteAll(int fd, std::string_view bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return true;
}

bool ReadAll(int fd, char* out, size_t count) {
  for (int64_t offset = 0; count > 0;) {
    const ssize_t got = pread(fd, out + offset, count, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = EIO;  // it was longer a moment ago
      return false;
    }
    offset += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool SyncFolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool synced = fsync(fd) == 0;
  close(fd);
  return synced;
}

Result<std::string> EncodeRows(const WriteAhead::Batches& batches) {
  std::string payload;
  for (const auto& batch : batches) {
    TL_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create());
    TL_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeStreamWriter(sink, batch->schema()));
    TL_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
    TL_RETURN_NOT_OK(writer->Close());
    TL_ASSIGN_OR_RAISE(const auto bytes, sink->Finish());
    const auto length = static_cast<uint64_t>(bytes->size());
    payload.append(reinterpret_cast<const char*>(&length), sizeof length);
    payload.append(reinterpret_cast<const char*>(bytes->data()), length);
  }
  return payload;
}

Status DecodeRows(std::string_view payload, WriteAhead::Batches* batches) {
  while (!payload.empty()) {
    uint64_t length = 0;
    if (payload.size() < sizeof length) return Corrupt("a length is cut off");
    std::memcpy(&length, payload.data(), sizeof length);
    payload.remove_prefix(sizeof length);
    if (length > payload.size()) return Corrupt("rows are cut off");
    // A buffer of its own, aligned as Arrow wants it.
    TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                       arrow::AllocateBuffer(static_cast<int64_t>(length)));
    std::memcpy(bytes->mutable_data(), payload.data(), length);
    payload.remove_prefix(length);
    TL_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(
                                        std::make_shared<arrow::io::BufferReader>(bytes)));
    TL_ASSIGN_OR_RAISE(const auto read, reader->ToRecordBatches());
    batches->insert(batches->end(), read.begin(), read.end());
  }
  return Status::OK();
}

}  // namespace

Status WriteAhead::Failed(std::string_view what) const {
  return IoError("table {}: write-ahead file {}: {}: {}", table_name_, Quote(path_), what,
                 std::strerror(errno));
}

// The file that has the name once it is locked: another appender may have removed it in between.
Status WriteAhead::Lock() {
  for (int tries = 0; tries < kTries; ++tries) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0) return Failed("cannot be opened");
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return Failed("cannot be locked");
      return InvalidArgument("table {}: write-ahead file {} is in use by another appender",
                             table_name_, Quote(path_));
    }
    struct stat ours = {}, named = {};
    if (fstat(fd_, &ours) != 0) return Failed("stat");
    if (stat(path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
        ours.st_dev == named.st_dev) {
      return SyncFolderOf(path_) ? Status::OK() : Failed("its folder cannot be synced");
    }
    close(std::exchange(fd_, -1));
  }
  return IoError("table {}: write-ahead file {} is replaced again and again", table_name_,
                 Quote(path_));
}

Status WriteAhead::Take(Kind kind, std::string_view payload, bool first) {
  if (first != (kind == Kind::kTable)) return Corrupt("it does not begin with its table");
  switch (kind) {
    case Kind::kTable:
      if (payload == table_uuid_) return Status::OK();
      return InvalidArgument("it holds rows of another table (uuid {}, this one has {})", payload,
                             table_uuid_);
    case Kind::kRows:
      if (waiting_writes_++ == 0) left_.emplace_back();
      return DecodeRows(payload, &left_.back().batches);
    case Kind::kCommit:
      if (waiting_writes_ == 0) return Corrupt("a commit without rows");
      left_.back().batch_id = payload;
      waiting_writes_ = 0;
      ++open_commits_;
      return Status::OK();
    case Kind::kDone:
      if (open_commits_ == 0) return Corrupt("the end of no commit");
      --open_commits_;
      // The last one that had begun; rows may have come since.
      left_.erase(left_.end() - (waiting_writes_ > 0 ? 2 : 1));
      return Status::OK();
  }
  return Corrupt("a record of kind {}, which this version does not know",
                 static_cast<uint32_t>(kind));
}

Status WriteAhead::KeepTorn(std::string_view bytes) {
  torn_path_ = path_ + ".torn";
  const int fd = open(torn_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return Failed("what was cut off cannot be kept");
  const bool kept = WriteAll(fd, bytes, 0) && fdatasync(fd) == 0;
  close(fd);
  if (!kept || !SyncFolderOf(path_)) return Failed("what was cut off cannot be kept");
  return Status::OK();
}

Status WriteAhead::Load() {
  struct stat status = {};
  if (fstat(fd_, &status) != 0) return Failed("stat");
  std::string all(static_cast<size_t>(status.st_size), '\0');
  if (!ReadAll(fd_, all.data(), all.size())) return Failed("cannot be read");
  std::string_view rest = all;
  while (const auto payload = PayloadAt(rest)) {
    Header header;
    std::memcpy(&header, rest.data(), kHeaderBytes);
    Status taken = Take(static_cast<Kind>(header.kind), *payload, end_ == 0);
    if (!taken.ok()) {
      return WithContext(taken, fmt::format("table {}: write-ahead file {}, byte {}", table_name_,
                                            Quote(path_), end_));
    }
    end_ += static_cast<int64_t>(kHeaderBytes + payload->size());
    rest.remove_prefix(kHeaderBytes + payload->size());
  }
  if (rest.empty()) return Status::OK();
  // The length of a file may reach the disk before its bytes do: zeros follow those that came.
  const size_t came = rest.find_last_not_of('\0') + 1;  // npos + 1 is 0
  const bool ours =
      end_ > 0 || std::memcmp(rest.data(), &kMagic, std::min(came, sizeof kMagic)) == 0;
  if (!ours) {
    return InvalidArgument("table {}: {} is no write-ahead file", table_name_, Quote(path_));
  }
  // Each record is synced before the next one is begun: only the last can have been cut off.
  const std::string_view magic(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
  for (size_t at = rest.find(magic, 1); at != rest.npos; at = rest.find(magic, at + 1)) {
    if (!PayloadAt(rest.substr(at))) continue;
    return Corrupt("table {}: write-ahead file {} is damaged at byte {}; rows follow at byte {}",
                   table_name_, Quote(path_), end_, end_ + static_cast<int64_t>(at));
  }
  TL_RETURN_NOT_OK(KeepTorn(rest));
  if (ftruncate(fd_, end_) != 0 || fdatasync(fd_) != 0) return Failed("cannot be shortened");
  return Status::OK();
}

Result<std::unique_ptr<WriteAhead>> WriteAhead::Open(const std::string& path,
                                                     const std::string& table_name,
                                                     const std::string& table_uuid) {
  std::unique_ptr<WriteAhead> file(new WriteAhead(path, table_name, table_uuid));
  TL_RETURN_NOT_OK(file->Lock());
  TL_RETURN_NOT_OK(file->Load());
  if (file->end_ == 0) TL_RETURN_NOT_OK(file->Append(Kind::kTable, table_uuid));
  return file;
}

WriteAhead::~WriteAhead() {
  if (fd_ >= 0) close(fd_);
}

Status WriteAhead::Append(Kind kind, std::string_view payload) {
  if (broken_) {
    return IoError("table {}: write-ahead file {}: an earlier record could not be written",
                   table_name_, Quote(path_));
  }
  Header header;
  header.kind = static_cast<uint32_t>(kind);
  header.length = payload.size();
  header.checksum = ChecksumOf(header, payload);
  const std::string_view head(reinterpret_cast<const char*>(&header), kHeaderBytes);
  const bool written = WriteAll(fd_, head, end_) &&
                       WriteAll(fd_, payload, end_ + static_cast<int64_t>(kHeaderBytes)) &&
                       fdatasync(fd_) == 0;
  if (!written) {
    const Status failed = Failed("cannot be written");
    broken_ = ftruncate(fd_, end_) != 0 || fdatasync(fd_) != 0;
    return failed;
  }
  end_ += static_cast<int64_t>(kHeaderBytes + payload.size());
  return Status::OK();
}

Status WriteAhead::Write(const Batches& batches) {
  if (batches.empty()) return Status::OK();
  TL_ASSIGN_OR_RAISE(const std::string payload, EncodeRows(batches));
  TL_RETURN_NOT_OK(Append(Kind::kRows, payload));
  ++waiting_writes_;
  return Status::OK();
}

Status WriteAhead::BeginCommit(std::string_view batch_id) {
  TL_RETURN_NOT_OK(Append(Kind::kCommit, batch_id));
  waiting_writes_ = 0;
  ++open_commits_;
  return Status::OK();
}

Status WriteAhead::EndCommit() {
  TL_RETURN_NOT_OK(Append(Kind::kDone, {}));
  --open_commits_;
  return Status::OK();
}

Status WriteAhead::Reset() {
  if (ftruncate(fd_, 0) != 0) return Failed("cannot be emptied");
  end_ = 0;
  broken_ = false;
  open_commits_ = waiting_writes_ = 0;
  left_.clear();
  return Append(Kind::kTable, table_uuid_);
}

Status WriteAhead::Remove() {
  if (unlink(path_.c_str()) != 0) return Failed("cannot be removed");
  close(std::exchange(fd_, -1));
  return Status::OK();
}

}  // namespace timelake::api
