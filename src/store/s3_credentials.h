#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "store/s3_options.h"
#include "store/s3_sign.h"

// Where the keys of s3:// come from, in this order: the callback; storage options; a profile that
// an option names; AWS_ACCESS_KEY_ID and its siblings; a web identity token
// (AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN); the profile of AWS_PROFILE or "default": keys of
// its own, a credential_process, or a role_arn with a source_profile or a token file; the
// container's endpoint; the instance's (IMDSv2).

namespace timelake::store {

struct S3Credentials {
  S3Keys keys;             // an empty access key: requests are not to be signed
  int64_t expires_us = 0;  // 0: never
};

// Asks whatever is next in the order. kInvalidArgument when nothing gives keys; an error of a
// source that was asked for is not passed over. Messages hold no secret.
Result<S3Credentials> FindCredentials(const S3Options& options, const EnvLookup& env, Clock& clock);

// What container, instance and credential_process answer. `source` is for messages.
Result<S3Credentials> ParseCredentialsJson(std::string_view text, std::string_view source);

// What STS answers.
Result<S3Credentials> ParseCredentialsXml(std::string_view text, std::string_view source);

}  // namespace timelake::store
