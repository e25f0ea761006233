#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

// Digests and signatures, by the libcrypto that is loaded when it is needed. Once LoadCrypto() has
// been ok they cannot fail; without it digests are empty.

namespace timelake::store {

std::string Sha256Hex(std::string_view bytes);
std::string HmacSha256(std::string_view key, std::string_view text);  // raw bytes
std::string Md5Base64(std::string_view bytes);                        // the header Content-MD5

// RSASSA-PKCS1-v1_5 with SHA-256 (the "RS256" of JSON web tokens); raw bytes. `key_pem` is an
// unencrypted private key. Messages do not hold it.
Result<std::string> SignRs256(const std::string& key_pem, std::string_view text);

}  // namespace timelake::store
