#include "store/early_syncs.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "store/local_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

using ::testing::HasSubstr;

class EarlySyncsTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name) {
    std::ofstream(folder_.path() + "/" + name) << "text";
    return folder_.path() + "/" + name;
  }
  std::string Missing() const { return folder_.path() + "/missing"; }

  // As the store does it: what nobody has begun is done at once.
  Status Sync(const std::vector<std::string>& paths) {
    const auto waiting = std::make_shared<EarlySyncs::Waiting>();
    Status status;
    for (const std::string& path : paths) {
      if (syncs_.WaitFor(path, waiting)) continue;
      Status own = path == folder_.path() ? Status::OK() : SyncFile(path);
      if (status.ok()) status = std::move(own);
    }
    Status early = syncs_.Await(waiting);
    return status.ok() ? early : status;
  }

  TempFolder folder_;
  EarlySyncs syncs_;
};

TEST_F(EarlySyncsTest, WhatIsAskedForIsDoneWhetherBegunOrNot) {
  std::vector<std::string> paths = {folder_.path()};
  for (int i = 0; i < 20; ++i) paths.push_back(File(std::to_string(i)));
  EXPECT_TRUE(Sync(paths).ok());  // nothing was begun
  syncs_.Begin({paths.begin() + 1, paths.end() - 5}, {folder_.path()});
  EXPECT_TRUE(Sync(paths).ok());
  EXPECT_TRUE(Sync(paths).ok());  // and again
}

TEST_F(EarlySyncsTest, AnErrorIsToldToWhoAsks) {
  const std::string here = File("here");
  for (int i = 0; i < 50; ++i) {
    syncs_.Begin({here, Missing()}, {});
    if (i % 2 == 0) std::this_thread::yield();
    const Status status = Sync({here, Missing()});
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("/missing: cannot open to fdatasync"));
    EXPECT_TRUE(Sync({here}).ok());
  }
}

TEST_F(EarlySyncsTest, WhatIsForgottenIsNotAskedFor) {
  for (int i = 0; i < 50; ++i) {
    const std::string path = File("gone");
    syncs_.Begin({path}, {folder_.path()});
    std::filesystem::remove(path);
    syncs_.Forget(path);
    EXPECT_TRUE(Sync({folder_.path()}).ok());
  }
}

// More than may wait are left to who asks; those that nobody asks for make room.
TEST_F(EarlySyncsTest, ManyFiles) {
  for (int round = 0; round < 4; ++round) {
    std::vector<std::string> paths;
    for (int i = 0; i < 300; ++i) paths.push_back(File(std::to_string(i)));
    for (const std::string& path : paths) syncs_.Begin({path}, {folder_.path()});
    if (round % 2 == 0) {
      EXPECT_TRUE(Sync(paths).ok());
    }
  }
}

// An error is not among them: the disk tells it once.
TEST_F(EarlySyncsTest, ErrorsStayUntilSomebodyAsks) {
  const std::string gone = folder_.path() + "/!";  // the first in their order, which is begun first
  syncs_.Begin({gone}, {});
  for (int i = 0; i < 300; ++i) syncs_.Begin({File(std::to_string(i))}, {});
  const auto waiting = std::make_shared<EarlySyncs::Waiting>();
  const std::string later = File("later");
  bool begun = false;
  for (int i = 0; i < 1'000'000 && !begun; ++i) {
    syncs_.Begin({later}, {});
    std::this_thread::yield();
    begun = syncs_.WaitFor(later, waiting);
  }
  ASSERT_TRUE(begun);
  ASSERT_TRUE(syncs_.WaitFor(gone, waiting));
  EXPECT_THAT(syncs_.Await(waiting).message(), HasSubstr("/!: cannot open to fdatasync"));
}

TEST_F(EarlySyncsTest, ThreadsShareAFolder) {
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string path = File(std::to_string(t) + "-" + std::to_string(i));
        syncs_.Begin({path}, {folder_.path()});
        failed += !Sync({path, folder_.path()}).ok();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(EarlySyncsTest, OfTheLocalStore) {
  const auto store = MakeLocalStore();
  const std::string key = folder_.path() + "/a/b";
  ASSERT_TRUE(store->Put(key, Bytes("b")).ok());
  store->SyncSoon({key, Missing()});
  EXPECT_TRUE(store->Sync({key}).ok());
  const Status status = store->Sync({key, Missing()});
  EXPECT_THAT(status.message(), HasSubstr("/missing: cannot open to fdatasync"));
  EXPECT_EQ(Text(*store, key), "b");
}

}  // namespace
}  // namespace timelake::store
