// What a store may answer, and what may go wrong on the way: against a server that does it on
// order.

#include "store/s3_store.h"

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "fake_http_server.h"
#include "s3_server.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

// Sleeps are only noted.
class FastClock : public Clock {
 public:
  int64_t NowMicros() override { return SystemClock()->NowMicros(); }
  int64_t BootMicros() override { return SystemClock()->BootMicros() + slept_us; }
  void SleepMicros(int64_t micros) override { slept_us += micros; }
  std::atomic<int64_t> slept_us = 0;
};

class S3StoreTest : public ::testing::Test {
 protected:
  using Handler = FakeHttpServer::Handler;

  void Serve(Handler handler, std::map<std::string, std::string> more = {}) {
    store_.reset();
    server_ = std::make_unique<FakeHttpServer>(std::move(handler));
    std::map<std::string, std::string> options = {{"aws_access_key_id", "key"},
                                                  {"aws_secret_access_key", kSecret},
                                                  {"aws_session_token", kToken},
                                                  {"aws_endpoint", server_->endpoint()},
                                                  {"timelake_probe_conditional_put", "false"},
                                                  {"aws_allow_http", "true"}};
    for (const auto& [name, value] : more) options[name] = value;
    const EnvLookup env = [](const std::string&) { return std::nullopt; };
    store_ = MakeS3Store(Must(ParseS3Options(options, env)), env, clock_, SeededRandom(1));
  }

  // One reply after the other; the last one again and again.
  static Handler InTurn(std::vector<std::optional<FakeReply>> replies) {
    auto next = std::make_shared<std::atomic<size_t>>(0);
    return [=](const FakeRequest&) { return replies[std::min((*next)++, replies.size() - 1)]; };
  }

  static FakeReply Fault(int status, const std::string& code = "") {
    FakeReply reply;
    reply.status = status;
    if (!code.empty()) {
      reply.body = "<Error><Code>" + code + "</Code><Message>of " + kSecret + " and " + kToken +
                   "</Message></Error>";
    }
    return reply;
  }
  static FakeReply Stored() { return {200, {{"ETag", "\"e\""}}, "", false}; }
  static FakeReply Object(const std::string& body) {
    return {
        200, {{"ETag", "\"e\""}, {"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"}}, body, false};
  }

  PutOutcome Create(const std::string& text = "bytes") {
    return Must(store_->PutIfAbsent("b/k", Bytes(text))).outcome;
  }
  size_t Sent() { return server_->requests().size(); }

  static constexpr const char* kSecret = "very-secret-key";
  static constexpr const char* kToken = "very-secret-token";
  std::shared_ptr<FastClock> clock_ = std::make_shared<FastClock>();
  std::unique_ptr<FakeHttpServer> server_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(S3StoreTest, ConditionalPutsGoOutOnceAndTellWhatTheyKnow) {
  struct Case {
    std::optional<FakeReply> reply;
    PutOutcome outcome;
  };
  const Case cases[] = {
      {Stored(), PutOutcome::kCreated},
      {FakeReply{200, {}, "", false}, PutOutcome::kNoReply},  // no ETag: stored, but which?
      {Fault(412, "PreconditionFailed"), PutOutcome::kExists},
      {Fault(409, "ConditionalRequestConflict"), PutOutcome::kRepeat},
      {Fault(409, "OperationAborted"), PutOutcome::kRepeat},
      {Fault(500, "InternalError"), PutOutcome::kNoReply},
      {Fault(503, "SlowDown"), PutOutcome::kNoReply},
      {Fault(429), PutOutcome::kNoReply},
      {Fault(408), PutOutcome::kNoReply},
      {Fault(400, "RequestTimeout"), PutOutcome::kNoReply},
      {std::nullopt, PutOutcome::kNoReply},
  };
  for (const Case& c : cases) {
    Serve(InTurn({c.reply}));
    const auto put = Must(store_->PutIfAbsent("b/k", Bytes("bytes")));
    EXPECT_EQ(put.outcome, c.outcome) << (c.reply ? c.reply->body : "closed");
    EXPECT_EQ(put.message.empty(), c.outcome == PutOutcome::kCreated);
    ASSERT_EQ(Sent(), 1u);
    EXPECT_EQ(server_->requests()[0].headers["if-none-match"], "*");
    EXPECT_EQ(server_->requests()[0].body, "bytes");
  }
}

TEST_F(S3StoreTest, ARefusedConditionalPutIsAnError) {
  for (const auto& fault : {Fault(403, "AccessDenied"), Fault(404, "NoSuchBucket"),
                            Fault(400, "InvalidArgument"), Fault(409, "ObjectParentIsFile"),
                            Fault(501, "NotImplemented"), Fault(301, "PermanentRedirect")}) {
    Serve(InTurn({fault}));
    const Status status = store_->PutIfAbsent("b/k", Bytes("x")).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("s3://b/k"), std::string::npos) << status;
    EXPECT_EQ(Sent(), 1u);
  }
  server_.reset();  // nobody listens: certainly not sent
  EXPECT_EQ(KindOf(store_->PutIfAbsent("b/k", Bytes("x")).status()), ErrorKind::kIo);
}

TEST_F(S3StoreTest, PutIfMatchSendsTheETag) {
  Serve(InTurn({Stored(), Fault(412), Fault(404, "NoSuchKey")}));
  EXPECT_EQ(Must(store_->PutIfMatch("b/k", Bytes("x"), "\"e\"")).outcome, PutOutcome::kCreated);
  EXPECT_EQ(server_->requests()[0].headers["if-match"], "\"e\"");
  EXPECT_EQ(Must(store_->PutIfMatch("b/k", Bytes("x"), "\"e\"")).outcome, PutOutcome::kExists);
  EXPECT_EQ(Must(store_->PutIfMatch("b/k", Bytes("x"), "\"e\"")).outcome, PutOutcome::kExists);
}

// libcurl sends a request again by itself when a connection that it used before is closed without
// an answer. For a conditional put that would be a second sending that nobody knows of: its
// "exists" would speak of the first.
TEST_F(S3StoreTest, AConditionalPutIsNotSentAgainOnAnotherConnection) {
  std::atomic<int> puts = 0;
  Serve([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.method == "GET") return Object("x");
    if (++puts == 1) return std::nullopt;
    return Fault(412);
  });
  EXPECT_TRUE(Must(store_->Get("b/k")).found);  // so that a connection is there
  EXPECT_EQ(Create(), PutOutcome::kNoReply);
  const auto requests = server_->requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].on_connection, 2);  // it was that one
  EXPECT_EQ(puts, 1);
}

TEST_F(S3StoreTest, OtherRequestsAreRepeated) {
  Serve(InTurn({Fault(503, "SlowDown"), std::nullopt, Fault(500), Fault(429), Object("text")}));
  EXPECT_EQ(Text(*store_, "b/k"), "text");
  EXPECT_GE(Sent(), 5u);
  EXPECT_GT(clock_->slept_us, 0);
  FakeReply cut = Object("0123456789");
  cut.cut = true;
  Serve(InTurn({cut, Object("0123456789")}));
  EXPECT_EQ(Text(*store_, "b/k"), "0123456789");
  Serve(InTurn({Fault(500), Stored()}));
  TL_EXPECT_OK(store_->Put("b/k", Bytes("x")).status());
}

TEST_F(S3StoreTest, RetriesEndAndSayWhy) {
  Serve(InTurn({Fault(503, "SlowDown")}), {{"max_retries", "4"}});
  const Status status = store_->Get("b/k").status();
  EXPECT_EQ(KindOf(status), ErrorKind::kIo);
  EXPECT_NE(status.message().find("failed 5 times: HTTP 503 SlowDown"), std::string::npos)
      << status;
  EXPECT_EQ(Sent(), 5u);
  Serve(InTurn({Fault(500)}), {{"max_retries", "1000"}, {"retry_timeout", "1s"}});
  EXPECT_FALSE(store_->Get("b/k").ok());
  EXPECT_LT(Sent(), 100u);
}

TEST_F(S3StoreTest, SecretsAreNotInErrors) {
  Serve(InTurn({Fault(403, "SignatureDoesNotMatch")}));
  for (const Status& status :
       {store_->Get("b/k").status(), store_->PutIfAbsent("b/k", Bytes("x")).status(),
        store_->List("b/").status(), store_->Delete("b/k")}) {
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.ToString().find("very-secret"), std::string::npos) << status;
    EXPECT_NE(status.ToString().find("***"), std::string::npos) << status;
  }
  Serve(InTurn({Fault(503, "SlowDown")}), {{"max_retries", "0"}});
  EXPECT_EQ(store_->Get("b/k").status().ToString().find("very-secret"), std::string::npos);
  EXPECT_EQ(Must(store_->PutIfAbsent("b/k", Bytes("x"))).message.find("very-secret"),
            std::string::npos);
}

TEST_F(S3StoreTest, AMissingBucketIsNoMissingKey) {
  Serve(InTurn({Fault(404, "NoSuchBucket")}));
  const Status status = store_->Get("b/k").status();
  EXPECT_NE(status.message().find("the bucket b does not exist"), std::string::npos) << status;
  EXPECT_FALSE(store_->List("b/x").ok());
  Serve(InTurn({Fault(404, "NoSuchKey")}));
  EXPECT_FALSE(Must(store_->Get("b/k")).found);
}

TEST_F(S3StoreTest, TheStoresClockIsUsedAfterItComplained) {
  FakeReply skewed = Fault(403, "RequestTimeTooSkewed");
  Serve(InTurn({skewed, Stored()}));  // its Date is 2026-01-01
  EXPECT_EQ(Create(), PutOutcome::kCreated);
  const auto requests = server_->requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(FakeRequest(requests[1]).headers["x-amz-date"].substr(0, 10), "20260101T0");
}

TEST_F(S3StoreTest, AReplyWithoutDateCannotDateACommit) {
  FakeReply no_date = Object("x");
  no_date.headers["Date"] = "";
  Serve(InTurn({no_date}));
  EXPECT_EQ(KindOf(store_->Get("b/k").status()), ErrorKind::kUnsupported);
}

TEST_F(S3StoreTest, AddressesAndSignatures) {
  Serve(InTurn({Object("x")}));
  TL_EXPECT_OK(store_->Get("b/a b/c+d").status());
  FakeRequest request = server_->requests()[0];
  EXPECT_EQ(request.path, "/b/a%20b/c%2Bd");
  EXPECT_EQ(request.headers["x-amz-security-token"], kToken);
  EXPECT_NE(request.headers["authorization"].find(
                "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"),
            std::string::npos);
  Serve(InTurn({Object("x")}), {{"aws_skip_signature", "true"}});
  TL_EXPECT_OK(store_->Get("b/k").status());
  request = server_->requests()[0];
  EXPECT_FALSE(request.headers.contains("authorization"));
  EXPECT_FALSE(request.headers.contains("x-amz-security-token"));
}

TEST_F(S3StoreTest, ListingReadsAllPages) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool second = request.path.find("continuation-token=t%2F2") != std::string::npos;
    std::string body = "<ListBucketResult><IsTruncated>";
    body += second ? "false</IsTruncated>"
                   : "true</IsTruncated><NextContinuationToken>t/2</NextContinuationToken>";
    body += second ? "<Contents><Key>p/a" : "<Contents><Key>p/b";
    body +=
        "</Key><LastModified>2026-01-01T00:00:00.5Z</LastModified><ETag>\"1\"</ETag><Size>1"
        "</Size></Contents></ListBucketResult>";
    return FakeReply{200, {}, body, false};
  });
  EXPECT_EQ(Keys(*store_, "b/p/"), (std::vector<std::string>{"b/p/a", "b/p/b"}));
  EXPECT_EQ(server_->requests()[0].path, "/b?list-type=2&prefix=p%2F");
  // A store that repeats itself.
  Serve(InTurn({FakeReply{200,
                          {},
                          "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>"
                          "t</NextContinuationToken></ListBucketResult>",
                          false}}));
  EXPECT_FALSE(store_->List("b/p/").ok());
}

TEST_F(S3StoreTest, DeleteOfManyTellsTheFirstError) {
  Serve(InTurn({FakeReply{200,
                          {},
                          "<DeleteResult><Error><Key>y</Key><Code>AccessDenied</Code></Error>"
                          "</DeleteResult>",
                          false}}));
  const Status status = store_->DeleteAll({"b/x", "b/y"});
  EXPECT_NE(status.message().find("s3://b/y"), std::string::npos) << status;
  const FakeRequest request = server_->requests()[0];
  EXPECT_EQ(request.path, "/b?delete=");
  EXPECT_TRUE(request.headers.contains("content-md5"));
}

// The reply to the completion is lost; repeated, the upload is no more.
TEST_F(S3StoreTest, AnUploadWhoseCompletionWasAnsweredTooLateIsThere) {
  const auto serve = [&](const std::string& size) {
    auto completions = std::make_shared<std::atomic<int>>(0);
    Serve([=](const FakeRequest& request) -> std::optional<FakeReply> {
      if (request.path.ends_with("?uploads=")) {
        return FakeReply{200, {}, "<R><UploadId>u</UploadId></R>", false};
      }
      if (request.method == "PUT") return Stored();
      if (request.method == "DELETE") return FakeReply{204, {}, "", false};
      if (request.method == "HEAD") {
        return FakeReply{200, {{"ETag", "\"x-2\""}, {"Content-Length", size}}, "", false};
      }
      if (++*completions == 1) return std::nullopt;
      return Fault(404, "NoSuchUpload");
    });
    auto stream = Must(store_->OpenWrite("b/k"));
    const std::string text(9'000'000, 'x');
    TL_EXPECT_OK(stream->Write(text.data(), static_cast<int64_t>(text.size())));
    return stream->Close();
  };
  TL_EXPECT_OK(serve("9000000"));
  EXPECT_FALSE(serve("9000001").ok());
}

TEST_F(S3StoreTest, AFailedPartAbortsTheUpload) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.path.ends_with("?uploads=")) {
      return FakeReply{200, {}, "<R><UploadId>u</UploadId></R>", false};
    }
    if (request.method == "DELETE") return FakeReply{204, {}, "", false};
    return Fault(403, "AccessDenied");
  });
  auto stream = Must(store_->OpenWrite("b/k"));
  const std::string text(9'000'000, 'x');
  (void)stream->Write(text.data(), static_cast<int64_t>(text.size()));
  EXPECT_FALSE(stream->Close().ok());
  const auto requests = server_->requests();
  EXPECT_EQ(requests.back().method, "DELETE");
  EXPECT_EQ(requests.back().path, "/b/k?uploadId=u");
}

TEST_F(S3StoreTest, ASmallFileIsOnePut) {
  Serve(InTurn({Stored()}));
  auto stream = Must(store_->OpenWrite("b/k"));
  TL_EXPECT_OK(stream->Write("abc", 3));
  EXPECT_EQ(Sent(), 0u);
  TL_EXPECT_OK(stream->Close());
  EXPECT_EQ(Sent(), 1u);
  EXPECT_EQ(server_->requests()[0].body, "abc");
}

// As some stores and old test servers do: both puts "succeed".
TEST_F(S3StoreTest, AStoreThatIgnoresTheConditionIsRefused) {
  Serve(InTurn({Stored()}), {{"timelake_probe_conditional_put", "true"}});
  const Status status = store_->PutIfAbsent("ignoring/t/v1", Bytes("x")).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported);
  EXPECT_NE(status.message().find("ignores If-None-Match"), std::string::npos) << status;
  for (const FakeRequest& request : server_->requests()) {
    EXPECT_TRUE(request.path.starts_with("/ignoring/t/probe-")) << request.path;
  }
  EXPECT_EQ(server_->requests().back().method, "DELETE");
}

TEST_F(S3StoreTest, AStoreIsProbedOnceABucket) {
  const auto probing = [](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool again = request.number % 3 == 2 && request.path.find("probe-") != std::string::npos;
    return again ? Fault(412) : Stored();
  };
  Serve(probing, {{"timelake_probe_conditional_put", "true"}});
  EXPECT_EQ(Create(), PutOutcome::kCreated);
  EXPECT_EQ(Sent(), 4u);
  EXPECT_EQ(Create(), PutOutcome::kCreated);
  EXPECT_EQ(Sent(), 5u);
}

TEST_F(S3StoreTest, ReadsAreRanges) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.method == "HEAD") {
      FakeReply head = Object("");
      head.headers["Content-Length"] = "10";
      return head;
    }
    return FakeReply{206, {{"Content-Range", "bytes 2-4/10"}}, "cde", false};
  });
  auto file = Must(store_->OpenRead("b/k", std::nullopt));
  EXPECT_EQ(Must(file->GetSize()), 10);
  EXPECT_EQ(Must(file->ReadAt(2, 3))->ToString(), "cde");
  EXPECT_EQ(server_->requests()[1].headers.at("range"), "bytes=2-4");
  EXPECT_FALSE(file->ReadAt(3, 3).ok());  // another place than asked for
  EXPECT_EQ(Must(file->ReadAt(10, 5))->size(), 0);
  Serve(InTurn({Fault(404, "NoSuchKey")}));
  file = Must(store_->OpenRead("b/none.parquet", 10));
  EXPECT_EQ(Sent(), 0u);  // the size is known
  EXPECT_EQ(KindOf(file->ReadAt(0, 3).status()), ErrorKind::kNotFound);
}

TEST(S3ServerTest, ChecksSignaturesAndNamesTheBucket) {
  TL_REQUIRE_S3_SERVER();
  S3Server& server = *S3Server::Shared();
  const std::string key = server.NewBucket() + "/k";
  auto options = server.Options();
  TL_EXPECT_OK(Must(OpenS3(options))->Put(key, Bytes("x")).status());
  options["aws_secret_access_key"] = "another";
  const Status wrong = Must(OpenS3(options))->Get(key).status();
  EXPECT_NE(wrong.message().find("SignatureDoesNotMatch"), std::string::npos) << wrong;
  const Status missing = Must(OpenS3(server.Options()))->List("no-such-bucket/x").status();
  EXPECT_NE(missing.message().find("the bucket no-such-bucket does not exist"), std::string::npos)
      << missing;
}

}  // namespace
}  // namespace timelake::store
