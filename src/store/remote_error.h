#pragma once

#include <string>
#include <string_view>

#include "store/http_client.h"

namespace timelake::store {

// What a store says when it refuses a request: the XML of S3 and Azure, the JSON of Google, or
// nothing but the status. Foreign bytes.
struct RemoteError {
  std::string code;  // "NoSuchKey"; empty: the store gave none that is a name
  std::string message;

  bool NoBucket() const;  // not the object is missing, but all that it would lie in
};
RemoteError ParseRemoteError(const HttpReply& reply);

// "HTTP 403 AccessDenied: ..."
std::string Describe(const HttpReply& reply);

// Replies that say "later", or leave open what happened.
bool IsTransient(const HttpReply& reply);

}  // namespace timelake::store
