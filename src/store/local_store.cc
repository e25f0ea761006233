#include "store/local_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <arrow/io/file.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "store/early_syncs.h"
#include "store/local_file.h"
#include "store/local_folder.h"
#include "store/spare_files.h"

namespace timelake::store {
namespace {

constexpr int kSyncThreads = 8;
// A file that somebody touches all the time is taken as it was read.
constexpr int kReadTries = 10;

Status CheckKey(const std::string& key) {
  if (key.starts_with('/') && key.find('\0') == std::string::npos) return Status::OK();
  return InvalidArgument("'{}' is not the key of a local object: it must be an absolute path", key);
}

Status CheckPut(const std::string& key, const std::shared_ptr<arrow::Buffer>& bytes) {
  if (bytes == nullptr) return InvalidArgument("{}: put without bytes", key);
  return CheckKey(key);
}

// nullopt: no such file. A folder is no object.
Result<std::optional<struct stat>> StatFile(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) == 0) {
    return S_ISDIR(st.st_mode) ? std::nullopt : std::make_optional(st);
  }
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  return ErrnoError(path, "stat", errno);
}

// An fd that is not ok(): no such file.
Result<Fd> OpenFile(const std::string& path, struct stat* st) {
  Fd fd = OpenFd(path, O_RDONLY);
  if (!fd.ok()) {
    if (errno == ENOENT || errno == ENOTDIR) return Fd();
    return ErrnoError(path, "open", errno);
  }
  if (fstat(fd.get(), st) != 0) return ErrnoError(path, "stat", errno);
  if (S_ISDIR(st->st_mode)) return Fd();
  return fd;
}

Result<std::shared_ptr<arrow::Buffer>> ReadWhole(int fd, const std::string& path, int64_t size) {
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                     arrow::AllocateBuffer(size, CurrentPool()));
  for (int64_t at = 0; at < size;) {
    const ssize_t got = Uninterrupted(
        [&] { return pread(fd, bytes->mutable_data() + at, static_cast<size_t>(size - at), at); });
    if (got < 0) return ErrnoError(path, "read", errno);
    if (got == 0) return IoError("{}: ends at byte {} of {}: it shrank while read", path, at, size);
    at += got;
  }
  return bytes;
}

// The first error by position; the rest is tried all the same. Disks and journals serve several
// requests at once in about the time of one.
Status AllAtOnce(const std::vector<std::function<Status()>>& tasks) {
  std::vector<Status> results(tasks.size());
  TL_RETURN_NOT_OK(ParallelFor(static_cast<int>(tasks.size()), kSyncThreads, [&](int i) {
    results[static_cast<size_t>(i)] = tasks[static_cast<size_t>(i)]();
    return Status::OK();
  }));
  for (Status& status : results) TL_RETURN_NOT_OK(std::move(status));
  return Status::OK();
}

// The bytes of a conditional put, in a file without a name.
class StagedFile : public StagedPut {
 public:
  StagedFile(std::shared_ptr<arrow::Buffer> bytes, NewFile file)
      : bytes_(std::move(bytes)), file_(std::move(file)) {}

  bool IsOf(const std::string& key, const arrow::Buffer* bytes) const {
    return bytes_.get() == bytes && file_.target() == key;
  }
  Status Sync() override {
    if (!synced_) TL_RETURN_NOT_OK(file_.SyncData());
    synced_ = true;
    return Status::OK();
  }
  NewFile& file() { return file_; }

 private:
  const std::shared_ptr<arrow::Buffer> bytes_;
  NewFile file_;
  bool synced_ = false;
};

class LocalStore : public ObjectStore {
 public:
  explicit LocalStore(const LocalStoreOptions& options) : options_(options) {}

  std::string scheme() const override { return "file"; }
  bool has_compare_and_swap() const override { return true; }

  Result<GetReply> Get(const std::string& key) override {
    TL_RETURN_NOT_OK(CheckKey(key));
    GetReply reply;
    reply.info.key = key;
    // A file that has lost its name may be written anew (SpareFiles).
    bool same = false;
    for (int i = 0; i < kReadTries && !same; ++i) {
      struct stat st, after;
      TL_ASSIGN_OR_RAISE(const Fd fd, OpenFile(key, &st));
      reply.found = fd.ok();
      if (!fd.ok()) break;
      TL_ASSIGN_OR_RAISE(reply.bytes, ReadWhole(fd.get(), key, st.st_size));
      reply.info = InfoOf(key, st);
      same = stat(key.c_str(), &after) != 0 || InfoOf(key, after).identity == reply.info.identity;
    }
    if (!reply.found) {  // any more
      reply.bytes = nullptr;
      reply.info = {};
      reply.info.key = key;
    }
    reply.date_us = Date(key);
    return reply;
  }

  Result<HeadReply> Head(const std::string& key) override {
    TL_RETURN_NOT_OK(CheckKey(key));
    HeadReply reply;
    reply.info.key = key;
    TL_ASSIGN_OR_RAISE(const auto st, StatFile(key));
    if (st.has_value()) {
      reply.found = true;
      reply.info = InfoOf(key, *st);
    }
    reply.date_us = Date(key);
    return reply;
  }

  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override {
    TL_RETURN_NOT_OK(CheckPut(key, bytes));
    TL_ASSIGN_OR_RAISE(NewFile file, Create(key));
    TL_RETURN_NOT_OK(file.Write(bytes->data(), bytes->size()));
    TL_RETURN_NOT_OK(file.NameOrReplace());
    PutReply reply;
    TL_ASSIGN_OR_RAISE(reply.info, file.Info());
    reply.date_us = reply.info.mtime_us;
    return reply;
  }

  Status Sync(const std::vector<std::string>& keys) override {
    std::set<std::string> folders;
    std::vector<std::function<Status()>> tasks;
    for (const std::string& key : keys) {
      TL_RETURN_NOT_OK(CheckKey(key));
      folders.insert(FolderOf(key));
    }
    for (const std::string& folder : folders) TL_RETURN_NOT_OK(folders_.SyncNames(folder));
    // No error ends this before all that has begun is awaited.
    const auto begun = std::make_shared<EarlySyncs::Waiting>();
    const auto sync = [&](const std::string& path, Status (*now)(const std::string&)) {
      if (early_syncs_.WaitFor(path, begun)) return;
      tasks.push_back([&path, now] { return now(path); });
    };
    for (const std::string& key : keys) sync(key, SyncFile);
    // The names are there already, so they need not wait for the bytes.
    for (const std::string& folder : folders) sync(folder, SyncFolder);
    Status status = AllAtOnce(tasks);
    Status early = early_syncs_.Await(begun);
    return status.ok() ? early : status;
  }
  void SyncSoon(const std::vector<std::string>& keys) override {
    std::set<std::string> folders;
    for (const std::string& key : keys) folders.insert(FolderOf(key));
    early_syncs_.Begin(keys, folders);
  }

  std::shared_ptr<StagedPut> Stage(const std::string& key,
                                   const std::shared_ptr<arrow::Buffer>& bytes) override {
    auto made = CheckPut(key, bytes).ok() ? MakeStaged(key, bytes)
                                          : Result<std::shared_ptr<StagedFile>>(nullptr);
    if (!made.ok() || *made == nullptr) return nullptr;  // the put will say why
    const std::lock_guard lock(staged_mutex_);
    staged_.push_back(*made);
    return *std::move(made);
  }
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer> bytes) override;
  Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                         std::shared_ptr<arrow::Buffer> bytes,
                                         const std::optional<std::string>& expected) override;

  Result<ListReply> List(const std::string& prefix) override {
    TL_RETURN_NOT_OK(CheckKey(prefix));
    const size_t fixed = prefix.rfind('/') + 1;  // no name above this can differ
    ListReply reply;
    reply.date_us = Date(prefix);
    std::string name_prefix = prefix.substr(fixed);
    std::vector<std::string> folders = {prefix.substr(0, fixed)};
    while (!folders.empty()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      // Linked folders are not entered: they may lead out of the table, or in a circle.
      TL_RETURN_NOT_OK(ReadFolder(folder, name_prefix, [&](const FolderEntry& entry) {
        std::string path = folder + std::string(entry.name);
        if (entry.kind == FolderEntry::Kind::kFile) {
          reply.objects.push_back(InfoOf(std::move(path), entry.st));
        } else if (entry.kind == FolderEntry::Kind::kFolder) {
          folders.push_back(path + "/");
        }
      }));
      name_prefix.clear();
    }
    std::sort(reply.objects.begin(), reply.objects.end(),
              [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; });
    return reply;
  }

  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override {
    TL_RETURN_NOT_OK(CheckKey(prefix));
    if (!prefix.ends_with('/')) return InvalidArgument("'{}' must end in '/'", prefix);
    std::vector<std::string> names;
    TL_RETURN_NOT_OK(ReadFolder(prefix, "", [&](const FolderEntry& entry) {
      if (entry.kind != FolderEntry::Kind::kFile) names.emplace_back(entry.name);
    }));
    std::sort(names.begin(), names.end());
    return names;
  }

  Status Delete(const std::string& key) override {
    TL_RETURN_NOT_OK(CheckKey(key));
    early_syncs_.Forget(key);
    if (unlink(key.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return Status::OK();
    return ErrnoError(key, "delete", errno);
  }

  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    TL_RETURN_NOT_OK(CheckKey(key));
    TL_ASSIGN_OR_RAISE(NewFile file, Create(key));
    return MakeFileStream(std::move(file));
  }

  // `size` saves nothing here.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(const std::string& key,
                                                                std::optional<int64_t>) override {
    TL_RETURN_NOT_OK(CheckKey(key));
    struct stat st;
    TL_ASSIGN_OR_RAISE(Fd fd, OpenFile(key, &st));
    if (!fd.ok()) return NotFound("{}: no such file", key);
    TL_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(fd.get(), CurrentPool()));
    fd.Release();  // the file closes it
    return file;
  }

 private:
  Result<NewFile> Create(const std::string& key) {
    return NewFile::Create(key, options_.abilities, &folders_);
  }
  Result<std::shared_ptr<StagedFile>> MakeStaged(const std::string& key,
                                                 const std::shared_ptr<arrow::Buffer>& bytes) {
    TL_ASSIGN_OR_RAISE(NewFile file, Create(key));
    TL_RETURN_NOT_OK(file.Write(bytes->data(), bytes->size()));
    return std::make_shared<StagedFile>(bytes, std::move(file));
  }
  // What Stage made of these bytes, for one put, or else a new one; synced.
  Result<std::shared_ptr<StagedFile>> TakeStaged(const std::string& key,
                                                 const std::shared_ptr<arrow::Buffer>& bytes) {
    std::shared_ptr<StagedFile> found;
    {
      const std::lock_guard lock(staged_mutex_);
      std::erase_if(staged_, [&](const std::weak_ptr<StagedFile>& one) {
        auto staged = one.lock();
        if (staged == nullptr) return true;
        if (found != nullptr || !staged->IsOf(key, bytes.get())) return false;
        found = std::move(staged);
        return true;
      });
    }
    if (found == nullptr) {
      TL_ASSIGN_OR_RAISE(found, MakeStaged(key, bytes));
    }
    TL_RETURN_NOT_OK(found->Sync());
    return found;
  }
  int64_t Date(const std::string& key) { return clocks_.Date(FolderOf(key), options_.abilities); }

  ConditionalPutReply Refused(PutOutcome outcome, const std::string& key, std::string why) {
    ConditionalPutReply reply;
    reply.outcome = outcome;
    reply.info.key = key;
    reply.message = std::move(why);
    if (outcome != PutOutcome::kNoReply) reply.date_us = Date(key);
    return reply;
  }

  const LocalStoreOptions options_;
  Folders folders_;
  FolderClocks clocks_;
  EarlySyncs early_syncs_;
  SpareFiles spares_;
  std::mutex staged_mutex_;
  std::vector<std::weak_ptr<StagedFile>> staged_;
};

ConditionalPutReply Stored(ObjectInfo info) {
  ConditionalPutReply reply;
  reply.outcome = PutOutcome::kCreated;
  reply.date_us = info.mtime_us;
  reply.info = std::move(info);
  return reply;
}

Result<ConditionalPutReply> LocalStore::PutIfAbsent(const std::string& key,
                                                    std::shared_ptr<arrow::Buffer> bytes) {
  TL_RETURN_NOT_OK(CheckPut(key, bytes));
  const std::string taken = key + " exists";
  struct stat st;
  if (lstat(key.c_str(), &st) == 0) return Refused(PutOutcome::kExists, key, taken);

  // The bytes and all folders above are durable before the name is there for others to build on.
  TL_ASSIGN_OR_RAISE(const auto staged, TakeStaged(key, bytes));
  NewFile& file = staged->file();
  TL_RETURN_NOT_OK(folders_.SyncNames(FolderOf(key)));

  std::string why;
  TL_ASSIGN_OR_RAISE(const NewFile::Naming named, file.NameIfAbsent(&why));
  if (named == NewFile::Naming::kTaken) return Refused(PutOutcome::kExists, key, taken);
  if (named == NewFile::Naming::kUnsure) return Refused(PutOutcome::kNoReply, key, why);

  // From here on the object is there for all to see, so no error may say otherwise.
  Status durable = file.SyncNamed();
  if (durable.ok()) durable = SyncFolder(FolderOf(key));
  Result<ObjectInfo> info = file.Info();
  if (durable.ok()) durable = info.status();
  if (!durable.ok()) {
    return Refused(PutOutcome::kNoReply, key, "stored, perhaps not durably: " + MessageOf(durable));
  }
  return Stored(*std::move(info));
}

Result<ConditionalPutReply> LocalStore::PutIfMatch(const std::string& key,
                                                   std::shared_ptr<arrow::Buffer> bytes,
                                                   const std::optional<std::string>& expected) {
  TL_RETURN_NOT_OK(CheckPut(key, bytes));
  const auto differs = [&](const std::optional<struct stat>& now) {
    return now.has_value() ? InfoOf(key, *now).identity != expected : expected.has_value();
  };
  const std::string changed = key + " is not the object that was expected";
  TL_ASSIGN_OR_RAISE(auto now, StatFile(key));
  if (differs(now)) return Refused(PutOutcome::kExists, key, changed);

  // The bytes go out before the name, although neither need be durable when this answers: so after
  // a power loss the old or the new ones are there, never none.
  std::optional<NewFile> file;
  const auto write = [&]() -> Status {
    TL_ASSIGN_OR_RAISE(NewFile made, Create(key));
    file.emplace(std::move(made));
    TL_RETURN_NOT_OK(file->Write(bytes->data(), bytes->size()));
    return file->WriteOut();
  };
  if (!spares_.Has(key)) TL_RETURN_NOT_OK(write());

  const FolderLock lock(FolderOf(key), options_.lock_wait_us);
  if (!lock.held()) return Refused(PutOutcome::kNoReply, key, "not written: " + lock.why());
  TL_ASSIGN_OR_RAISE(now, StatFile(key));
  if (differs(now)) return Refused(PutOutcome::kExists, key, changed);
  if (now.has_value()) {
    if (auto info = spares_.Swap(key, *bytes, ChangeNanos(*now))) return Stored(*std::move(info));
  }
  if (!file) TL_RETURN_NOT_OK(write());
  if (now.has_value()) {
    TL_RETURN_NOT_OK(file->AgePast(ChangeNanos(*now)));
    TL_RETURN_NOT_OK(file->NameOrReplace());
  } else {
    std::string why;
    TL_ASSIGN_OR_RAISE(const NewFile::Naming named, file->NameIfAbsent(&why));
    if (named == NewFile::Naming::kTaken) return Refused(PutOutcome::kExists, key, changed);
    if (named == NewFile::Naming::kUnsure) return Refused(PutOutcome::kNoReply, key, why);
  }
  Result<ObjectInfo> info = file->Info();
  if (!info.ok()) return Refused(PutOutcome::kNoReply, key, MessageOf(info.status()));
  return Stored(*std::move(info));
}

}  // namespace

std::shared_ptr<ObjectStore> MakeLocalStore(const LocalStoreOptions& options) {
  return std::make_shared<LocalStore>(options);
}

}  // namespace timelake::store
