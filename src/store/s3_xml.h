#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// The few XML documents of the S3 protocol. Pure; foreign bytes.

namespace timelake::store {

struct S3Listing {
  struct Object {
    std::string key;
    int64_t size = 0;
    int64_t mtime_us = 0;  // whole seconds, as the header Last-Modified has it
    std::string etag;      // with its quotes
  };
  std::vector<Object> objects;
  std::vector<std::string> prefixes;
  std::string next_token;  // empty: this was the last page
};
Result<S3Listing> ParseListing(std::string_view xml);

struct S3Error {
  std::string code;  // "NoSuchKey"; empty: the body is no error document
  std::string message;
  std::string key;  // of a failed delete
};
S3Error ParseS3Error(std::string_view xml);

// Errors in the answer to a delete of many.
std::vector<S3Error> ParseDeleteErrors(std::string_view xml);

// "2026-01-02T03:04:05.678Z" -> microseconds, whole seconds: the fraction is dropped, since
// Last-Modified has none.
Result<int64_t> ParseIsoSeconds(const std::string& text);

// Text of the first element of that name, at any depth; empty if there is none.
std::string FirstElement(std::string_view xml, std::string_view name);

std::string DeleteManyXml(const std::vector<std::string>& keys);
std::string CompleteUploadXml(const std::vector<std::string>& etags);

}  // namespace timelake::store
