#include "store/object_store.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "store/moved_store.h"
#include "store/scheme.h"
#include "store/url_text.h"

namespace timelake::store {
namespace {

constexpr std::string_view kAccepted =
    "a folder such as ./lake, /data/lake or ~/lake, file:///data/lake, s3://bucket/folder, "
    "gs://bucket/folder, az://container/folder, abfss://container@account.dfs.core.windows.net/"
    "folder, https://host/folder (to read) or memory://name";

struct Scheme {
  std::string_view spelling;  // as it stands in a URI
  std::string_view kind;      // the store's own name for it
  std::string_view recorded;  // the spelling that our URIs have
};

constexpr std::array kSchemes = {
    Scheme{"file", "file", "file"}, Scheme{"memory", "memory", "memory"},
    Scheme{"s3", "s3", "s3"},       Scheme{"s3a", "s3", "s3"},
    Scheme{"s3n", "s3", "s3"},      Scheme{"gs", "gs", "gs"},
    Scheme{"gcs", "gs", "gs"},      Scheme{"az", "az", "az"},
    Scheme{"azure", "az", "az"},    Scheme{"adl", "az", "az"},
    Scheme{"abfs", "az", "abfs"},   Scheme{"abfss", "az", "abfss"},
    Scheme{"wasb", "az", "wasb"},   Scheme{"wasbs", "az", "wasbs"},
    Scheme{"http", "http", "http"}, Scheme{"https", "http", "https"},
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

// "container@account.dfs.core.windows.net" -> the two; the second may be empty.
struct Authority {
  std::string_view container;
  std::string_view host;
};
Authority SplitAuthority(std::string_view text) {
  const size_t at = text.find('@');
  if (at == std::string_view::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool IsPlain(std::string_view name, std::string_view more) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return IsAlpha(c) || IsDigit(c) || more.find(c) != std::string_view::npos;
  });
}

Result<Location> BucketFolder(std::string_view location, const Scheme& scheme) {
  std::string root = RootOf(location);
  if (!IsPlain(root.substr(0, root.find('/')), ".-_")) {
    return InvalidArgument("location '{}' has no bucket: write {}://bucket/folder", location,
                           scheme.recorded);
  }
  return Location{std::string(scheme.recorded), std::move(root)};
}

Result<Location> ContainerFolder(std::string_view location, const Scheme& scheme) {
  const std::string root = RootOf(location);
  const size_t slash = std::min(root.size(), root.find('/'));
  const auto [container, host] = SplitAuthority(std::string_view(root).substr(0, slash));
  const bool host_missing = root.substr(0, slash).ends_with('@');
  if (!IsPlain(container, "-$") || host_missing || (!host.empty() && !IsPlain(host, ".-"))) {
    return InvalidArgument(
        "location '{}' has no container: write az://container/folder or "
        "abfss://container@account.dfs.core.windows.net/folder",
        location);
  }
  Location parsed{std::string(scheme.recorded), std::string(container) + root.substr(slash)};
  if (!host.empty()) parsed.scheme += "@" + std::string(host);
  return parsed;
}

// A URL, and so percent-encoded, unlike the locations of other stores.
Result<Location> WebFolder(std::string_view location, const Scheme& scheme) {
  std::string root = RootOf(location);
  if (root.find_first_of("?#@ ") != std::string::npos) {
    return InvalidArgument(
        "location '{}' must have neither user nor query: write https://host/folder", location);
  }
  root = UriDecode(root);
  if (!IsPlain(root.substr(0, root.find('/')), ".-_:[]")) {
    return InvalidArgument("location '{}' has no host: write https://host/folder", location);
  }
  return Location{std::string(scheme.recorded), std::move(root)};
}

}  // namespace

void ObjectStore::SyncSoon(const std::vector<std::string>&) {}

std::shared_ptr<StagedPut> ObjectStore::Stage(const std::string&,
                                              const std::shared_ptr<arrow::Buffer>&) {
  return nullptr;
}

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

std::string_view KindOfScheme(std::string_view scheme) {
  const Scheme* known = FindScheme(SplitAuthority(scheme).container);
  return known == nullptr ? scheme : known->kind;
}

std::string_view HostOfScheme(std::string_view scheme) { return SplitAuthority(scheme).host; }

Status CheckWritable(const ObjectStore& store, std::string_view key) {
  if (KindOfScheme(store.scheme()) != "http") return Status::OK();
  return Unsupported(
      "{}: what a web server serves can only be read; write to the place that its files come from",
      UriOf(store, key));
}

std::string UriOf(const ObjectStore& store, std::string_view key) {
  const std::string own = store.scheme();
  const auto [scheme, host] = SplitAuthority(own);
  if (host.empty()) return own + "://" + std::string(key);
  const size_t slash = std::min(key.size(), key.find('/'));
  return fmt::format("{}://{}@{}{}", scheme, key.substr(0, slash), host, key.substr(slash));
}

Result<std::string> KeyOf(const ObjectStore& store, std::string_view uri) {
  const std::string full = store.scheme();
  const auto [own, own_host] = SplitAuthority(full);
  const std::string spelling = SchemeOf(uri);
  if (own == "file") {
    if (uri.starts_with('/')) return std::string(uri);
    if (spelling == "file") return PathOfFileUri(uri);
  } else if (const size_t slashes = uri.find("://"); slashes == spelling.size()) {
    const Scheme* mine = FindScheme(own);
    const Scheme* scheme = FindScheme(spelling);
    const bool same_kind = scheme != nullptr && mine != nullptr && scheme->kind == mine->kind;
    const std::string_view key = uri.substr(slashes + 3);
    if (same_kind && mine->kind == "az") {
      const size_t slash = std::min(key.size(), key.find('/'));
      const auto [container, host] = SplitAuthority(key.substr(0, slash));
      const auto account = [](std::string_view of) { return of.substr(0, of.find('.')); };
      if (host.empty() || own_host.empty() || account(host) == account(own_host)) {
        return std::string(container) + std::string(key.substr(slash));
      }
    } else if (same_kind || spelling == own) {
      return std::string(key);
    }
  }
  if (auto key = KeyOfCopy(store, uri)) return *std::move(key);
  return Unsupported("'{}' is not an object of this table's store ({})", uri, full);
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
  if (scheme->kind == "memory") return MemoryFolder(location);
  if (scheme->kind == "az") return ContainerFolder(location, *scheme);
  if (scheme->kind == "http") return WebFolder(location, *scheme);
  return BucketFolder(location, *scheme);
}

}  // namespace timelake::store
