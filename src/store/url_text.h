#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

// Text as URLs, forms and headers hold it. Pure.

namespace timelake::store {

using NameValues = std::vector<std::pair<std::string, std::string>>;

// Percent-encodes every byte but A-Z a-z 0-9 - . _ ~ and, if asked, '/'.
std::string UriEncode(std::string_view text, bool keep_slash);

// "%2F" -> "/". What is no such triple stays.
std::string UriDecode(std::string_view text);

// "a=b&c=" sorted and encoded: the query of a URL, or a form.
std::string QueryText(NameValues query);

std::string Hex(std::string_view bytes);
std::string Base64(std::string_view bytes);
std::string Base64Url(std::string_view bytes);  // RFC 4648, section 5, without padding
Result<std::string> FromBase64(std::string_view text);

// Every place where `secret` stands in `text` becomes "***".
void ReplaceSecret(std::string* text, std::string_view secret);

}  // namespace timelake::store
