// What every store promises (object_store.h), over each kind; object stores on servers of the
// test's own.

#include <algorithm>
#include <atomic>
#include <thread>

#include "azure_server.h"
#include "base/clock.h"
#include "gcs_server.h"
#include "s3_server.h"
#include "store/fault_store.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/power_loss_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

struct Local {
  TempFolder folder;
  std::shared_ptr<ObjectStore> store = MakeLocalStore();
  std::string root = folder.path() + "/wh";
};

// A file system without unnamed files.
struct LocalByRename {
  static LocalStoreOptions Options() {
    LocalStoreOptions options;
    options.abilities.unnamed_files = false;
    return options;
  }
  TempFolder folder;
  std::shared_ptr<ObjectStore> store = MakeLocalStore(Options());
  std::string root = folder.path() + "/wh";
};

struct Memory {
  std::shared_ptr<ObjectStore> store = MakeMemoryStore(SystemClock());
  std::string root = "bucket/wh";
};

struct Fault : Memory {
  Fault() { store = MakeFaultStore(store); }
};

struct PagedFault : Memory {
  PagedFault() { store = MakeFaultStore(store, {}, {.list_page = 1}); }
};

struct FaultOverLocal : Local {
  FaultOverLocal() { store = MakeFaultStore(store); }
};

struct PowerLoss : Memory {
  PowerLoss() {
    store = std::make_shared<PowerLossStore>(std::make_shared<MemoryStore>(SystemClock()));
  }
};

// A bucket of a versitygw: over folders, so that it has no object below another, as on local disk.
struct S3 {
  S3() {
    if (server == nullptr) return;
    store = Must(OpenS3(server->Options()));
    root = server->NewBucket() + "/wh";
  }
  // Times have whole seconds. A put does not tell the Last-Modified, only when it was answered; and
  // the server computes the Date of its replies once a second, so that it may be older than it.
  static constexpr int64_t kTimeSlackUs = 2'000'000;
  S3Server* server = S3Server::Shared();
  std::shared_ptr<ObjectStore> store;
  std::string root;
};

struct Gcs {
  Gcs() {
    if (server == nullptr) return;
    store = Must(OpenGcs(server->Options()));
    root = server->NewBucket() + "/wh";
  }
  static constexpr int64_t kTimeSlackUs = 2'000'000;
  GcsServer* server = SharedServer<GcsServer>();
  std::shared_ptr<ObjectStore> store;
  std::string root;
};

struct Azure {
  Azure() {
    if (server == nullptr) return;
    store = Must(OpenAzure(server->Options()));
    root = server->NewBucket() + "/wh";
  }
  static constexpr int64_t kTimeSlackUs = 2'000'000;
  AzureServer* server = SharedServer<AzureServer>();
  std::shared_ptr<ObjectStore> store;
  std::string root;
};

template <typename Kind>
constexpr int64_t TimeSlackUs() {
  if constexpr (requires { Kind::kTimeSlackUs; }) return Kind::kTimeSlackUs;
  return 0;
}

template <typename Kind>
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if constexpr (std::is_same_v<Kind, S3>) {
      TL_REQUIRE_S3_SERVER();
    } else if constexpr (std::is_same_v<Kind, Gcs>) {
      TL_REQUIRE_SERVER(GcsServer, "GCS");
    } else if constexpr (std::is_same_v<Kind, Azure>) {
      TL_REQUIRE_SERVER(AzureServer, "AZURE");
    }
  }
  bool files_and_folders() { return store().scheme() == "file" || store().scheme() == "s3"; }
  bool remote() { return store().scheme() != "file" && store().scheme() != "memory"; }
  ObjectStore& store() { return *kind_.store; }
  std::string Key(const std::string& name) const { return kind_.root + "/" + name; }
  std::vector<std::string> KeysOf(std::vector<std::string> names) const {
    for (std::string& name : names) name = Key(name);
    return names;
  }
  void Write(const std::string& name) {
    TL_EXPECT_OK(store().Put(Key(name), Bytes("of " + name)).status());
  }

  Kind kind_;
};

using Kinds = ::testing::Types<Local, LocalByRename, Memory, Fault, PagedFault, FaultOverLocal,
                               PowerLoss, S3, Gcs, Azure>;
TYPED_TEST_SUITE(StoreTest, Kinds);

TYPED_TEST(StoreTest, PutGetHeadDelete) {
  const std::string key = this->Key("a/b/c.txt");
  const GetReply missing = Must(this->store().Get(key));
  EXPECT_FALSE(missing.found);
  EXPECT_EQ(missing.bytes, nullptr);
  EXPECT_EQ(missing.info.key, key);
  EXPECT_GT(missing.date_us, 0);

  const PutReply put = Must(this->store().Put(key, Bytes("hello")));
  EXPECT_EQ(put.info.key, key);
  EXPECT_EQ(put.info.size, 5);
  EXPECT_GE(put.info.mtime_us, missing.date_us);
  EXPECT_GE(put.date_us, put.info.mtime_us);
  TL_EXPECT_OK(this->store().Sync({key}));

  const GetReply got = Must(this->store().Get(key));
  ASSERT_TRUE(got.found);
  EXPECT_EQ(got.bytes->ToString(), "hello");
  EXPECT_EQ(got.info.identity, put.info.identity);
  EXPECT_LE(std::abs(got.info.mtime_us - put.info.mtime_us), TimeSlackUs<TypeParam>());
  EXPECT_GE(got.date_us, put.date_us);
  const HeadReply head = Must(this->store().Head(key));
  EXPECT_TRUE(head.found);
  EXPECT_EQ(head.info.identity, put.info.identity);
  EXPECT_EQ(head.info.size, 5);

  TL_EXPECT_OK(this->store().Delete(key));
  TL_EXPECT_OK(this->store().Delete(key));
  EXPECT_EQ(Text(this->store(), key), "(missing)");
  EXPECT_FALSE(Must(this->store().Head(key)).found);
}

TYPED_TEST(StoreTest, PutReplacesWithANewIdentity) {
  const std::string key = this->Key("x");
  const PutReply first = Must(this->store().Put(key, Bytes("1")));
  const PutReply second = Must(this->store().Put(key, Bytes("22")));
  EXPECT_NE(first.info.identity, second.info.identity);
  EXPECT_EQ(Text(this->store(), key), "22");
  EXPECT_EQ(Keys(this->store(), this->kind_.root + "/"), this->KeysOf({"x"}));
}

TYPED_TEST(StoreTest, EmptyObject) {
  const std::string key = this->Key("empty");
  TL_EXPECT_OK(this->store().Put(key, Bytes("")).status());
  EXPECT_EQ(Text(this->store(), key), "");
  EXPECT_FALSE(this->store().Put(key, nullptr).ok());
  EXPECT_FALSE(this->store().PutIfAbsent(key + "2", nullptr).ok());
}

TYPED_TEST(StoreTest, PutIfAbsentKeepsWhatIsThere) {
  const std::string key = this->Key("metadata/v1.metadata.json");
  const int64_t before = Must(this->store().Head(key)).date_us;
  const ConditionalPutReply created = Must(this->store().PutIfAbsent(key, Bytes("mine")));
  EXPECT_EQ(created.outcome, PutOutcome::kCreated);
  EXPECT_EQ(created.info.key, key);
  EXPECT_EQ(created.info.size, 4);
  EXPECT_GE(created.info.mtime_us, before);
  EXPECT_GE(created.date_us, created.info.mtime_us);
  EXPECT_EQ(Must(this->store().Head(key)).info.identity, created.info.identity);

  const ConditionalPutReply again = Must(this->store().PutIfAbsent(key, Bytes("other")));
  EXPECT_EQ(again.outcome, PutOutcome::kExists);
  EXPECT_GE(again.date_us, created.date_us);
  EXPECT_NE(again.message, "");
  EXPECT_EQ(Text(this->store(), key), "mine");
}

TYPED_TEST(StoreTest, OneOfSixteenRacersCreates) {
  constexpr int kThreads = 16;
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const std::string key = this->Key("race/v" + std::to_string(round));
    std::vector<PutOutcome> outcomes(kThreads, PutOutcome::kNoReply);
    std::atomic<int> waiting = kThreads;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const auto bytes = Bytes("writer " + std::to_string(i));
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        outcomes[i] = Must(this->store().PutIfAbsent(key, bytes)).outcome;
      });
    }
    for (auto& thread : threads) thread.join();
    const auto winner = std::find(outcomes.begin(), outcomes.end(), PutOutcome::kCreated);
    ASSERT_NE(winner, outcomes.end());
    EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), PutOutcome::kCreated), 1);
    EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), PutOutcome::kExists), kThreads - 1);
    EXPECT_EQ(Text(this->store(), key), "writer " + std::to_string(winner - outcomes.begin()));
  }
}

TYPED_TEST(StoreTest, PutIfMatchComparesIdentity) {
  ASSERT_TRUE(this->store().has_compare_and_swap());
  const std::string key = this->Key("metadata/version-hint.text");
  EXPECT_EQ(Must(this->store().PutIfMatch(key, Bytes("0"), "nothing-like-it")).outcome,
            PutOutcome::kExists);
  EXPECT_EQ(Text(this->store(), key), "(missing)");
  const auto first = Must(this->store().PutIfMatch(key, Bytes("1"), std::nullopt));
  EXPECT_EQ(first.outcome, PutOutcome::kCreated);
  EXPECT_EQ(Must(this->store().PutIfMatch(key, Bytes("x"), std::nullopt)).outcome,
            PutOutcome::kExists);
  const auto second = Must(this->store().PutIfMatch(key, Bytes("2"), first.info.identity));
  EXPECT_EQ(second.outcome, PutOutcome::kCreated);
  EXPECT_NE(second.info.identity, first.info.identity);
  EXPECT_EQ(Must(this->store().PutIfMatch(key, Bytes("x"), first.info.identity)).outcome,
            PutOutcome::kExists);
  EXPECT_EQ(Text(this->store(), key), "2");
  EXPECT_EQ(Must(this->store().Head(key)).info.identity, second.info.identity);
  EXPECT_EQ(Keys(this->store(), this->Key("")), this->KeysOf({"metadata/version-hint.text"}));
}

// As the last step of a commit does it: never write a lower number over a higher one.
TYPED_TEST(StoreTest, HintRaisedByEightThreadsNeverGoesBack) {
  constexpr int kThreads = 8;
  constexpr int kSteps = 12;
  const std::string key = this->Key("metadata/version-hint.text");
  std::atomic<int> next = 0;
  std::atomic<bool> done = false;
  std::thread reader([&] {
    int last = 0;
    while (!done) {
      const std::string text = Text(this->store(), key);
      if (text == "(missing)") continue;
      const int now = std::stoi(text);
      EXPECT_GE(now, last);
      last = now;
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < kSteps; ++step) {
        const int mine = ++next;
        for (;;) {
          const GetReply now = Must(this->store().Get(key));
          if (now.found && std::stoi(now.bytes->ToString()) >= mine) break;
          const auto put = Must(this->store().PutIfMatch(
              key, Bytes(std::to_string(mine)),
              now.found ? std::make_optional(now.info.identity) : std::nullopt));
          ASSERT_NE(put.outcome, PutOutcome::kNoReply) << put.message;
          if (put.outcome == PutOutcome::kCreated) break;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  done = true;
  reader.join();
  EXPECT_EQ(Text(this->store(), key), std::to_string(kThreads * kSteps));
}

TYPED_TEST(StoreTest, ListTakesThePrefixByTheLetter) {
  for (const char* name :
       {"t/metadata/v1.json", "t/metadata/v10.json", "t/metadata/v2.json", "t/metadata/x.avro",
        "t/metadata/version-hint.text", "t/metadata/v-old/v5.json", "t/metadata2/v4.json",
        "t2/metadata/v3.json", "t/data/v6.parquet"}) {
    this->Write(name);
  }
  EXPECT_EQ(Keys(this->store(), this->Key("t/metadata/v")),
            this->KeysOf({"t/metadata/v-old/v5.json", "t/metadata/v1.json", "t/metadata/v10.json",
                          "t/metadata/v2.json", "t/metadata/version-hint.text"}));
  EXPECT_EQ(Keys(this->store(), this->Key("t/metadata")).size(), 7u);
  EXPECT_EQ(Keys(this->store(), this->Key("t/")).size(), 8u);
  EXPECT_EQ(Keys(this->store(), this->Key("t")).size(), 9u);
  EXPECT_EQ(Keys(this->store(), this->Key("t/metadata/v1.json")),
            this->KeysOf({"t/metadata/v1.json"}));
  EXPECT_TRUE(Keys(this->store(), this->Key("none/")).empty());
  EXPECT_TRUE(Keys(this->store(), this->Key("t/metadata/v1.json/")).empty());
}

TYPED_TEST(StoreTest, ListTellsWhatHeadTells) {
  this->Write("m/v1");
  this->Write("m/v2");
  const ListReply list = Must(this->store().List(this->Key("m/v")));
  ASSERT_EQ(list.objects.size(), 2u);
  for (const ObjectInfo& object : list.objects) {
    const HeadReply head = Must(this->store().Head(object.key));
    EXPECT_EQ(object.size, head.info.size);
    EXPECT_EQ(object.mtime_us, head.info.mtime_us);
    EXPECT_EQ(object.identity, head.info.identity);
    EXPECT_GE(list.date_us, object.mtime_us - TimeSlackUs<TypeParam>());
  }
}

TYPED_TEST(StoreTest, ListIsInByteOrder) {
  for (const char* name : {"o/b", "o/B", "o/a/z", "o/a", "o/a-", "o/a0", "o/\xc3\xa9"}) {
    if (std::string(name) == "o/a" && this->files_and_folders()) continue;  // file or folder
    this->Write(name);
  }
  const std::vector<std::string> keys = Keys(this->store(), this->Key("o/"));
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_GE(keys.size(), 6u);
  EXPECT_EQ(keys.back(), this->Key("o/\xc3\xa9"));
}

TYPED_TEST(StoreTest, NamesAreTakenByteForByte) {
  std::vector<std::string> names = {
      "n/a b", "n/a%2Fb", "n/c#d?e", "n/name=x%20y/1+2", "n/q'\"\\", "n/\xe6\x97\xa5\xe6\x9c\xac"};
  // Azurite takes a backslash for a slash.
  if (std::is_same_v<TypeParam, Azure>) names[4] = "n/q'\"";
  for (const std::string& name : names) this->Write(name);
  for (const std::string& name : names) {
    EXPECT_EQ(Text(this->store(), this->Key(name)), "of " + name);
    const auto key = KeyOf(this->store(), UriOf(this->store(), this->Key(name)));
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(*key, this->Key(name));
  }
  EXPECT_EQ(Text(this->store(), this->Key("n/a/b")), "(missing)");
  EXPECT_EQ(Keys(this->store(), this->Key("n/")), this->KeysOf(names));
}

TYPED_TEST(StoreTest, ListFoldersNamesSubfoldersOnly) {
  for (const char* name : {"f/b/1", "f/a/x/2", "f/a-b/3", "f/file", "g/c/4"}) this->Write(name);
  EXPECT_EQ(Must(this->store().ListFolders(this->Key("f/"))),
            (std::vector<std::string>{"a", "a-b", "b"}));
  EXPECT_TRUE(Must(this->store().ListFolders(this->Key("none/"))).empty());
  EXPECT_EQ(KindOf(this->store().ListFolders(this->Key("f")).status()),
            ErrorKind::kInvalidArgument);
}

TYPED_TEST(StoreTest, ManyAtOnce) {
  std::vector<PutRequest> requests;
  std::vector<std::string> keys;
  for (int i = 0; i < 30; ++i) {
    keys.push_back(this->Key("many/p" + std::to_string(i % 4) + "/" + std::to_string(i)));
    requests.push_back({keys.back(), Bytes(std::to_string(i))});
  }
  TL_EXPECT_OK(this->store().PutAll(requests));
  TL_EXPECT_OK(this->store().Sync(keys));
  EXPECT_EQ(Text(this->store(), keys[17]), "17");
  TL_EXPECT_OK(this->store().DeleteAll(keys));
  EXPECT_TRUE(Keys(this->store(), this->Key("many/")).empty());
  if (this->remote()) return;  // Sync does nothing there
  EXPECT_EQ(KindOf(this->store().Sync({keys[0]})), ErrorKind::kNotFound);
}

TYPED_TEST(StoreTest, StreamAppearsWhenClosed) {
  const std::string key = this->Key("data/big.parquet");
  auto stream = Must(this->store().OpenWrite(key));
  ASSERT_NE(stream, nullptr);
  std::string all;
  for (int i = 0; i < 4000; ++i) {
    // Small pieces, and now and then one larger than any buffer.
    std::string piece(i % 1000 == 999 ? 3'000'000 : i % 97, static_cast<char>('a' + i % 26));
    TL_EXPECT_OK(stream->Write(piece.data(), static_cast<int64_t>(piece.size())));
    all += piece;
  }
  EXPECT_EQ(Must(stream->Tell()), static_cast<int64_t>(all.size()));
  EXPECT_TRUE(Keys(this->store(), this->Key("")).empty());
  TL_EXPECT_OK(stream->Close());
  EXPECT_TRUE(stream->closed());
  TL_EXPECT_OK(stream->Close());
  EXPECT_FALSE(stream->Write("x", 1).ok());
  TL_EXPECT_OK(this->store().Sync({key}));
  EXPECT_TRUE(Text(this->store(), key) == all);

  auto file = Must(this->store().OpenRead(key));
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(Must(file->GetSize()), static_cast<int64_t>(all.size()));
  EXPECT_EQ(Must(file->ReadAt(5'000'000, 100))->ToString(), all.substr(5'000'000, 100));
}

TYPED_TEST(StoreTest, StreamNotClosedLeavesNothing) {
  const std::string key = this->Key("data/x");
  {
    auto dropped = Must(this->store().OpenWrite(key));
    TL_EXPECT_OK(dropped->Write("abc", 3));
  }
  auto aborted = Must(this->store().OpenWrite(key));
  TL_EXPECT_OK(aborted->Write("abc", 3));
  TL_EXPECT_OK(aborted->Abort());
  TL_EXPECT_OK(aborted->Close());
  EXPECT_TRUE(Keys(this->store(), this->Key("")).empty());
}

TYPED_TEST(StoreTest, OpenReadOfNothingNamesTheKey) {
  const auto file = this->store().OpenRead(this->Key("none.parquet"));
  EXPECT_EQ(KindOf(file.status()), ErrorKind::kNotFound);
  EXPECT_NE(file.status().message().find("none.parquet"), std::string::npos);
}

}  // namespace
}  // namespace timelake::store
