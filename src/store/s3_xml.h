#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/remote_store.h"
#include "store/xml_reader.h"

// The few XML documents of the S3 protocol. Pure; foreign bytes.

namespace timelake::store {

// An answer to ListObjectsV2. Times have whole seconds, as the header Last-Modified has them; the
// identity is the ETag, with its quotes.
Result<ListPage> ParseS3Listing(std::string_view xml);

// Errors in the answer to a delete of many.
struct S3Error {
  std::string code;  // "AccessDenied"
  std::string message;
  std::string key;
};
std::vector<S3Error> ParseDeleteErrors(std::string_view xml);

// "2026-01-02T03:04:05.678Z" -> microseconds, whole seconds: the fraction is dropped, since
// Last-Modified has none.
Result<int64_t> ParseIsoSeconds(const std::string& text);

std::string DeleteManyXml(const std::vector<std::string>& keys);
std::string CompleteUploadXml(const std::vector<std::string>& etags);

}  // namespace timelake::store
