#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "store/credential_sources.h"
#include "store/gcs_options.h"

namespace timelake::store {

// What proves to Google who one is at another identity provider (RFC 8693): the subject token of
// `file`, a credentials file of type "external_account" that has the fields audience and
// subject_token_type. By its credential_source it comes from a file, a URL, a program
// ("executable", if GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1), or is a request to AWS's STS that
// is signed with the keys of the environment or of the instance ("environment_id": "aws1").
// Certificates: kUnsupported.
Result<std::string> FindSubjectToken(const nlohmann::json& file, const GcsOptions& options,
                                     Clock& clock);

// A field of such files that is text; else "".
std::string TextField(const nlohmann::json& json, const char* name);

// For a URL that a credentials file names: kInvalidArgument if secrets may not go there.
Status CheckMayBeAsked(const std::string& url);

}  // namespace timelake::store
