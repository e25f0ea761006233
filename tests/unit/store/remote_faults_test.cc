// What Google's and Azure's services may answer, and what may go wrong on the way: against a server
// that does it on order. As s3_store_test has it for S3.

#include <fmt/format.h>

#include "base/random.h"
#include "credentials_testing.h"
#include "store/azure_store.h"
#include "store/gcs_store.h"

namespace timelake::store {
namespace {

using Replies = std::vector<std::optional<FakeReply>>;

constexpr const char* kGeneration = "1767225600000000";  // 2026-01-01

struct Gcs {
  static constexpr const char* kPlace = "gs://b/k";
  static constexpr const char* kIdentity = kGeneration;
  static std::shared_ptr<ObjectStore> Open(const std::string& endpoint,
                                           std::shared_ptr<Clock> clock, Map more,
                                           CredentialsCallback callback) {
    more.insert({{"google_base_url", endpoint},
                 {"google_allow_http", "true"},
                 {"timelake_probe_conditional_put", "false"}});
    if (!callback) more.emplace("google_token", "S3CRET-token");
    GcsOptions options = Must(ParseGcsOptions(more, EnvOf({})));
    options.callback = std::move(callback);
    return MakeGcsStore(options, std::move(clock), SeededRandom(1));
  }
  static FakeReply Stored() {
    return {200, {}, fmt::format(R"({{"generation": "{}", "size": "5"}})", kGeneration), false};
  }
  static FakeReply Object(const std::string& body) {
    return {200, {{"X-Goog-Generation", kGeneration}}, body, false};
  }
  static FakeReply Fault(int status, const std::string& code = "") {
    return {status,
            {},
            fmt::format(
                R"({{"error": {{"message": "of S3CRET-token", "errors": [{{"reason": "{}"}}]}}}})",
                code),
            false};
  }
  static FakeReply NoBucket() {
    return {404, {}, R"({"error": {"message": "The specified bucket does not exist."}})", false};
  }
  static StorageKeys Token(const std::string& token, int64_t expires_us) {
    return {{{"google_oauth_access_token", token}}, expires_us};
  }
};

struct Azure {
  static constexpr const char* kPlace = "az://b/k";
  static constexpr const char* kIdentity = "0x8D";
  static std::shared_ptr<ObjectStore> Open(const std::string& endpoint,
                                           std::shared_ptr<Clock> clock, Map more,
                                           CredentialsCallback callback) {
    more.insert({{"azure_endpoint", endpoint},
                 {"account_name", "acct"},
                 {"azure_allow_http", "true"},
                 {"timelake_probe_conditional_put", "false"}});
    if (!callback) more.emplace("azure_storage_token", "S3CRET-token");
    AzureOptions options = Must(ParseAzureOptions(more, EnvOf({}), ""));
    options.callback = std::move(callback);
    return MakeAzureStore(options, "az", std::move(clock), SeededRandom(1));
  }
  static FakeReply Stored() { return Object("", 201); }
  static FakeReply Object(const std::string& body, int status = 200) {
    return {status,
            {{"ETag", "\"0x8D\""}, {"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"}},
            body,
            false};
  }
  static FakeReply Fault(int status, const std::string& code = "") {
    return {status,
            {},
            "<Error><Code>" + code + "</Code><Message>of S3CRET-token</Message></Error>",
            false};
  }
  static FakeReply NoBucket() { return Fault(404, "ContainerNotFound"); }
  static StorageKeys Token(const std::string& token, int64_t expires_us) {
    return {{{"azure_storage_token", token}}, expires_us};
  }
};

template <typename Kind>
class RemoteFaultsTest : public ::testing::Test {
 protected:
  void Serve(FakeHttpServer::Handler handler, Map more = {}, CredentialsCallback callback = {}) {
    store_.reset();
    server_ = std::make_unique<FakeHttpServer>(std::move(handler));
    store_ = Kind::Open(server_->endpoint(), clock_, std::move(more), std::move(callback));
  }
  // One reply after the other; the last one again and again.
  static FakeHttpServer::Handler InTurn(Replies replies) {
    auto next = std::make_shared<std::atomic<size_t>>(0);
    return [=](const FakeRequest&) { return replies[std::min((*next)++, replies.size() - 1)]; };
  }
  size_t Sent() { return server_->requests().size(); }

  std::shared_ptr<TestClock> clock_ = std::make_shared<TestClock>();
  std::unique_ptr<FakeHttpServer> server_;
  std::shared_ptr<ObjectStore> store_;
};

using Kinds = ::testing::Types<Gcs, Azure>;
TYPED_TEST_SUITE(RemoteFaultsTest, Kinds);

TYPED_TEST(RemoteFaultsTest, ConditionalPutsGoOutOnceAndTellWhatTheyKnow) {
  using Kind = TypeParam;
  const std::vector<std::pair<std::optional<FakeReply>, PutOutcome>> cases = {
      {Kind::Stored(), PutOutcome::kCreated},
      {FakeReply{200, {}, "", false}, PutOutcome::kNoReply},  // stored, but which?
      {Kind::Fault(412, "conditionNotMet"), PutOutcome::kExists},
      {Kind::Fault(409, "conflict"), PutOutcome::kRepeat},
      {Kind::Fault(500), PutOutcome::kNoReply},
      {Kind::Fault(503), PutOutcome::kNoReply},
      {Kind::Fault(429), PutOutcome::kNoReply},
      {Kind::Fault(408), PutOutcome::kNoReply},
      {std::nullopt, PutOutcome::kNoReply},
  };
  for (const auto& [reply, outcome] : cases) {
    this->Serve(this->InTurn({reply}));
    const auto put = Must(this->store_->PutIfAbsent("b/k", Bytes("bytes")));
    EXPECT_EQ(put.outcome, outcome) << (reply ? reply->body : "closed");
    EXPECT_EQ(put.message.empty(), outcome == PutOutcome::kCreated);
    EXPECT_EQ(put.message.find("S3CRET"), std::string::npos);
    ASSERT_EQ(this->Sent(), 1u);
    EXPECT_EQ(this->server_->requests()[0].body, "bytes");
    if (outcome != PutOutcome::kCreated) continue;
    EXPECT_EQ(put.info.identity, Kind::kIdentity);
    EXPECT_EQ(put.info.mtime_us, put.date_us);  // both are 2026-01-01
  }
}

TYPED_TEST(RemoteFaultsTest, ARefusedConditionalPutIsAnError) {
  using Kind = TypeParam;
  for (const auto& fault :
       {Kind::Fault(403, "forbidden"), Kind::Fault(400, "invalid"), Kind::NoBucket()}) {
    this->Serve(this->InTurn({fault}));
    const Status status = this->store_->PutIfAbsent("b/k", Bytes("x")).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(Kind::kPlace), std::string::npos) << status;
    EXPECT_EQ(status.ToString().find("S3CRET"), std::string::npos) << status;
    EXPECT_EQ(this->Sent(), 1u);
  }
}

TYPED_TEST(RemoteFaultsTest, AConditionalPutIsNotSentAgainOnAnotherConnection) {
  using Kind = TypeParam;
  std::atomic<int> puts = 0;
  this->Serve([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.method == "GET") return Kind::Object("x");
    if (++puts == 1) return std::nullopt;
    return Kind::Fault(412);
  });
  EXPECT_TRUE(Must(this->store_->Get("b/k")).found);  // so that a connection is there
  EXPECT_EQ(Must(this->store_->PutIfAbsent("b/k", Bytes("x"))).outcome, PutOutcome::kNoReply);
  EXPECT_EQ(puts, 1);
}

TYPED_TEST(RemoteFaultsTest, OtherRequestsAreRepeated) {
  using Kind = TypeParam;
  this->Serve(this->InTurn(
      {Kind::Fault(503), std::nullopt, Kind::Fault(500), Kind::Fault(429), Kind::Object("text")}));
  EXPECT_EQ(Text(*this->store_, "b/k"), "text");
  EXPECT_GE(this->Sent(), 5u);
  EXPECT_GT(this->clock_->slept_us, 0);
  this->Serve(this->InTurn({Kind::Fault(500), Kind::Stored()}));
  TL_EXPECT_OK(this->store_->Put("b/k", Bytes("x")).status());
  this->Serve(this->InTurn({Kind::Fault(503)}), {{"max_retries", "2"}});
  const Status status = this->store_->Get("b/k").status();
  EXPECT_NE(status.message().find("failed 3 times: HTTP 503"), std::string::npos) << status;
}

TYPED_TEST(RemoteFaultsTest, SecretsAreNotInErrors) {
  using Kind = TypeParam;
  this->Serve(this->InTurn({Kind::Fault(403, "forbidden")}));
  for (const Status& status :
       {this->store_->Get("b/k").status(), this->store_->List("b/").status(),
        this->store_->Delete("b/k"), this->store_->Put("b/k", Bytes("x")).status()}) {
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.ToString().find("S3CRET"), std::string::npos) << status;
    EXPECT_NE(status.ToString().find("***"), std::string::npos) << status;
  }
}

TYPED_TEST(RemoteFaultsTest, AMissingBucketIsNoMissingObject) {
  using Kind = TypeParam;
  this->Serve(this->InTurn({Kind::NoBucket()}));
  const Status status = this->store_->Get("b/k").status();
  EXPECT_NE(status.message().find("b does not exist"), std::string::npos) << status;
  EXPECT_FALSE(this->store_->List("b/x").ok());
  this->Serve(this->InTurn({Kind::Fault(404, "notFound")}));
  EXPECT_FALSE(Must(this->store_->Get("b/k")).found);
  TL_EXPECT_OK(this->store_->Delete("b/k"));
}

TYPED_TEST(RemoteFaultsTest, TokensAreAskedForAgain) {
  using Kind = TypeParam;
  int asked = 0;
  const auto callback = [&]() -> Result<StorageKeys> {
    ++asked;
    return Kind::Token("token" + std::to_string(asked),
                       this->clock_->NowMicros() + int64_t{3600} * 1'000'000);
  };
  std::atomic<bool> first_is_old = false;
  this->Serve(
      [&](const FakeRequest& request) -> std::optional<FakeReply> {
        const auto token = request.headers.find("authorization");
        if (token == request.headers.end()) return Kind::Fault(401);
        if (first_is_old && token->second == "Bearer token1") return Kind::Fault(401, "old");
        return Kind::Object(token->second);
      },
      {}, callback);
  EXPECT_EQ(Text(*this->store_, "b/k"), "Bearer token1");
  EXPECT_EQ(Text(*this->store_, "b/k"), "Bearer token1");
  EXPECT_EQ(asked, 1);
  first_is_old = true;  // revoked before its time
  EXPECT_EQ(Text(*this->store_, "b/k"), "Bearer token2");
  this->clock_->shift_us = int64_t{3590} * 1'000'000;  // it will expire soon
  EXPECT_EQ(Text(*this->store_, "b/k"), "Bearer token3");
  EXPECT_EQ(asked, 3);
}

TYPED_TEST(RemoteFaultsTest, ACallbackThatFailsIsReported) {
  using Kind = TypeParam;
  this->Serve(this->InTurn({Kind::Object("x")}), {},
              []() -> Result<StorageKeys> { return IoError("the vault is closed"); });
  const Status status = this->store_->Get("b/k").status();
  EXPECT_NE(status.message().find("the credentials callback: the vault is closed"),
            std::string::npos)
      << status;
  EXPECT_EQ(this->Sent(), 0u);
}

TEST(GcsFaults, PreconditionsAndNames) {
  FakeHttpServer server([](const FakeRequest&) { return Gcs::Stored(); });
  const auto store = Gcs::Open(server.endpoint(), SystemClock(), {}, {});
  TL_EXPECT_OK(store->PutIfAbsent("b/a b/c", Bytes("x")).status());
  TL_EXPECT_OK(store->PutIfMatch("b/k", Bytes("x"), "17").status());
  TL_EXPECT_OK(store->PutIfMatch("b/k", Bytes("x"), "\"etag\"").status());
  const auto requests = server.requests();
  EXPECT_EQ(requests[0].path,
            "/upload/storage/v1/b/b/o?fields=generation%2Csize&ifGenerationMatch=0&name=a%20b%2Fc&"
            "uploadType=media");
  EXPECT_NE(requests[1].path.find("ifGenerationMatch=17&"), std::string::npos);
  EXPECT_NE(requests[2].path.find("ifGenerationMatch=1&"), std::string::npos);  // of no object
}

TEST(AzureFaults, TheMeaningOf409) {
  const std::pair<const char*, std::optional<PutOutcome>> cases[] = {
      {"BlobAlreadyExists", PutOutcome::kExists},      {"", PutOutcome::kRepeat},
      {"OperationNotAllowedNow", PutOutcome::kRepeat}, {"ContainerBeingDeleted", std::nullopt},
      {"BlobImmutableDueToPolicy", std::nullopt},
  };
  for (const auto& [code, outcome] : cases) {
    FakeHttpServer server([code = code](const FakeRequest&) { return Azure::Fault(409, code); });
    const auto put =
        Azure::Open(server.endpoint(), SystemClock(), {}, {})->PutIfAbsent("b/k", Bytes("x"));
    EXPECT_EQ(put.ok() ? std::make_optional(put->outcome) : std::nullopt, outcome) << code;
    EXPECT_EQ(server.requests()[0].headers["if-none-match"], "*");
  }
}

TEST(AzureFaults, ABadClockIsMended) {
  FakeHttpServer server([](const FakeRequest& request) -> std::optional<FakeReply> {
    const std::string date = FakeRequest(request).headers["x-ms-date"];
    if (!date.starts_with("Thu, 01 Jan 2026")) return Azure::Fault(403, "AuthenticationFailed");
    return Azure::Object("x");
  });
  const auto store = Azure::Open(server.endpoint(), SystemClock(), {}, {});
  EXPECT_EQ(Text(*store, "b/k"), "x");
  EXPECT_EQ(server.requests().size(), 2u);
}

// A resumable upload of two parts; `last` answers what comes with the end of the object.
struct Session {
  std::function<std::optional<FakeReply>(const FakeRequest&)> last;
  std::string size = "9000000";

  std::optional<FakeReply> operator()(const FakeRequest& request) const {
    FakeRequest asked = request;
    if (asked.path.find("uploadType=resumable") != std::string::npos && asked.method == "POST") {
      return FakeReply{200, {{"Location", "http://elsewhere/up?upload_id=a%2Fb"}}, "{}", false};
    }
    if (asked.method == "DELETE") return FakeReply{499, {}, "", false};
    if (asked.method == "GET") {
      return FakeReply{200,
                       {},
                       fmt::format(R"({{"generation": "{}", "size": "{}"}})", kGeneration, size),
                       false};
    }
    if (!asked.path.starts_with("/up?upload_id=a%2Fb")) return FakeReply{404, {}, "", false};
    if (asked.headers["content-range"].ends_with("/*")) {
      return FakeReply{308, {{"Range", "bytes=0-8388607"}}, "", false};
    }
    return last(request);
  }
};

Status WriteTwoParts(const std::string& endpoint) {
  const auto store = Gcs::Open(endpoint, std::make_shared<TestClock>(), {}, {});
  const auto stream = Must(store->OpenWrite("b/k"));
  const std::string text(9'000'000, 'x');
  TL_EXPECT_OK(stream->Write(text.data(), static_cast<int64_t>(text.size())));
  return stream->Close();
}

TEST(GcsFaults, PartsGoInOrderAndTheLastOneSaysSo) {
  FakeHttpServer server(Session{[](const FakeRequest&) { return Gcs::Stored(); }});
  TL_EXPECT_OK(WriteTwoParts(server.endpoint()));
  auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].headers["content-range"], "bytes 0-8388607/*");
  EXPECT_EQ(requests[2].headers["content-range"], "bytes 8388608-8999999/9000000");
  EXPECT_EQ(requests[2].body.size(), 9'000'000u - 8'388'608u);
}

TEST(GcsFaults, WhatTheStoreHasNotYetIsSentAgain) {
  std::atomic<int> calls = 0;
  FakeHttpServer server(Session{[&](const FakeRequest&) -> std::optional<FakeReply> {
    if (++calls == 1) return FakeReply{308, {{"Range", "bytes=0-8650751"}}, "", false};
    return Gcs::Stored();
  }});
  TL_EXPECT_OK(WriteTwoParts(server.endpoint()));
  EXPECT_EQ(server.requests().back().headers["content-range"], "bytes 8650752-8999999/9000000");
}

TEST(GcsFaults, AnUploadWhoseLastReplyWasLostIsThere) {
  for (const bool same : {true, false}) {
    std::atomic<int> calls = 0;
    Session session{[&](const FakeRequest&) -> std::optional<FakeReply> {
      if (++calls == 1) return std::nullopt;
      return FakeReply{404, {}, "", false};  // the session is over
    }};
    if (!same) session.size = "9000001";
    FakeHttpServer server(session);
    EXPECT_EQ(WriteTwoParts(server.endpoint()).ok(), same);
  }
}

TEST(GcsFaults, AFailedPartEndsTheSession) {
  FakeHttpServer server(Session{[](const FakeRequest&) { return Gcs::Fault(403, "forbidden"); }});
  EXPECT_FALSE(WriteTwoParts(server.endpoint()).ok());
  EXPECT_EQ(server.requests().back().method, "DELETE");
}

TEST(Probe, AStoreThatIgnoresConditionsIsRefused) {
  FakeHttpServer google([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.method == "DELETE" ? FakeReply{204, {}, "", false} : Gcs::Stored();
  });
  const Map probe = {{"timelake_probe_conditional_put", "true"}};
  Status status = Gcs::Open(google.endpoint(), SystemClock(), probe, {})
                      ->PutIfAbsent("b/k", Bytes("x"))
                      .status();
  EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported);
  EXPECT_NE(status.message().find("ignores ifGenerationMatch"), std::string::npos) << status;
  FakeHttpServer azure([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.method == "DELETE" ? FakeReply{202, {}, "", false} : Azure::Stored();
  });
  status = Azure::Open(azure.endpoint(), SystemClock(), probe, {})
               ->PutIfAbsent("b/k", Bytes("x"))
               .status();
  EXPECT_NE(status.message().find("ignores If-None-Match"), std::string::npos) << status;
}

}  // namespace
}  // namespace timelake::store
