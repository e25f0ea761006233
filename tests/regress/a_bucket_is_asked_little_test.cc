// Requests are the currency of an object store; and O03, O04 of the commit protocol over a network
// (ClickHouse 112081, arrow-rs-object-store PR 852): replies get lost, 409 is not 412.
#include <atomic>

#include "regress/lake_fixture.h"
#include "unit/store/s3_proxy.h"

namespace timelake::regress {
namespace {

using store::FakeRequest;
using store::S3Proxy;
using store::S3Server;
using Action = S3Proxy::Action;
using Counts = std::map<std::string, int>;

class Bucket : public testing::Test {
 protected:
  void SetUp() override {
    TL_REQUIRE_S3_SERVER();
    warehouse_ = "s3://" + S3Server::Shared()->NewBucket() + "/wh";
  }
  void Between(S3Proxy::Plan plan = {}) {
    proxy_ = std::make_unique<S3Proxy>(S3Server::Shared(), std::move(plan));
  }
  Lake Open(std::map<std::string, std::string> settings = {}) {
    LakeOptions options;
    options.storage_options = proxy_->Options();
    options.settings = std::move(settings);
    return Must(Lake::Open(warehouse_, options));
  }
  std::string warehouse_;
  std::unique_ptr<S3Proxy> proxy_;
};

bool IsCommit(const FakeRequest& request, const std::string& version) {
  return request.method == "PUT" && request.path.ends_with("/" + version + ".metadata.json");
}

TEST_F(Bucket, AWarmAppendIsSixPuts) {
  Between();
  Lake lake = Open();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int64_t i = 0; i < 5; ++i) {
    (void)proxy_->Counts();
    TL_OK(table.Append(Batch({{i, "a", 1.0}, {i, "b", 2.0}})).status());
    if (i < 2) continue;  // the first meets the hint and an index that it did not write
    EXPECT_EQ(proxy_->Counts(), (Counts{{"PUT", 6}})) << i;
  }
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "10");
}

TEST_F(Bucket, OpeningAsksLittle) {
  Between();
  {
    Lake lake = Open();
    Table table = Must(lake.CreateTable("t", kColumns, Readings()));
    TL_OK(table.Append(Batch({{1, "a", 1.0}})).status());
  }
  Lake lake = Open({{"version-check-interval", "0s"}});
  (void)proxy_->Counts();
  TL_OK(lake.OpenTable("t").status());
  const Counts cold = proxy_->Counts();
  EXPECT_EQ(cold, (Counts{{"LIST", 1}, {"GET", 1}}));
  TL_OK(lake.OpenTable("t").status());
  EXPECT_EQ(proxy_->Counts(), (Counts{{"GET", 1}}));
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "1");
  Lake seldom = Open({{"version-check-interval", "1h"}});
  Table table = Must(seldom.OpenTable("t"));
  (void)proxy_->Counts();
  TL_OK(seldom.OpenTable("t").status());
  EXPECT_EQ(proxy_->Counts(), Counts{});
  TL_OK(table.Refresh().status());
  EXPECT_EQ(proxy_->Counts(), (Counts{{"GET", 1}}));
}

// What cannot change is read once; which version it is of is asked as often as the setting says.
TEST_F(Bucket, AQueryIsAskedOnce) {
  Between();
  {
    Lake lake = Open();
    Table table = Must(lake.CreateTable("t", kColumns, Readings()));
    for (int64_t i = 0; i < 3; ++i) {
      TL_OK(table.Append(Batch({{i, "a", 1.0}, {i, "b", 2.0}})).status());
    }
  }
  Lake lake = Open({{"version-check-interval", "1h"}});
  const std::string query = "SELECT sum(v) FROM t WHERE v > 1.5";
  EXPECT_EQ(Ask(lake, query), "6");
  ASSERT_TRUE(lake.cache_stats().has_value());
  const CacheStats first = *lake.cache_stats();
  EXPECT_GT(first.misses, 0);
  EXPECT_LE(first.bytes_fetched, first.memory_limit);
  EXPECT_EQ(first.disk_limit, 0);
  (void)proxy_->Counts();
  EXPECT_EQ(Ask(lake, query), "6");
  EXPECT_EQ(proxy_->Counts(), Counts{});
  EXPECT_EQ(lake.cache_stats()->misses, first.misses);
  EXPECT_FALSE(Must(Lake::Open("memory://nothing-is-kept")).cache_stats().has_value());
}

// The reply to a commit that the store has done gets lost.
TEST_F(Bucket, ALostReplyIsNotALostRace) {
  std::atomic<int> puts = 0;
  Between([&](const FakeRequest& request) {
    return IsCommit(request, "v2") && ++puts == 1 ? Action::kDropAfter : Action::kPass;
  });
  Lake lake = Open();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  auto result = Must(table.Append(Batch({{1, "a", 1}, {2, "a", 1}, {3, "a", 1}})));
  EXPECT_EQ(result.version, 2);
  EXPECT_EQ(puts, 1);
  EXPECT_EQ(Must(table.Snapshots()).size(), 1u);
  EXPECT_EQ(Ask(Open(), "SELECT count(*) FROM t"), "3");
}

// ... and so does the request itself, twice.
TEST_F(Bucket, ALostRequestIsSentAgain) {
  std::atomic<int> puts = 0;
  Between([&](const FakeRequest& request) {
    return IsCommit(request, "v2") && ++puts <= 2 ? Action::kDropBefore : Action::kPass;
  });
  Lake lake = Open();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  EXPECT_EQ(Must(table.Append(Batch({{1, "a", 1}}))).version, 2);
  EXPECT_EQ(puts, 3);
  EXPECT_EQ(Ask(Open(), "SELECT count(*) FROM t"), "1");
}

TEST_F(Bucket, A409RepeatsTheSamePut) {
  std::atomic<int> puts = 0;
  std::atomic<int> lists = 0;
  Between([&](const FakeRequest& request) {
    if (request.path.find("list-type=") != std::string::npos) ++lists;
    return IsCommit(request, "v2") && ++puts == 1 ? Action::k409 : Action::kPass;
  });
  Lake lake = Open();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  const int before = lists;
  EXPECT_EQ(Must(table.Append(Batch({{1, "a", 1}}))).version, 2);
  EXPECT_EQ(puts, 2);
  EXPECT_EQ(lists, before);
  EXPECT_EQ(Must(table.Snapshots()).size(), 1u);
}

TEST_F(Bucket, AnOverloadedStoreIsWaitedFor) {
  std::atomic<int> seen = 0;
  Between([&](const FakeRequest&) { return ++seen % 3 == 0 ? Action::k503 : Action::kPass; });
  Lake lake = Open();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int64_t i = 0; i < 4; ++i) TL_OK(table.Append(Batch({{i, "a", 1}})).status());
  EXPECT_EQ(Ask(Open(), "SELECT count(*) FROM t"), "4");
}

}  // namespace
}  // namespace timelake::regress
