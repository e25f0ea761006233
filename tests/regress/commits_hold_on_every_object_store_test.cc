// O03 to O06 (ClickHouse 112081, arrow-rs-object-store PR 852, apache/iceberg 864 and 970, and
// their like) on servers of S3, Google Cloud Storage and Azure, whose replies are lost or changed
// on the way to the commit.
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "regress/lake_fixture.h"
#include "unit/store/azure_server.h"
#include "unit/store/gcs_server.h"
#include "unit/store/s3_server.h"

namespace timelake::regress {
namespace {

using store::Fault;
using store::FaultAction;
using store::ObjectStore;
using store::Op;
using store::OpKind;

template <typename Server>
class OnObjectStore : public testing::Test {
 protected:
  void SetUp() override {
    TL_REQUIRE_SERVER(Server, "OBJECT STORE");
    const char* scheme = std::is_same_v<Server, store::S3Server>    ? "s3"
                         : std::is_same_v<Server, store::GcsServer> ? "gs"
                                                                    : "az";
    Server* server = store::SharedServer<Server>();
    root_ = server->NewBucket() + "/wh";
    place_ = {scheme, root_};
    options_ = server->Options();
  }

  // As another process would have it.
  std::shared_ptr<ObjectStore> Store() { return regress::Must(store::OpenStore(place_, options_)); }
  Lake LakeOver(std::shared_ptr<ObjectStore> store) {
    auto impl = std::make_shared<detail::LakeImpl>();
    impl->catalog = std::make_shared<table::Catalog>(table::MakeEnv(std::move(store)), root_,
                                                     table::SettingMap{});
    impl->location = impl->catalog->location_uri();
    impl->append = api::Append;
    impl->erase = api::DeleteRows;
    return Lake(std::move(impl));
  }
  Lake OpenLake() { return LakeOver(Store()); }
  Lake FaultyLake(std::function<Fault(const Op&)> before) {
    store::FaultHooks hooks;
    hooks.before = std::move(before);
    return LakeOver(store::MakeFaultStore(Store(), hooks));
  }
  bool Exists(const std::string& name) {
    return regress::Must(Store()->Head(root_ + "/default/t/metadata/" + name)).found;
  }
  static bool IsPutOf(const Op& op, const char* version) {
    return op.kind == OpKind::kPutIfAbsent &&
           op.key.ends_with(fmt::format("/{}.metadata.json", version));
  }

  std::string root_;
  store::Location place_;
  std::map<std::string, std::string> options_;
};

using Servers = testing::Types<store::S3Server, store::GcsServer, store::AzureServer>;
TYPED_TEST_SUITE(OnObjectStore, Servers);

TYPED_TEST(OnObjectStore, O03OwnBytesAreRecognised) {
  TL_OK(this->OpenLake().CreateTable("t", kColumns, Readings()).status());
  bool dropped = false;
  Lake lake = this->FaultyLake([&](const Op& op) {
    if (!this->IsPutOf(op, "v2") || dropped) return Fault{};
    dropped = true;
    return Fault{FaultAction::kDropAfter};
  });
  Table table = Must(lake.OpenTable("t"));
  const auto result = Must(table.Append(Batch({{1, "a", 1}, {2, "a", 2}, {3, "b", 3}})));
  EXPECT_TRUE(dropped);
  EXPECT_EQ(result.version, 2);
  EXPECT_FALSE(this->Exists("v3.metadata.json"));
  Lake fresh = this->OpenLake();
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), "3");
  EXPECT_EQ(Must(Must(fresh.OpenTable("t")).Snapshots()).size(), 1u);
}

TYPED_TEST(OnObjectStore, O03AnUnreadableOutcomeIsUnknownAndDeletesNothing) {
  TL_OK(this->OpenLake().CreateTable("t", kColumns, Readings()).status());
  bool dropped = false;
  Lake lake = this->FaultyLake([&](const Op& op) {
    if (!op.key.ends_with("/v2.metadata.json")) return Fault{};
    if (op.kind == OpKind::kPutIfAbsent && !dropped) {
      dropped = true;
      return Fault{FaultAction::kDropAfter};
    }
    const bool read = op.kind == OpKind::kGet || op.kind == OpKind::kHead;
    return dropped && read ? Fault{FaultAction::kDropBefore} : Fault{};
  });
  Table table = Must(lake.OpenTable("t"));
  AppendOptions options;
  options.batch_id = "b1";
  options.settings["commit-timeout"] = "200ms";
  const auto result = table.Append(Batch({{1, "a", 1}, {2, "a", 2}, {3, "b", 3}}), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(KindOf(result.status()), ErrorKind::kCommitUnknown) << result.status().ToString();
  Lake fresh = this->OpenLake();
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), "3");
  options.settings.clear();
  const auto again = Must(Must(fresh.OpenTable("t")).Append(Batch({{1, "a", 1}}), options));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), "3");
}

TYPED_TEST(OnObjectStore, O04A409IsRepeatedWithoutReload) {
  TL_OK(this->OpenLake().CreateTable("t", kColumns, Readings()).status());
  int puts = 0, listings = 0;
  Lake lake = this->FaultyLake([&](const Op& op) {
    if (op.kind == OpKind::kList) ++listings;
    return this->IsPutOf(op, "v2") && ++puts == 1 ? Fault{FaultAction::kRepeat409} : Fault{};
  });
  Table table = Must(lake.OpenTable("t"));
  const int before = listings;
  EXPECT_EQ(Must(table.Append(Batch({{1, "a", 1}}))).version, 2);
  EXPECT_EQ(puts, 2);
  EXPECT_EQ(listings, before);
  EXPECT_EQ(Must(table.Snapshots()).size(), 1u);
}

TYPED_TEST(OnObjectStore, O04A412ByAForeignVersionIsRebased) {
  TL_OK(this->OpenLake().CreateTable("t", kColumns, Readings()).status());
  int data_files = 0;
  bool foreign = false;
  Lake lake = this->FaultyLake([&](const Op& op) {
    if (op.kind == OpKind::kOpenWrite && op.key.find("/data/") != std::string::npos) ++data_files;
    if (this->IsPutOf(op, "v2") && !foreign) {
      foreign = true;  // another process commits v2 at this very moment
      Lake other = this->OpenLake();
      EXPECT_TRUE(Must(other.OpenTable("t")).Append(Batch({{9, "z", 9}})).ok());
    }
    return Fault{};
  });
  const auto result = Must(Must(lake.OpenTable("t")).Append(Batch({{1, "a", 1}})));
  EXPECT_EQ(result.version, 3);
  EXPECT_EQ(result.attempts, 2);
  EXPECT_EQ(data_files, 1);
  EXPECT_EQ(Ask(this->OpenLake(), "SELECT count(*) FROM t"), "2");
}

TYPED_TEST(OnObjectStore, O05AHintOfAnyContentIsSurvivedAndRepaired) {
  {
    Table table = Must(this->OpenLake().CreateTable("t", kColumns, Readings()));
    TL_OK(table.Append(Batch({{1, "a", 1}})).status());
    TL_OK(table.Append(Batch({{2, "a", 2}})).status());
  }
  const std::string hint = this->root_ + "/default/t/metadata/version-hint.text";
  int64_t version = 3;
  for (const std::optional<std::string>& content :
       {std::optional<std::string>("1"), std::optional<std::string>(),
        std::optional<std::string>("3\n"), std::optional<std::string>("99"),
        std::optional<std::string>(""), std::optional<std::string>("abc")}) {
    const auto store = this->Store();
    if (content) {
      TL_OK(store->Put(hint, arrow::Buffer::FromString(*content)).status());
    } else {
      TL_OK(store->Delete(hint));
    }
    Lake lake = this->OpenLake();
    Table table = Must(lake.OpenTable("t"));
    EXPECT_EQ(table.version(), version);
    ++version;
    EXPECT_EQ(Must(table.Append(Batch({{version, "a", 3}}))).version, version);
    EXPECT_EQ(regress::Must(store->Get(hint)).bytes->ToString(), std::to_string(version));
  }
  EXPECT_EQ(Ask(this->OpenLake(), "SELECT count(*) FROM t"), std::to_string(version - 1));
}

TYPED_TEST(OnObjectStore, O06ParallelAppendsLoseNothing) {
  constexpr int kThreads = 8;
  constexpr int kAppends = 6;
  Table shared = Must(this->OpenLake().CreateTable("t", kColumns, Readings()));
  TL_OK(shared.SetProperties({{"max-snapshots", "1000"}}));
  std::vector<std::thread> threads;
  std::vector<std::string> errors(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Half of them through one handle, half through handles of their own.
      Table table = t % 2 == 0 ? shared : Must(this->OpenLake().OpenTable("t"));
      for (int i = 0; i < kAppends; ++i) {
        AppendOptions options;
        options.batch_id = fmt::format("{}/{}", t, i);
        const auto rows =
            Batch({{i, fmt::format("d{}", t), 1.0}, {-i - 1, fmt::format("d{}", t), 2.0}});
        const auto result = table.Append(rows, options);
        if (!result.ok()) errors[t] = result.status().ToString();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) EXPECT_EQ(error, "");
  Lake fresh = this->OpenLake();
  Table table = Must(fresh.OpenTable("t"));
  const auto snapshots = Must(table.Snapshots());
  std::set<std::string> ids;
  for (const auto& snapshot : snapshots) ids.insert(snapshot.summary.at("timelake.batch-id"));
  EXPECT_EQ(ids.size(), static_cast<size_t>(kThreads * kAppends));
  EXPECT_EQ(snapshots.size(), ids.size());
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), std::to_string(kThreads * kAppends * 2));
  EXPECT_EQ(table.version(), kThreads * kAppends + 2);
  EXPECT_EQ(Must(table.Latest())->num_rows(), kThreads);
}

}  // namespace
}  // namespace timelake::regress
