#include "store/gcs_api.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

using Json = nlohmann::json;

constexpr const char* kObjectFields = "generation,size";
constexpr int64_t kFirstTime = int64_t{1'000'000'000} * kMicrosPerSecond;  // the year 2001
constexpr int64_t kLastTime = int64_t{10'000'000'000} * kMicrosPerSecond;  // 2286

// 64-bit numbers are text in Google's JSON.
std::string Field(const Json& json, const char* name) {
  const auto at = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

Result<ObjectInfo> OfGeneration(const std::string& generation, const std::string& size) {
  const auto micros = ParseInt64(generation);
  if (!micros.ok() || *micros < kFirstTime || *micros > kLastTime) {
    return Unsupported("the store's reply has the generation {}, which is no time, as commits need",
                       Quote(generation));
  }
  ObjectInfo info;
  info.identity = generation;
  info.mtime_us = FloorDiv(*micros, kMicrosPerSecond) * kMicrosPerSecond;
  const auto bytes = ParseInt64(size);
  info.size = bytes.ok() ? *bytes : -1;
  return info;
}

Result<ObjectInfo> OfResource(const Json& json) {
  return OfGeneration(Field(json, "generation"), Field(json, "size"));
}

bool IsGeneration(const std::string& text) {
  return !text.empty() && text.size() <= 19 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string ObjectPath(const ObjectName& object) {
  return "/storage/v1/b/" + UriEncode(object.bucket, false) + "/o/" + UriEncode(object.name, false);
}

std::string UploadPath(const ObjectName& object) {
  return "/upload/storage/v1/b/" + UriEncode(object.bucket, false) + "/o";
}

}  // namespace

RemoteRequest GcsApi::Request(const char* method, const ObjectName& object,
                              std::string path) const {
  RemoteRequest request;
  request.method = method;
  request.place = "gs://" + object.bucket + (object.name.empty() ? "" : "/" + object.name);
  request.holder = "bucket " + object.bucket;
  const size_t slash = options_.base_url.find('/', options_.base_url.find("://") + 3);
  request.base = options_.base_url.substr(0, slash);
  if (slash != std::string::npos) request.path = options_.base_url.substr(slash);
  request.path += path;
  return request;
}

RemoteRequest GcsApi::Get(const ObjectName& object) const {
  RemoteRequest request = Request("GET", object, ObjectPath(object));
  request.query = {{"alt", "media"}};
  return request;
}

RemoteRequest GcsApi::Head(const ObjectName& object) const {
  RemoteRequest request = Request("GET", object, ObjectPath(object));
  request.query = {{"fields", kObjectFields}};
  return request;
}

RemoteRequest GcsApi::Put(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes) const {
  RemoteRequest request = Request("POST", object, UploadPath(object));
  request.query = {{"uploadType", "media"}, {"name", object.name}, {"fields", kObjectFields}};
  request.headers = {{"content-type", "application/octet-stream"}};
  request.body = std::move(bytes);
  return request;
}

Result<RemoteRequest> GcsApi::PutIf(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes,
                                    const std::optional<std::string>& expected) const {
  RemoteRequest request = Put(object, std::move(bytes));
  // Generation 0: there is none. What is no generation is none of any object.
  const std::string generation = expected.value_or("0");
  request.query.emplace_back("ifGenerationMatch", IsGeneration(generation) ? generation : "1");
  return request;
}

RemoteRequest GcsApi::Resumable(const ObjectName& object) const {
  RemoteRequest request = Request("POST", object, UploadPath(object));
  request.query = {{"uploadType", "resumable"}, {"name", object.name}, {"fields", kObjectFields}};
  request.headers = {{"x-upload-content-type", "application/octet-stream"}};
  request.body = arrow::Buffer::FromString("");
  return request;
}

RemoteRequest GcsApi::Delete(const ObjectName& object) const {
  return Request("DELETE", object, ObjectPath(object));
}

RemoteRequest GcsApi::List(const std::string& bucket, const std::string& prefix, bool folders,
                           const std::string& token) const {
  RemoteRequest request =
      Request("GET", {bucket, ""}, "/storage/v1/b/" + UriEncode(bucket, false) + "/o");
  request.query = {
      {"fields", folders ? "prefixes,nextPageToken" : "items(name,size,generation),nextPageToken"}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (folders) request.query.emplace_back("delimiter", "/");
  if (!token.empty()) request.query.emplace_back("pageToken", token);
  return request;
}

Result<ListPage> GcsApi::ParseList(std::string_view text) const {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return IoError("the store's listing is cut off or is none");
  ListPage page;
  page.next = Field(json, "nextPageToken");
  if (const auto items = json.find("items"); items != json.end() && items->is_array()) {
    for (const Json& item : *items) {
      TL_ASSIGN_OR_RAISE(ObjectInfo info, OfResource(item));
      info.key = Field(item, "name");
      if (info.key.empty() || info.size < 0) {
        return IoError("the store's listing has an object without a name or a size");
      }
      page.objects.push_back(std::move(info));
    }
  }
  if (const auto folders = json.find("prefixes"); folders != json.end() && folders->is_array()) {
    for (const Json& folder : *folders) {
      if (folder.is_string()) page.folders.push_back(folder.get<std::string>());
    }
  }
  return page;
}

Result<ObjectInfo> GcsApi::InfoOf(const RemoteRequest& request, const HttpReply& reply) const {
  const bool media = std::find(request.query.begin(), request.query.end(),
                               NameValues::value_type("alt", "media")) != request.query.end();
  if (media) return OfGeneration(reply.Header("x-goog-generation"), "");
  return OfResource(Json::parse(reply.text(), nullptr, false));
}

ObjectInfo GcsApi::InfoOfPut(const HttpReply& reply) const {
  auto info = OfResource(Json::parse(reply.text(), nullptr, false));
  if (info.ok()) return *std::move(info);
  ObjectInfo unknown;
  unknown.mtime_us = -1;
  return unknown;
}

std::optional<PutOutcome> GcsApi::OutcomeOf(const HttpReply& reply, bool expected) const {
  if (reply.status == 412) return PutOutcome::kExists;
  if (expected && reply.status == 404 && !ParseRemoteError(reply).NoBucket()) {
    return PutOutcome::kExists;
  }
  if (reply.status == 409) return PutOutcome::kRepeat;
  return std::nullopt;
}

}  // namespace timelake::store
