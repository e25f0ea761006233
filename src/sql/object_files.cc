#include "sql/object_files.h"

#include <fnmatch.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <duckdb/common/file_system.hpp>
#include <duckdb/main/database.hpp>

#include "sql/error.h"
#include "store/open_store.h"
#include "store/scheme.h"

namespace timelake::sql {

namespace {

using duckdb::FileHandle;
using duckdb::FileOpener;
using duckdb::FileOpenFlags;
using duckdb::idx_t;
using duckdb::OpenFileInfo;
using duckdb::optional_ptr;
using duckdb::string;

class ObjectFile : public FileHandle {
 public:
  using FileHandle::FileHandle;
  void Close() override {
    if (out) ThrowIfError(std::exchange(out, nullptr)->Close());
    in.reset();
  }

  std::shared_ptr<arrow::io::OutputStream> out;  // of a new file; not closed: nothing appears
  std::shared_ptr<arrow::io::RandomAccessFile> in;
  int64_t position = 0;
};

bool IsObject(const string& path) {
  for (const char* scheme :
       {"s3://", "s3a://", "s3n://", "gs://", "gcs://", "az://", "azure://", "adl://", "abfs://",
        "abfss://", "wasb://", "wasbs://", "http://", "https://"}) {
    if (path.rfind(scheme, 0) == 0) return true;
  }
  return false;
}

// The lake's own store where it can have the file, else one with the credentials of the
// environment.
class Stores {
 public:
  explicit Stores(std::shared_ptr<store::ObjectStore> lake) : lake_(std::move(lake)) {}

  // The store of a file, and its key there.
  std::pair<store::ObjectStore*, string> Find(const string& path) {
    const store::Location place = ValueOrThrow(store::ParseLocation(path));
    const bool web = store::KindOfScheme(place.scheme) == "http";
    if (lake_ && !web) {
      auto key = store::KeyOf(*lake_, path);
      // A path that names an account is not one of an az:// lake, whose URIs name none.
      const bool same = store::HostOfScheme(place.scheme).empty() ||
                        !store::HostOfScheme(lake_->scheme()).empty();
      if (key.ok() && same) return {lake_.get(), *std::move(key)};
    }
    const std::lock_guard lock(mutex_);
    auto& opened = opened_[place.scheme];
    if (!opened) opened = ValueOrThrow(store::OpenStore(place, {}));
    // Not the location's root: a key may end in a slash.
    string key = web ? place.root : ValueOrThrow(store::KeyOf(*opened, path));
    return {opened.get(), std::move(key)};
  }

 private:
  const std::shared_ptr<store::ObjectStore> lake_;
  std::mutex mutex_;
  std::map<string, std::shared_ptr<store::ObjectStore>> opened_;  // by Location::scheme
};

// Files of which a COPY has written nothing that anybody can see.
class OpenWrites {
 public:
  void Add(const string& path, const std::shared_ptr<arrow::io::OutputStream>& stream) {
    const std::lock_guard lock(mutex_);
    streams_[path] = stream;
  }
  // True: `path` was one, and nothing of it will appear.
  bool Abort(const string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(path);
    if (found == streams_.end()) return false;
    const auto stream = found->second.lock();
    streams_.erase(found);
    if (stream == nullptr || stream->closed()) return false;
    (void)stream->Abort();
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<string, std::weak_ptr<arrow::io::OutputStream>> streams_;
};

class ObjectFiles : public duckdb::FileSystem {
 public:
  explicit ObjectFiles(std::shared_ptr<store::ObjectStore> lake) : stores_(std::move(lake)) {}

  string GetName() const override { return "TimelakeObjectFiles"; }
  bool CanHandleFile(const string& path) override { return IsObject(path); }
  bool CanSeek() override { return true; }
  bool OnDiskFile(FileHandle&) override { return false; }
  string PathSeparator(const string&) override { return "/"; }

  duckdb::unique_ptr<FileHandle> OpenFile(const string& path, FileOpenFlags flags,
                                          optional_ptr<FileOpener>) override {
    auto file = duckdb::make_uniq<ObjectFile>(*this, path, flags);
    if (flags.OpenForWriting()) {
      if (flags.OpenForAppending() || flags.OpenForReading()) {
        Throw(Unsupported("{}: an object is written whole, not changed", path));
      }
      const auto [store, key] = stores_.Find(path);
      file->out = ValueOrThrow(store->OpenWrite(key));
      writes_.Add(path, file->out);
      return file;
    }
    const auto [store, key] = stores_.Find(path);
    auto opened = store->OpenRead(key, std::nullopt);
    if (!opened.ok() && flags.ReturnNullIfNotExists() &&
        KindOf(opened.status()) == ErrorKind::kNotFound) {
      return nullptr;
    }
    file->in = ValueOrThrow(std::move(opened));
    return file;
  }

  int64_t Write(FileHandle& handle, void* buffer, int64_t bytes) override {
    auto& file = handle.Cast<ObjectFile>();
    if (!file.out) Throw(InvalidArgument("{}: not open for writing", handle.path));
    ThrowIfError(file.out->Write(buffer, bytes));
    file.position += bytes;
    return bytes;
  }
  void Write(FileHandle& handle, void* buffer, int64_t bytes, idx_t location) override {
    if (static_cast<int64_t>(location) != handle.Cast<ObjectFile>().position) {
      Throw(Unsupported("{}: an object is written from its beginning to its end", handle.path));
    }
    Write(handle, buffer, bytes);
  }

  void Read(FileHandle& handle, void* buffer, int64_t bytes, idx_t location) override {
    const int64_t read =
        ValueOrThrow(In(handle).ReadAt(static_cast<int64_t>(location), bytes, buffer));
    if (read != bytes) {
      Throw(IoError("{}: {} bytes at {} are beyond its end", handle.path, bytes, location));
    }
  }
  int64_t Read(FileHandle& handle, void* buffer, int64_t bytes) override {
    auto& file = handle.Cast<ObjectFile>();
    const int64_t read = ValueOrThrow(In(handle).ReadAt(file.position, bytes, buffer));
    file.position += read;
    return read;
  }

  int64_t GetFileSize(FileHandle& handle) override {
    auto& file = handle.Cast<ObjectFile>();
    return file.out ? file.position : ValueOrThrow(In(handle).GetSize());
  }
  duckdb::timestamp_t GetLastModifiedTime(FileHandle&) override { return duckdb::timestamp_t(0); }
  duckdb::FileType GetFileType(FileHandle&) override { return duckdb::FileType::FILE_TYPE_REGULAR; }
  void FileSync(FileHandle&) override {}  // what is closed is durable
  void Seek(FileHandle& handle, idx_t location) override {
    In(handle);
    handle.Cast<ObjectFile>().position = static_cast<int64_t>(location);
  }
  void Reset(FileHandle& handle) override { Seek(handle, 0); }
  idx_t SeekPosition(FileHandle& handle) override {
    return static_cast<idx_t>(handle.Cast<ObjectFile>().position);
  }

  bool FileExists(const string& path, optional_ptr<FileOpener>) override {
    const auto [store, key] = stores_.Find(path);
    return ValueOrThrow(store->Head(key)).found;
  }
  // Folders need not be made; one that holds something is there.
  bool DirectoryExists(const string& path, optional_ptr<FileOpener>) override {
    return path.rfind("http", 0) != 0 && !Below(path).second.empty();
  }
  void CreateDirectory(const string&, optional_ptr<FileOpener>) override {}
  void CreateDirectoriesRecursive(const string&, optional_ptr<FileOpener>) override {}
  bool ListFiles(const string& path, const std::function<void(const string&, bool)>& callback,
                 FileOpener*) override {
    const auto [folder, objects] = Below(path);
    for (const auto& object : objects) callback(object.key.substr(folder.size()), false);
    return !objects.empty();
  }

  // What DuckDB does when a COPY fails: the new file must not appear, the old one must stay.
  void RemoveFile(const string& path, optional_ptr<FileOpener>) override {
    if (writes_.Abort(path)) return;
    const auto [store, key] = stores_.Find(path);
    ThrowIfError(store->Delete(key));
  }
  bool TryRemoveFile(const string& path, optional_ptr<FileOpener> opener) override {
    RemoveFile(path, opener);
    return true;
  }

  duckdb::vector<OpenFileInfo> Glob(const string& path, FileOpener*) override {
    duckdb::vector<OpenFileInfo> found;
    const size_t wild = path.find_first_of("*?[");
    if (wild == string::npos) {
      found.emplace_back(path);
      return found;
    }
    if (path.find("**") != string::npos) {
      Throw(Unsupported("{}: ** is not done for objects; * and ? stay within a folder", path));
    }
    const size_t after_scheme = path.find("://") + 3;
    if (path.find('/', after_scheme) > wild) {
      Throw(InvalidArgument("{}: the bucket must be named", path));
    }
    const auto [store, prefix] = stores_.Find(path.substr(0, wild));
    const string pattern = prefix + path.substr(wild);
    for (const auto& object : ValueOrThrow(store->List(prefix)).objects) {
      if (fnmatch(pattern.c_str(), object.key.c_str(), FNM_PATHNAME) == 0) {
        found.emplace_back(store::UriOf(*store, object.key));
      }
    }
    return found;
  }

 private:
  // What lies below a folder; keys begin with the first.
  std::pair<string, std::vector<store::ObjectInfo>> Below(const string& path) {
    auto [store, key] = stores_.Find(path);
    if (!key.empty() && key.back() != '/') key += '/';
    auto objects = ValueOrThrow(store->List(key)).objects;
    return {std::move(key), std::move(objects)};
  }
  static arrow::io::RandomAccessFile& In(FileHandle& handle) {
    auto& file = handle.Cast<ObjectFile>();
    if (!file.in) Throw(InvalidArgument("{}: not open for reading", handle.path));
    return *file.in;
  }

  Stores stores_;
  OpenWrites writes_;
};

}  // namespace

void RegisterObjectFiles(duckdb::DatabaseInstance& database,
                         std::shared_ptr<store::ObjectStore> lake_store) {
  database.GetFileSystem().RegisterSubSystem(duckdb::make_uniq<ObjectFiles>(std::move(lake_store)));
}

}  // namespace timelake::sql
