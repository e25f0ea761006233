#include "store/local_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "store/local_file.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class LocalStoreTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  // A file made by someone else, or by nobody we know.
  void WriteFile(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << text;
  }

  TempFolder folder_;
  std::shared_ptr<ObjectStore> store_ = MakeLocalStore();
};

TEST_F(LocalStoreTest, AVersionIsDatedByItsNameNotItsBytes) {
  Folders folders;
  NewFile file = *NewFile::Create(Path("v1"), {}, &folders);
  ASSERT_TRUE(file.Write("x", 1).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const int64_t before = Must(store_->Head(Path("v1"))).date_us;
  std::string why;
  ASSERT_EQ(Must(file.NameIfAbsent(&why)), NewFile::Naming::kDone);
  const HeadReply linked = Must(store_->Head(Path("v1")));
  EXPECT_GE(linked.info.mtime_us, before);
  EXPECT_GE(linked.date_us, linked.info.mtime_us);
  struct stat st;
  ASSERT_EQ(stat(Path("v1").c_str(), &st), 0);
  EXPECT_EQ(linked.info.mtime_us, ChangeNanos(st) / 1000);
  // Written 30 ms before it was linked.
  EXPECT_LT(int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec,
            ChangeNanos(st) - 15'000'000);
}

TEST_F(LocalStoreTest, StagedBytesAreSeenWithTheirPut) {
  std::filesystem::create_directory(Path("m"));
  const auto bytes = Bytes("one");
  const auto staged = store_->Stage(Path("m/v1"), bytes);
  ASSERT_NE(staged, nullptr);
  EXPECT_TRUE(staged->Sync().ok());
  EXPECT_TRUE(Must(store_->List(Path("m/"))).objects.empty());
  EXPECT_EQ(Must(store_->PutIfAbsent(Path("m/v1"), bytes)).outcome, PutOutcome::kCreated);
  EXPECT_EQ(Must(store_->Get(Path("m/v1"))).bytes->ToString(), "one");
  // They are for one put; the next one of the same bytes has to write them again.
  EXPECT_EQ(Must(store_->PutIfAbsent(Path("m/v1"), bytes)).outcome, PutOutcome::kExists);
  ASSERT_TRUE(store_->Delete(Path("m/v1")).ok());
  EXPECT_EQ(Must(store_->PutIfAbsent(Path("m/v1"), bytes)).outcome, PutOutcome::kCreated);
  EXPECT_EQ(Must(store_->Get(Path("m/v1"))).bytes->ToString(), "one");
}

TEST_F(LocalStoreTest, StagedBytesAreOfOneKeyAndBuffer) {
  const auto first = store_->Stage(Path("m/v1"), Bytes("one"));
  const auto bytes = Bytes("two");
  const auto other = store_->Stage(Path("m/v2"), bytes);
  EXPECT_EQ(Must(store_->PutIfAbsent(Path("m/v1"), bytes)).outcome, PutOutcome::kCreated);
  EXPECT_EQ(Must(store_->Get(Path("m/v1"))).bytes->ToString(), "two");
  EXPECT_FALSE(Must(store_->Head(Path("m/v2"))).found);
  EXPECT_EQ(store_->Stage("no path", bytes), nullptr);
}

// A name that is replaced often takes turns with one more file, which goes with the store.
TEST_F(LocalStoreTest, NamesThatAreReplacedOftenTakeNoNewFiles) {
  std::optional<std::string> identity;
  std::set<std::string> identities;
  std::set<ino_t> inodes;
  for (int i = 0; i < 30; ++i) {
    const std::string text = std::to_string(100 + i);
    const auto put = Must(store_->PutIfMatch(Path("m/hint"), Bytes(text), identity));
    ASSERT_EQ(put.outcome, PutOutcome::kCreated) << put.message;
    const auto read = Must(store_->Get(Path("m/hint")));
    EXPECT_EQ(read.bytes->ToString(), text);
    EXPECT_EQ(read.info.identity, put.info.identity);
    EXPECT_TRUE(identities.insert(*(identity = put.info.identity)).second);
    EXPECT_EQ(Must(store_->PutIfMatch(Path("m/hint"), Bytes("x"), "other")).outcome,
              PutOutcome::kExists);
    struct stat st;
    ASSERT_EQ(stat(Path("m/hint").c_str(), &st), 0);
    if (i > 8) inodes.insert(st.st_ino);
  }
  EXPECT_EQ(inodes.size(), 2);
  EXPECT_EQ(Must(store_->List(Path("m/"))).objects.size(), 1);
  // Who has opened the file and read its size never gets a part of a longer text, nor more.
  for (int i = 0; i < 20; ++i) {
    const std::string text(1 + i % 3, 'x');
    const auto put = Must(store_->PutIfMatch(Path("m/hint"), Bytes(text), identity));
    ASSERT_EQ(put.outcome, PutOutcome::kCreated) << put.message;
    identity = put.info.identity;
    const Fd open = OpenFd(Path("m/hint"), O_RDONLY);
    for (int more = 0; more < 3; ++more) {
      const auto next = Must(store_->PutIfMatch(Path("m/hint"), Bytes(text + "y"), identity));
      ASSERT_EQ(next.outcome, PutOutcome::kCreated) << next.message;
      identity = next.info.identity;
      struct stat st;
      ASSERT_EQ(fstat(open.get(), &st), 0);
      EXPECT_EQ(st.st_size, text.size());
    }
  }
  store_.reset();
  const auto files = std::filesystem::directory_iterator(Path("m"));
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

// Others write the hint, too, and keep what they see by links: a copy of theirs is never written.
TEST_F(LocalStoreTest, FilesWithOtherNamesAreNotWrittenAnew) {
  std::optional<std::string> identity;
  for (int i = 0; i < 20; ++i) {
    if (i > 5 && i % 2 == 0) {
      std::filesystem::create_hard_link(Path("m/hint"), Path("kept" + std::to_string(i)));
      identity = Must(store_->Head(Path("m/hint"))).info.identity;
    }
    if (i == 9) {
      WriteFile("m/hint", "another's");
      identity = Must(store_->Head(Path("m/hint"))).info.identity;
    }
    const auto put = Must(store_->PutIfMatch(Path("m/hint"), Bytes(std::to_string(i)), identity));
    ASSERT_EQ(put.outcome, PutOutcome::kCreated) << i << put.message;
    identity = put.info.identity;
  }
  for (int i = 6; i < 20; i += 2) {
    const auto kept = Must(store_->Get(Path("kept" + std::to_string(i))));
    EXPECT_EQ(kept.bytes->ToString(), i == 10 ? "9" : std::to_string(i - 1));
  }
}

// Where files cannot be without a name, too.
TEST_F(LocalStoreTest, StagedBytesThatAreNotPutLeaveNothingBehind) {
  for (const bool unnamed : {true, false}) {
    LocalStoreOptions options;
    options.abilities.unnamed_files = unnamed;
    const auto store = MakeLocalStore(options);
    store->Stage(Path("m/v1"), Bytes("one")).reset();
    EXPECT_TRUE(std::filesystem::is_empty(Path("m")));
    const auto bytes = Bytes("two");
    const auto staged = store->Stage(Path("m/v1"), bytes);
    EXPECT_EQ(Must(store->PutIfAbsent(Path("m/v1"), bytes)).outcome, PutOutcome::kCreated);
    ASSERT_TRUE(store->Delete(Path("m/v1")).ok());
    EXPECT_TRUE(std::filesystem::is_empty(Path("m")));
  }
}

TEST_F(LocalStoreTest, StoreTimesOfVersionsDoNotDecrease) {
  int64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const auto put = Must(store_->PutIfAbsent(Path("m/v" + std::to_string(i)), Bytes("x")));
    EXPECT_GE(put.info.mtime_us, last);
    last = put.info.mtime_us;
    EXPECT_GE(Must(store_->Head(Path("m/none"))).date_us, last);
  }
}

TEST_F(LocalStoreTest, IdentitiesUnderOneNameNeverRepeat) {
  // Inode numbers come back at once; without the wait in PutIfMatch so would the clock's tick.
  std::set<std::string> seen;
  std::optional<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    const auto put = Must(store_->PutIfMatch(Path("hint"), Bytes(std::to_string(i)), expected));
    ASSERT_EQ(put.outcome, PutOutcome::kCreated);
    EXPECT_TRUE(seen.insert(put.info.identity).second) << put.info.identity;
    expected = put.info.identity;
  }
}

TEST_F(LocalStoreTest, NothingButObjectsIsLeftInTheFolder) {
  LocalStoreOptions by_rename;
  by_rename.abilities.unnamed_files = false;
  for (const auto& store : {store_, MakeLocalStore(by_rename)}) {
    const std::string dir = store == store_ ? "a" : "b";
    EXPECT_EQ(Must(store->PutIfAbsent(Path(dir + "/v1"), Bytes("1"))).outcome,
              PutOutcome::kCreated);
    EXPECT_EQ(Must(store->PutIfAbsent(Path(dir + "/v1"), Bytes("2"))).outcome, PutOutcome::kExists);
    auto hint = Must(store->PutIfMatch(Path(dir + "/hint"), Bytes("1"), std::nullopt));
    Must(store->PutIfMatch(Path(dir + "/hint"), Bytes("2"), hint.info.identity));
    Must(store->PutIfMatch(Path(dir + "/hint"), Bytes("3"), hint.info.identity));
    Must(store->Put(Path(dir + "/p"), Bytes("1")));
    Must(store->Put(Path(dir + "/p"), Bytes("2")));
    Must(store->OpenWrite(Path(dir + "/s")))->Write("x", 1).ok();
    Must(store->Get(Path(dir + "/none")));
  }
  EXPECT_THAT(folder_.Names(),
              UnorderedElementsAre("a", "b", "v1", "v1", "hint", "hint", "p", "p"));
}

TEST_F(LocalStoreTest, ObjectsHaveTheUsualPermissions) {
  const mode_t mask = umask(0);
  umask(mask);
  Must(store_->PutIfAbsent(Path("m/v1"), Bytes("1")));
  struct stat st;
  ASSERT_EQ(stat(Path("m/v1").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0666 & ~mask);
  ASSERT_EQ(stat(Path("m").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0777 & ~mask);
}

TEST_F(LocalStoreTest, TheHintIsNotWrittenWithoutTheLock) {
  LocalStoreOptions options;
  options.lock_wait_us = 50'000;
  const auto store = MakeLocalStore(options);
  const auto first = Must(store->PutIfMatch(Path("hint"), Bytes("1"), std::nullopt));
  const Fd held = OpenFd(folder_.path(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  const auto put = Must(store->PutIfMatch(Path("hint"), Bytes("2"), first.info.identity));
  EXPECT_EQ(put.outcome, PutOutcome::kNoReply);
  EXPECT_EQ(put.date_us, 0);
  EXPECT_THAT(put.message, HasSubstr("not written"));
  EXPECT_EQ(Text(*store, Path("hint")), "1");
  ASSERT_EQ(flock(held.get(), LOCK_UN), 0);
  EXPECT_EQ(Must(store->PutIfMatch(Path("hint"), Bytes("2"), first.info.identity)).outcome,
            PutOutcome::kCreated);
  EXPECT_THAT(folder_.Names(), UnorderedElementsAre("hint"));
}

TEST_F(LocalStoreTest, AFileSystemWithoutExclusiveNamesIsRefused) {
  LocalStoreOptions options;
  options.abilities = {.unnamed_files = false, .rename_noreplace = false};
  const auto store = MakeLocalStore(options);
  const auto put = store->PutIfAbsent(Path("t/v1"), Bytes("1"));
  EXPECT_EQ(KindOf(put.status()), ErrorKind::kUnsupported);
  EXPECT_THAT(put.status().message(), HasSubstr(Path("t/v1")));
  EXPECT_THAT(folder_.Names(), UnorderedElementsAre("t"));
  // Data could still be written there, and is not what is refused.
  TL_EXPECT_OK(store->Put(Path("t/data"), Bytes("1")).status());
}

TEST_F(LocalStoreTest, ListIgnoresTemporariesAndOtherKinds) {
  WriteFile("d/a", "1");
  WriteFile("d/" + std::string(kTempPrefix) + "0123", "half");
  WriteFile("d/.hidden", "2");
  ASSERT_EQ(mkfifo(Path("d/pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("nowhere", Path("d/dangling").c_str()), 0);
  ASSERT_EQ(symlink("a", Path("d/link").c_str()), 0);
  ASSERT_EQ(symlink("..", Path("d/circle").c_str()), 0);
  std::filesystem::create_directories(Path("d/empty"));
  EXPECT_EQ(Keys(*store_, Path("d/")),
            (std::vector<std::string>{Path("d/.hidden"), Path("d/a"), Path("d/link")}));
  EXPECT_EQ(Must(store_->ListFolders(Path("d/"))), (std::vector<std::string>{"circle", "empty"}));
}

TEST_F(LocalStoreTest, ListLooksIntoNoOtherFolder) {
  WriteFile("t/metadata/v1", "1");
  WriteFile("t/metadata/deep/x", "1");
  // What cannot be read would be an error, were it looked at.
  ASSERT_EQ(symlink("loop", Path("t/metadata/loop").c_str()), 0);
  ASSERT_EQ(chmod(Path("t/metadata/deep").c_str(), 0), 0);
  EXPECT_EQ(Keys(*store_, Path("t/metadata/v")), (std::vector<std::string>{Path("t/metadata/v1")}));
  EXPECT_EQ(Keys(*store_, Path("t/metadata/v1/")), std::vector<std::string>{});
  ASSERT_EQ(chmod(Path("t/metadata/deep").c_str(), 0755), 0);
}

TEST_F(LocalStoreTest, FoldersThatVanishDuringAListingAreSkipped) {
  std::atomic<bool> done = false;
  std::thread churn([&] {
    while (!done) {
      WriteFile("t/x/y/f", "1");
      std::filesystem::remove_all(Path("t/x"));
    }
  });
  WriteFile("t/kept", "1");
  for (int i = 0; i < 300; ++i) {
    const auto keys = Keys(*store_, Path("t/"));
    EXPECT_THAT(keys, ::testing::Contains(Path("t/kept")));
  }
  done = true;
  churn.join();
}

TEST_F(LocalStoreTest, AFolderIsNoObject) {
  WriteFile("d/a", "1");
  EXPECT_EQ(Text(*store_, Path("d")), "(missing)");
  EXPECT_FALSE(Must(store_->Head(Path("d"))).found);
  EXPECT_EQ(KindOf(store_->OpenRead(Path("d")).status()), ErrorKind::kNotFound);
  EXPECT_FALSE(store_->Delete(Path("d")).ok());
  EXPECT_EQ(Must(store_->PutIfAbsent(Path("d"), Bytes("1"))).outcome, PutOutcome::kExists);
}

TEST_F(LocalStoreTest, ErrorsNameTheFileAndTheStep) {
  WriteFile("file", "1");
  const Status status = store_->Put(Path("file/below"), Bytes("1")).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kIo);
  EXPECT_THAT(status.message(), HasSubstr(Path("file/below") + ": cannot create a new file: N"));
  EXPECT_FALSE(store_->PutIfAbsent(Path("file/below"), Bytes("1")).ok());
  EXPECT_FALSE(store_->PutIfAbsent(Path(std::string(300, 'x')), Bytes("1")).ok());
  EXPECT_EQ(KindOf(store_->Get("relative").status()), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(store_->Get(std::string("/a\0b", 4)).status()), ErrorKind::kInvalidArgument);
}

// A limit on file sizes stands for a full disk.
TEST_F(LocalStoreTest, AFullDiskLeavesNoObject) {
  Must(store_->Put(Path("d/seed"), Bytes("1")));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 2 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto stream = Must(store_->OpenWrite(Path("d/big")));
  const std::string megabyte(1 << 20, 'x');
  Status written;
  for (int i = 0; i < 5 && written.ok(); ++i) written = stream->Write(megabyte.data(), 1 << 20);
  const Status closed = stream->Close();
  const auto put = store_->PutIfAbsent(Path("d/v1"), Bytes(std::string(3 << 20, 'x')));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(written.message(), HasSubstr("cannot write: File too large"));
  EXPECT_EQ(closed.message(), written.message());
  EXPECT_EQ(KindOf(put.status()), ErrorKind::kIo);
  EXPECT_EQ(Keys(*store_, Path("d/")), (std::vector<std::string>{Path("d/seed")}));
}

TEST_F(LocalStoreTest, NewFoldersAreMadeByManyAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string key = Path("a/b/c/d/e/" + std::to_string(i));
      TL_EXPECT_OK(store_->Put(key, Bytes("x")).status());
      TL_EXPECT_OK(store_->Sync({key}));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Keys(*store_, Path("a/")).size(), 8u);
}

}  // namespace
}  // namespace timelake::store
