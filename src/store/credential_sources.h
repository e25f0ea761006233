#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/http_client.h"
#include "store/remote_options.h"
#include "store/url_text.h"

// What the credentials of S3, Azure and Google have in common: files, programs and small servers
// that hand them out. Messages hold no secret.

namespace timelake::store {

// An OAuth token (RFC 6749) as a store takes it: "Authorization: Bearer ...".
struct AccessToken {
  std::string token;       // empty: requests are not authorized
  int64_t expires_us = 0;  // 0: not known
};

// {"access_token": "...", "expires_in": 3599}; Azure's metadata tell "expires_on", in seconds since
// 1970, beside it.
Result<AccessToken> ParseAccessToken(std::string_view text, int64_t now_us, std::string_view who);

// A field of a JSON object, if it is text, a number or a flag; else "".
std::string JsonField(std::string_view text, const char* name);

Result<std::string> ReadSecretFile(const std::string& path, std::string_view what);

// What a shell command writes; its standard error goes where ours goes.
Result<std::string> OutputOf(const std::string& command, std::string_view what);

// For servers on or beside the machine: one that has none of them must not wait for long.
HttpOptions NearBy(HttpOptions options);

// Asks up to three times; a reply with a status of 4xx is one. `who` is for messages.
Result<HttpReply> AskForCredentials(HttpClient* http, const HttpRequest& request,
                                    std::string_view who);

// As AskForCredentials of a form; kIo, with the code of the refusal, for a status other than 200.
Result<HttpReply> PostForm(HttpClient* http, const std::string& url, const NameValues& form,
                           std::string_view who);

// Whether secrets may go there: encrypted, or an eavesdropper would be on the machine itself.
bool MayBeAsked(std::string_view url);

}  // namespace timelake::store
