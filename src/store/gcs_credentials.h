#pragma once

#include <string_view>

#include "base/clock.h"
#include "store/credential_sources.h"
#include "store/gcs_options.h"

namespace timelake::store {

// Where the token of gs:// comes from, in this order: the callback; a token among the options; a
// service account's key or a credentials file (options, then GOOGLE_APPLICATION_CREDENTIALS); the
// file of `gcloud auth application-default login`; the machine's metadata server. An empty token:
// requests are not authorized. A source that is there but does not answer is an error, not passed
// over.
Result<AccessToken> FindGcsToken(const GcsOptions& options, Clock& clock);

// The token of a credentials file: "service_account" (a token signed by ourselves, RFC 7523),
// "authorized_user", "external_account" (RFC 8693; gcs_subject.h) or
// "impersonated_service_account".
Result<AccessToken> TokenOfGcsFile(std::string_view json, const GcsOptions& options, Clock& clock);

}  // namespace timelake::store
