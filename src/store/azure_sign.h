#pragma once

#include <cstdint>
#include <string>

#include "store/remote_client.h"

// Azure Storage's "Shared Key" authorization, written from its specification. Pure, once
// LoadCrypto() has been ok.

namespace timelake::store {

// "Thu, 01 Jan 2026 00:00:00 GMT"
std::string HttpDate(int64_t now_us);

// Of a request to the Blob service, with all its headers but Authorization.
std::string SharedKeyStringToSign(const RemoteRequest& request, const std::string& account);

// The value of the header Authorization. `key`: raw bytes.
std::string SharedKeyAuthorization(const RemoteRequest& request, const std::string& account,
                                   const std::string& key);

}  // namespace timelake::store
