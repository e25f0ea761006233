// How long a reader takes a version for the newest.
#include <gtest/gtest.h>

#include "store/memory_store.h"
#include "table/catalog.h"
#include "table/changes.h"
#include "table/load.h"

namespace timelake::table {
namespace {

class ManualClock : public Clock {
 public:
  int64_t NowMicros() override { return 1'767'225'600'000'000 + now; }
  int64_t BootMicros() override { return 1'000'000'000 + now; }
  void SleepMicros(int64_t micros) override { now += micros; }
  int64_t now = 0;
};

constexpr int64_t kSecond = 1'000'000;

class VersionCheck : public testing::Test {
 protected:
  void SetUp() override {
    clock_ = std::make_shared<ManualClock>();
    store_ = std::make_shared<store::MemoryStore>(clock_);
    Env env = MakeEnv(store_);
    env.clock = clock_;
    writer_ = std::make_unique<Catalog>(env, "wh", SettingMap());
    iceberg::Schema schema;
    iceberg::Field field;
    field.id = 1;
    field.name = "v";
    field.type.id = iceberg::TypeId::kLong;
    schema.fields = {field};
    auto created = writer_->Create(kName, schema, TableOptions());
    ASSERT_TRUE(created.ok()) << created.status();
    table_ = *created;
  }
  Catalog Reader(SettingMap session) {
    Env env = MakeEnv(store_);
    env.clock = clock_;
    return Catalog(env, "wh", std::move(session));
  }
  void Commit(const std::string& name = "a.b", const std::string& value = "x") {
    const auto status = CommitProperties(*table_, {{name, value}}).status();
    ASSERT_TRUE(status.ok()) << status;
  }
  int64_t Seen(Catalog* reader, Catalog::For use = Catalog::For::kReading) {
    auto handle = reader->Open(kName, use);
    EXPECT_TRUE(handle.ok()) << handle.status();
    return handle.ok() ? (*handle)->known().number : -1;
  }

  static inline const TableName kName{"default", "t"};
  std::shared_ptr<ManualClock> clock_;
  std::shared_ptr<store::MemoryStore> store_;
  std::unique_ptr<Catalog> writer_;
  std::shared_ptr<Handle> table_;
};

TEST_F(VersionCheck, WithoutASettingALocalStoreIsAlwaysAsked) {
  Catalog reader = Reader({});
  EXPECT_EQ(Seen(&reader), 1);
  Commit();
  EXPECT_EQ(Seen(&reader), 2);
}

TEST_F(VersionCheck, OnceInTheIntervalAndWritersAlways) {
  Catalog reader = Reader({{"version-check-interval", "10s"}});
  EXPECT_EQ(Seen(&reader), 1);
  Commit();
  clock_->now += 9 * kSecond;
  EXPECT_EQ(Seen(&reader), 1);
  clock_->now += kSecond;
  EXPECT_EQ(Seen(&reader), 2);
  Commit("a.b", "y");
  EXPECT_EQ(Seen(&reader), 2);
  EXPECT_EQ(Seen(&reader, Catalog::For::kWriting), 3);
  EXPECT_EQ(Seen(&reader), 3);
}

TEST_F(VersionCheck, TheTableMaySayIt) {
  Commit("version-check-interval", "1m");
  Catalog reader = Reader({}), other = Reader({{"version-check-interval", "0s"}});
  EXPECT_EQ(Seen(&reader), 2);
  EXPECT_EQ(Seen(&other), 2);
  Commit();
  EXPECT_EQ(Seen(&reader), 2);
  EXPECT_EQ(Seen(&other), 3);  // the session comes first
}

// Its files may go after the age: a version must not be taken for the newest for so long.
TEST_F(VersionCheck, NeverLongerThanHalfTheAge) {
  Commit("metadata-min-age", "20s");
  Catalog reader = Reader({{"version-check-interval", "1h"}});
  EXPECT_EQ(Seen(&reader), 2);
  Commit();
  clock_->now += 10 * kSecond;
  EXPECT_EQ(Seen(&reader), 3);
}

// One's own commit is the newest that is known.
TEST_F(VersionCheck, OwnCommitsAreSeenAtOnce) {
  Catalog reader = Reader({{"version-check-interval", "1h"}});
  EXPECT_EQ(Seen(&reader), 1);
  auto handle = *reader.Open(kName, Catalog::For::kReading);
  ASSERT_TRUE(CommitProperties(*handle, {{"a.b", "y"}}).ok());
  EXPECT_EQ(Seen(&reader), 2);
}

TEST_F(VersionCheck, ADroppedTableIsMissedInTheEnd) {
  Catalog reader = Reader({{"version-check-interval", "10s"}});
  EXPECT_EQ(Seen(&reader), 1);
  ASSERT_TRUE(writer_->Drop(kName, false, false).ok());
  EXPECT_EQ(Seen(&reader), 1);
  clock_->now += 10 * kSecond;
  EXPECT_FALSE(reader.Open(kName, Catalog::For::kReading).ok());
}

}  // namespace
}  // namespace timelake::table
