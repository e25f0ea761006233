#include "store/object_store.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace timelake::store {
namespace {

constexpr std::string_view kAccepted =
    "a folder such as ./lake, /data/lake or ~/lake, file:///data/lake, s3://bucket/folder, or "
    "memory://name";

struct Scheme {
  std::string_view spelling;  // as it stands in a URI
  std::string_view kind;      // the store's own name for it
  bool served;                // does this version have such a store
};

constexpr std::array kSchemes = {
    Scheme{"file", "file", true},  Scheme{"memory", "memory", true}, Scheme{"s3", "s3", true},
    Scheme{"s3a", "s3", true},     Scheme{"s3n", "s3", true},        Scheme{"gs", "gs", false},
    Scheme{"gcs", "gs", false},    Scheme{"az", "az", false},        Scheme{"abfs", "az", false},
    Scheme{"abfss", "az", false},  Scheme{"wasb", "az", false},      Scheme{"wasbs", "az", false},
    Scheme{"http", "http", false}, Scheme{"https", "http", false},
};

const Scheme* FindScheme(std::string_view spelling) {
  for (const Scheme& scheme : kSchemes) {
    if (scheme.spelling == spelling) return &scheme;
  }
  return nullptr;
}

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The part before the first ':' in lower case if it is spelled like a scheme, else "".
std::string SchemeOf(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !IsAlpha(text[0])) return "";
  std::string scheme;
  for (char c : text.substr(0, colon)) {
    if (!IsAlpha(c) && !IsDigit(c) && c != '+' && c != '-' && c != '.') return "";
    scheme += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return scheme;
}

// "file:" URI without its scheme -> path. Other engines write one slash or three, RFC 8089 also
// allows the host "localhost".
Result<std::string> PathOfFileUri(std::string_view uri) {
  std::string_view rest = uri.substr(uri.find(':') + 1);
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (rest.starts_with("localhost/")) rest.remove_prefix(std::string_view("localhost").size());
  }
  if (!rest.starts_with('/')) {
    return InvalidArgument("'{}' is not the URI of a local file: write file:///absolute/path", uri);
  }
  return std::string(rest);
}

Result<std::string> HomeFolder() {
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, text.data(), text.size(), &found) == 0 && found != nullptr) {
    return std::string(found->pw_dir);
  }
  return InvalidArgument(
      "location starts with '~' but neither HOME nor the user database names a "
      "home folder");
}

// Absolute, without "." and ".." (taken lexically, as a shell's cd does) and without a slash at
// its end; the root of the file system is "".
Result<std::string> AbsoluteFolder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return IoError("{}: cannot make the path absolute: {}", path, error.message());
  std::string folder = absolute.lexically_normal().string();
  while (!folder.empty() && folder.back() == '/') folder.pop_back();
  return folder;
}

Result<Location> LocalFolder(const std::string& path) {
  TL_ASSIGN_OR_RAISE(std::string root, AbsoluteFolder(path));
  return Location{"file", std::move(root)};
}

Result<Location> BarePath(std::string_view location, const std::string& scheme) {
  if (FindScheme(scheme) != nullptr) {
    return InvalidArgument(
        "location '{}' lacks the two slashes of {}://; for a folder of that "
        "name write ./{}",
        location, scheme, location);
  }
  if (location[0] != '~') return LocalFolder(std::string(location));
  if (location.size() > 1 && location[1] != '/') {
    return InvalidArgument(
        "location '{}': only ~ and ~/ are expanded; for a folder of that name "
        "write ./{}",
        location, location);
  }
  TL_ASSIGN_OR_RAISE(std::string home, HomeFolder());
  return LocalFolder(home + std::string(location.substr(1)));
}

// Without a slash at its end; empty if it has no first part.
std::string RootOf(std::string_view location) {
  std::string root(location.substr(location.find("://") + 3));
  while (!root.empty() && root.back() == '/') root.pop_back();
  return root.starts_with('/') ? "" : root;
}

Result<Location> MemoryFolder(std::string_view location) {
  std::string root = RootOf(location);
  if (root.empty()) {
    return InvalidArgument("location '{}' lacks a name: write memory://name", location);
  }
  return Location{"memory", std::move(root)};
}

Result<Location> BucketFolder(std::string_view location) {
  std::string root = RootOf(location);
  const std::string bucket = root.substr(0, root.find('/'));
  const bool plain = std::all_of(bucket.begin(), bucket.end(), [](char c) {
    return IsAlpha(c) || IsDigit(c) || c == '.' || c == '-' || c == '_';
  });
  if (bucket.empty() || !plain) {
    return InvalidArgument("location '{}' has no bucket: write s3://bucket/folder", location);
  }
  return Location{"s3", std::move(root)};
}

}  // namespace

Status ObjectStore::PutAll(const std::vector<PutRequest>& requests) {
  for (const PutRequest& request : requests) {
    TL_RETURN_NOT_OK(Put(request.key, request.bytes).status());
  }
  return Status::OK();
}

Status ObjectStore::DeleteAll(const std::vector<std::string>& keys) {
  Status first;
  for (const std::string& key : keys) {
    Status status = Delete(key);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

std::shared_ptr<ObjectStore> DirectStore(std::shared_ptr<ObjectStore> store) {
  while (auto below = store->direct()) store = std::move(below);
  return store;
}

bool IsRemote(const ObjectStore& store) {
  const std::string scheme = store.scheme();
  return scheme != "file" && scheme != "memory";
}

std::string UriOf(const ObjectStore& store, std::string_view key) {
  return store.scheme() + "://" + std::string(key);
}

Result<std::string> KeyOf(const ObjectStore& store, std::string_view uri) {
  const std::string own = store.scheme();
  const std::string spelling = SchemeOf(uri);
  if (own == "file") {
    if (uri.starts_with('/')) return std::string(uri);
    if (spelling == "file") return PathOfFileUri(uri);
  } else if (const size_t slashes = uri.find("://"); slashes == spelling.size()) {
    const Scheme* scheme = FindScheme(spelling);
    if (spelling == own || (scheme != nullptr && scheme->kind == own)) {
      return std::string(uri.substr(slashes + 3));
    }
  }
  return Unsupported("'{}' is not an object of this table's store ({})", uri, own);
}

Result<Location> ParseLocation(std::string_view location) {
  if (location.empty()) return InvalidArgument("location is empty: give {}", kAccepted);
  if (location.find('\0') != std::string_view::npos) {
    return InvalidArgument("location contains a zero byte");
  }
  const std::string spelling = SchemeOf(location);
  if (spelling == "file") {
    TL_ASSIGN_OR_RAISE(std::string path, PathOfFileUri(location));
    return LocalFolder(path);
  }
  // "a:b/c" is a folder; only "a://" is a scheme.
  if (spelling.empty() || !location.substr(spelling.size()).starts_with("://")) {
    return BarePath(location, spelling);
  }
  const Scheme* scheme = FindScheme(spelling);
  if (scheme == nullptr) {
    return InvalidArgument("location '{}' has the unknown scheme '{}': give {}", location, spelling,
                           kAccepted);
  }
  if (!scheme->served) {
    return Unsupported(
        "location '{}': {}:// comes with object stores, which this version does not "
        "have yet: give {}",
        location, spelling, kAccepted);
  }
  return scheme->kind == "s3" ? BucketFolder(location) : MemoryFolder(location);
}

}  // namespace timelake::store
