#include "store/write_behind_store.h"

#include <thread>

#include "moody_store.h"
#include "store/memory_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

class WriteBehind : public testing::Test {
 protected:
  void Close() {
    const std::lock_guard lock(moody_->mutex);
    moody_->open = false;
  }
  void Await(int writes) {
    while (moody_->writes < writes) std::this_thread::yield();
  }

  std::shared_ptr<ObjectStore> memory_ = std::make_shared<MemoryStore>(SystemClock());
  std::shared_ptr<Moody> moody_ = std::make_shared<Moody>(memory_);
  std::shared_ptr<ObjectStore> store_ = MakeWriteBehindStore(moody_);
};

TEST_F(WriteBehind, AllAreOnTheirWayAtOnceAndSyncWaits) {
  Close();
  ASSERT_TRUE(store_->Put("w/metadata/a.avro", Bytes("a")).ok());
  ASSERT_TRUE(
      store_->PutAll({{"w/metadata/b.avro", Bytes("b")}, {"w/metadata/c.avro", Bytes("c")}}).ok());
  auto stream = *store_->OpenWrite("w/data/d.parquet");
  ASSERT_TRUE(stream->Write("ddd", 3).ok());
  ASSERT_TRUE(stream->Close().ok());
  EXPECT_TRUE(stream->closed());
  Await(4);
  EXPECT_EQ(Keys(*memory_, "w/"), std::vector<std::string>{});
  std::thread opener([&] { moody_->Open(); });
  const std::vector<std::string> keys = {"w/metadata/a.avro", "w/metadata/b.avro",
                                         "w/metadata/c.avro", "w/data/d.parquet"};
  EXPECT_TRUE(store_->Sync(keys).ok());
  EXPECT_EQ(Keys(*memory_, "w/").size(), 4u);
  opener.join();
  EXPECT_EQ(Text(*store_, "w/data/d.parquet"), "ddd");
}

TEST_F(WriteBehind, SyncTellsWhatFailed) {
  moody_->failures = 1;
  ASSERT_TRUE(store_->Put("w/metadata/a.avro", Bytes("a")).ok());
  for (int i = 0; i < 2; ++i) {  // again, until the key is given up
    const Status synced = store_->Sync({"w/metadata/a.avro"});
    ASSERT_FALSE(synced.ok());
    EXPECT_NE(synced.message().find("the store is away"), std::string::npos);
  }
  EXPECT_TRUE(store_->Delete("w/metadata/a.avro").ok());
  ASSERT_TRUE(store_->Put("w/metadata/a.avro", Bytes("a")).ok());
  EXPECT_TRUE(store_->Sync({"w/metadata/a.avro"}).ok());
}

TEST_F(WriteBehind, ADeleteFollowsTheWrite) {
  Close();
  ASSERT_TRUE(store_->Put("w/data/a.parquet", Bytes("a")).ok());
  Await(1);
  std::thread opener([&] { moody_->Open(); });
  EXPECT_TRUE(store_->DeleteAll({"w/data/a.parquet"}).ok());
  opener.join();
  EXPECT_EQ(Keys(*memory_, "w/"), std::vector<std::string>{});
}

TEST_F(WriteBehind, WhatMayChangeIsWrittenAtOnce) {
  moody_->failures = 1;
  EXPECT_FALSE(store_->Put("w/metadata/version-hint.text", Bytes("1")).ok());
  EXPECT_TRUE(store_->Put("w/metadata/version-hint.text", Bytes("1")).ok());
  EXPECT_EQ(Text(*memory_, "w/metadata/version-hint.text"), "1");
  // COPY ... TO writes to the store itself: it reports what it did.
  EXPECT_EQ(DirectStore(store_), moody_);
}

// A stream that is given up leaves nothing.
TEST_F(WriteBehind, AnAbortedStreamIsNotWritten) {
  {
    auto stream = *store_->OpenWrite("w/data/a.parquet");
    ASSERT_TRUE(stream->Write("a", 1).ok());
    ASSERT_TRUE(stream->Abort().ok());
    ASSERT_TRUE(stream->Close().ok());
    auto dropped = *store_->OpenWrite("w/data/b.parquet");
    ASSERT_TRUE(dropped->Write("b", 1).ok());
  }
  EXPECT_EQ(Keys(*memory_, "w/"), std::vector<std::string>{});
}

}  // namespace
}  // namespace timelake::store
