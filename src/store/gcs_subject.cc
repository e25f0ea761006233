#include "store/gcs_subject.h"

#include <filesystem>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/digest.h"
#include "store/run_program.h"
#include "store/s3_credentials.h"

namespace timelake::store {
namespace {

using Json = nlohmann::json;

constexpr int64_t kDefaultTimeoutMs = 30'000;
constexpr int64_t kLeastTimeoutMs = 5'000;  // as Google's libraries have them
constexpr int64_t kMostTimeoutMs = 120'000;

class Source {
 public:
  Source(const Json& file, const GcsOptions& options, Clock& clock)
      : file_(file),
        source_(file.at("credential_source")),
        env_(options.env),
        clock_(clock),
        near_(NearBy(options.http)) {}

  Result<std::string> Find();

 private:
  Result<std::string> Ask(HttpRequest request, std::string_view who);
  Result<std::string> OfUrl(const std::string& url);
  Result<std::string> OfText(std::string text) const;

  Result<std::string> OfProgram(const Json& executable);
  Result<std::string> OfAnswer(std::string_view text, bool must_expire, std::string_view who) const;

  Result<std::string> OfAws();
  Result<std::string> Metadata(const char* field, const std::string& below = "");
  Result<std::string> AwsRegion();
  Result<S3Keys> AwsKeys();

  std::string Variable(const char* name) const {
    return env_ ? env_(name).value_or("") : std::string();
  }

  const Json& file_;
  const Json& source_;
  const EnvLookup& env_;
  Clock& clock_;
  HttpClient near_;
  std::optional<std::string> session_;  // of the instance's metadata; "": they ask for none
};

Result<std::string> Source::Ask(HttpRequest request, std::string_view who) {
  TL_RETURN_NOT_OK(CheckMayBeAsked(request.url));
  TL_ASSIGN_OR_RAISE(const HttpReply reply, AskForCredentials(&near_, request, who));
  if (reply.status == 200) return std::string(Trim(reply.text()));
  return IoError("credentials: {} answered HTTP {}", who, reply.status);
}

Result<std::string> Source::OfUrl(const std::string& url) {
  HttpRequest request;
  request.method = "GET";
  request.url = url;
  if (const auto headers = source_.find("headers");
      headers != source_.end() && headers->is_object()) {
    for (const auto& [name, value] : headers->items()) {
      if (value.is_string()) request.headers.emplace_back(name, value.get<std::string>());
    }
  }
  return Ask(std::move(request), "the subject token's server");
}

// What a file or a server holds: the token itself, or JSON with it.
Result<std::string> Source::OfText(std::string text) const {
  const auto format = source_.find("format");
  if (format != source_.end() && TextField(*format, "type") == "json") {
    text = JsonField(text, TextField(*format, "subject_token_field_name").c_str());
  }
  if (text.empty()) return IoError("credentials: the subject token is empty");
  return text;
}

// --- programs ---

// What a program answers, now or earlier into its file.
Result<std::string> Source::OfAnswer(std::string_view text, bool must_expire,
                                     std::string_view who) const {
  if (JsonField(text, "version") != "1") {
    return IoError("credentials: the answer of {} is no JSON object of version 1", who);
  }
  if (JsonField(text, "success") != "true") {
    return IoError("credentials: {} gives no token: code {}", who, Quote(JsonField(text, "code")));
  }
  const std::string type = JsonField(text, "token_type");
  const bool saml = type == "urn:ietf:params:oauth:token-type:saml2";
  if (!saml && type != "urn:ietf:params:oauth:token-type:jwt" &&
      type != "urn:ietf:params:oauth:token-type:id_token") {
    return IoError("credentials: {} gives a token of type {}, which is not known", who,
                   Quote(type));
  }
  const auto expires = ParseInt64(JsonField(text, "expiration_time"));
  if (must_expire && !expires.ok()) {
    return IoError(
        "credentials: the answer of {} has no expiration_time, but there is an "
        "output_file",
        who);
  }
  if (expires.ok() && *expires <= FloorDiv(clock_.NowMicros(), kMicrosPerSecond)) {
    return IoError("credentials: the token of {} has expired", who);
  }
  std::string token = JsonField(text, saml ? "saml_response" : "id_token");
  if (token.empty()) return IoError("credentials: the answer of {} holds no token", who);
  return token;
}

Result<std::string> Source::OfProgram(const Json& executable) {
  const char* who = "the credentials file's program";
  if (Variable("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES") != "1") {
    return InvalidArgument(
        "the credentials file names a program that gives tokens: it is started only where "
        "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 is set");
  }
  const std::string command = TextField(executable, "command");
  if (command.empty()) return InvalidArgument("the credentials file's executable has no command");
  int64_t timeout_ms = kDefaultTimeoutMs;
  if (const auto given = executable.find("timeout_millis"); given != executable.end()) {
    timeout_ms = given->is_number_integer() ? given->get<int64_t>() : 0;
    if (timeout_ms < kLeastTimeoutMs || timeout_ms > kMostTimeoutMs) {
      return InvalidArgument("the credentials file's timeout_millis is {}: {} to {} are accepted",
                             given->dump(), kLeastTimeoutMs, kMostTimeoutMs);
    }
  }
  const std::string output = TextField(executable, "output_file");
  std::error_code ignored;
  if (!output.empty() && std::filesystem::exists(output, ignored)) {
    TL_ASSIGN_OR_RAISE(const std::string text, ReadSecretFile(output, "the program's output_file"));
    if (auto token = OfAnswer(text, true, "its output_file"); token.ok()) return token;
  }
  NameValues more = {{"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", TextField(file_, "audience")},
                     {"GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", TextField(file_, "subject_token_type")},
                     {"GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"}};
  if (!output.empty()) more.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", output);
  // ".../serviceAccounts/EMAIL:generateAccessToken"
  const std::string url = TextField(file_, "service_account_impersonation_url");
  const size_t slash = url.rfind('/');
  const size_t colon = url.rfind(':');
  if (slash != url.npos && colon != url.npos && colon > slash) {
    more.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL",
                      url.substr(slash + 1, colon - slash - 1));
  }
  // Google's libraries split it at spaces, too, and know no quotes.
  std::istringstream words(command);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  TL_ASSIGN_OR_RAISE(const std::string text, RunProgram(arguments, more, timeout_ms, who));
  return OfAnswer(text, !output.empty(), who);
}

// --- AWS ---

// The instance's metadata (version 2 where the file names its token's place).
Result<std::string> Source::Metadata(const char* field, const std::string& below) {
  const char* who = "the instance's metadata";
  const std::string url = TextField(source_, field);
  if (url.empty()) {
    return InvalidArgument(
        "the credentials file's source of AWS has no {}, and the environment "
        "does not tell what would be there",
        field);
  }
  if (!session_) {
    session_ = "";
    if (const std::string at = TextField(source_, "imdsv2_session_token_url"); !at.empty()) {
      HttpRequest request;
      request.method = "PUT";
      request.url = at;
      request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "300"}};
      request.body = arrow::Buffer::FromString("");
      TL_ASSIGN_OR_RAISE(session_, Ask(std::move(request), who));
    }
  }
  HttpRequest request;
  request.method = "GET";
  request.url = url + below;
  if (!session_->empty()) request.headers = {{"x-aws-ec2-metadata-token", *session_}};
  return Ask(std::move(request), who);
}

Result<std::string> Source::AwsRegion() {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (const std::string region = Variable(name); !region.empty()) return region;
  }
  TL_ASSIGN_OR_RAISE(std::string zone, Metadata("region_url"));  // "us-east-1d"
  if (zone.size() < 2) return IoError("credentials: the instance's metadata tell no zone");
  zone.pop_back();
  return zone;
}

Result<S3Keys> Source::AwsKeys() {
  S3Keys keys{Variable("AWS_ACCESS_KEY_ID"), Variable("AWS_SECRET_ACCESS_KEY"),
              Variable("AWS_SESSION_TOKEN")};
  if (!keys.access_key.empty() && !keys.secret_key.empty()) return keys;
  TL_ASSIGN_OR_RAISE(const std::string role, Metadata("url"));
  TL_ASSIGN_OR_RAISE(const std::string text, Metadata("url", "/" + UriEncode(role, false)));
  TL_ASSIGN_OR_RAISE(const S3Credentials found,
                     ParseCredentialsJson(text, "the instance's metadata"));
  return found.keys;
}

// A request to STS that tells who signed it. Google sends it, so it is never sent from here.
Result<std::string> Source::OfAws() {
  if (const std::string id = TextField(source_, "environment_id"); id != "aws1") {
    return Unsupported("the credentials file has the environment_id {}: aws1 is done", Quote(id));
  }
  std::string url = TextField(source_, "regional_cred_verification_url");
  if (url.empty()) {
    url = "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15";
  }
  TL_ASSIGN_OR_RAISE(const std::string region, AwsRegion());
  TL_ASSIGN_OR_RAISE(const S3Keys keys, AwsKeys());
  constexpr std::string_view kRegion = "{region}";
  if (const size_t at = url.find(kRegion); at != url.npos) url.replace(at, kRegion.size(), region);
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) {
    return InvalidArgument("the credentials file's regional_cred_verification_url is not https");
  }
  const size_t query = url.find('?');
  const std::string place = url.substr(kScheme.size(), query - kScheme.size());
  const size_t slash = place.find('/');
  SignInput sign;
  sign.method = "POST";
  sign.path = slash == place.npos ? "/" : place.substr(slash);
  for (std::string_view rest = query == url.npos ? "" : std::string_view(url).substr(query + 1);
       !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    const size_t equals = pair.find('=');
    sign.query.emplace_back(UriDecode(pair.substr(0, equals)),
                            equals == pair.npos ? "" : UriDecode(pair.substr(equals + 1)));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
  }
  sign.payload_hash = Sha256Hex("");
  sign.region = region;
  sign.service = "sts";
  sign.now_us = clock_.NowMicros();
  sign.headers = {{"host", place.substr(0, slash)},
                  {"x-amz-date", AmzDate(sign.now_us)},
                  {"x-goog-cloud-target-resource", TextField(file_, "audience")}};
  if (!keys.session_token.empty()) {
    sign.headers.emplace_back("x-amz-security-token", keys.session_token);
  }
  Json headers = Json::array({{{"key", "Authorization"}, {"value", Authorization(sign, keys)}}});
  for (const auto& [name, value] : sign.headers) {
    headers.push_back({{"key", name}, {"value", value}});
  }
  const Json request = {{"url", url}, {"method", "POST"}, {"headers", headers}};
  return UriEncode(request.dump(-1, ' ', false, Json::error_handler_t::replace), false);
}

Result<std::string> Source::Find() {
  if (const std::string path = TextField(source_, "file"); !path.empty()) {
    TL_ASSIGN_OR_RAISE(std::string text, ReadSecretFile(path, "the subject token file"));
    return OfText(std::move(text));
  }
  // Sources of AWS have a "url", too.
  if (source_.contains("environment_id")) return OfAws();
  if (const std::string url = TextField(source_, "url"); !url.empty()) {
    TL_ASSIGN_OR_RAISE(std::string text, OfUrl(url));
    return OfText(std::move(text));
  }
  if (const auto program = source_.find("executable");
      program != source_.end() && program->is_object()) {
    return OfProgram(*program);
  }
  return Unsupported(
      "the credentials file of type external_account has a credential_source without file, url, "
      "executable and environment_id: certificates are not done; give a token by "
      "google_oauth_access_token or a credentials callback");
}

}  // namespace

std::string TextField(const Json& json, const char* name) {
  const auto at = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

Status CheckMayBeAsked(const std::string& url) {
  if (MayBeAsked(url)) return Status::OK();
  return InvalidArgument("the credentials file names {}, which is neither https nor local",
                         Quote(url));
}

Result<std::string> FindSubjectToken(const Json& file, const GcsOptions& options, Clock& clock) {
  return Source(file, options, clock).Find();
}

}  // namespace timelake::store
