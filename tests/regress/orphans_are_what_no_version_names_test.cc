// Orphan clean-up deletes what no version refers to and nothing else, in the folders of one table.
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "iceberg/metadata.h"
#include "regress/lake_fixture.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03T00:00:00Z
constexpr int64_t kHour = 3'600'000'000;

class HandClock : public Clock {
 public:
  int64_t NowMicros() override { return SystemClock()->NowMicros() + ahead; }
  int64_t BootMicros() override { return SystemClock()->BootMicros() + ahead; }
  void SleepMicros(int64_t micros) override { SystemClock()->SleepMicros(micros); }

  std::atomic<int64_t> ahead{0};
};

// Memory that spells its keys as a bucket does.
class Bucket : public store::MemoryStore {
 public:
  using store::MemoryStore::MemoryStore;
  std::string scheme() const override { return "s3"; }
};

class OrphanTest : public LakeTest {
 protected:
  void SetUp() override {
    LakeTest::SetUp();
    folder_of_test_ = root_;
    root_ = "bucket/wh";
    lake_.emplace(LakeOver(store_, clock_));
    for (const char* name : {"t", "t_2"}) {
      Table table = Must(lake_->CreateTable(name, kColumns, Readings()));
      for (int i = 0; i < 3; ++i) {
        TL_OK(table.Append(Batch({{kJanuary + i * kHour, "a", 1.0 * i}})).status());
      }
    }
    table_.emplace(Must(lake_->OpenTable("t")));
  }
  void TearDown() override {
    root_ = folder_of_test_;
    LakeTest::TearDown();
  }

  std::string Key(const std::string& name, const std::string& table = "t") const {
    return "bucket/wh/default/" + table + "/" + name;
  }
  void Put(const std::string& key) { Must(store_->Put(key, arrow::Buffer::FromString("garbage"))); }
  std::set<std::string> Keys() {
    std::set<std::string> keys;
    for (const auto& object : Must(store_->List("bucket/")).objects) keys.insert(object.key);
    return keys;
  }

  static MaintainOptions Only() {
    MaintainOptions options;
    options.compact = options.retention = options.expire = false;
    return options;
  }

  std::filesystem::path folder_of_test_;
  std::shared_ptr<HandClock> clock_ = std::make_shared<HandClock>();
  std::shared_ptr<Bucket> store_ = std::make_shared<Bucket>(clock_);
  std::optional<Lake> lake_;
  std::optional<Table> table_;
};

TEST_F(OrphanTest, GoOnceTheyAreOldEnough) {
  const auto in_use = Keys();
  const std::set<std::string> orphans = {Key("data/time_day=2026-01-03/x.parquet"),
                                         Key("data/y.parquet"), Key("metadata/x-m.avro"),
                                         Key("metadata/lvi-1-x.parquet")};
  for (const auto& key : orphans) Put(key);
  Put(Key("data/y.parquet", "t_2"));
  const auto all = Keys();
  MaintainReport report = Must(Maintain(*table_, Only()));
  EXPECT_EQ(report.orphans_deleted, 0);
  EXPECT_EQ(report.orphans_young, 4);
  EXPECT_EQ(Keys(), all);

  clock_->ahead = 73 * kHour;
  Put(Key("data/of-a-writer-at-work.parquet"));
  MaintainOptions dry = Only();
  dry.dry_run = true;
  report = Must(Maintain(*table_, dry));
  ASSERT_EQ(report.planned.size(), 1u);
  EXPECT_EQ(report.planned[0].task, "orphans");
  EXPECT_EQ(report.planned[0].files, 4);
  EXPECT_EQ(report.planned[0].bytes, 4 * 7);
  EXPECT_EQ(report.orphans_deleted, 0);

  report = Must(Maintain(*table_, Only()));
  EXPECT_EQ(report.orphans_deleted, 4);
  EXPECT_EQ(report.orphan_bytes, 4 * 7);
  EXPECT_EQ(report.orphans_young, 1);
  auto left = in_use;
  left.insert(Key("data/y.parquet", "t_2"));
  left.insert(Key("data/of-a-writer-at-work.parquet"));
  EXPECT_EQ(Keys(), left);
  EXPECT_EQ(Ask(*lake_, "SELECT count(*) FROM t"), "3");
  EXPECT_TRUE(Must(Verify(*table_)).findings.empty());
}

TEST_F(OrphanTest, ShortAgesTakeAnOrderOfTheirOwn) {
  Put(Key("data/y.parquet"));
  MaintainOptions options = Only();
  options.orphan_min_age = "23h";
  const Status refused = Maintain(*table_, options).status();
  EXPECT_EQ(KindOf(refused), ErrorKind::kInvalidArgument);
  for (const char* part : {"23h", "24h", "force"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();
  }
  options.orphan_min_age = "soon";
  EXPECT_EQ(KindOf(Maintain(*table_, options).status()), ErrorKind::kInvalidArgument);
  options.orphan_min_age = "0s";
  options.force = true;
  EXPECT_EQ(Must(Maintain(*table_, options)).orphans_deleted, 1);
  options.orphans = false;
  options.orphan_min_age = "1s";
  options.force = false;
  EXPECT_EQ(Must(Maintain(*table_, options)).orphans_deleted, 0);
}

// Versions that expiry has not freed yet are the memory of what it has to delete.
TEST_F(OrphanTest, AreNotWhatOlderVersionsRefTo) {
  Must(Maintain(*table_));  // merges
  TL_OK(table_->SetProperties({{"snapshot-retention", "0s"}, {"min-snapshots", "1"}}));
  MaintainOptions expire = Only();
  expire.expire = true;
  EXPECT_GT(Must(Maintain(*table_, expire)).snapshots_expired, 0);
  clock_->ahead = 100 * kHour;
  const auto before = Keys();
  const auto report = Must(Maintain(*table_, Only()));
  EXPECT_EQ(report.orphans_deleted, 0);
  EXPECT_EQ(Keys(), before);
}

TEST_F(OrphanTest, AreNotWhatIsSpeltInAnotherWay) {
  auto handle = Must(lake_->impl()->catalog->Open({"default", "t"}));
  Must(table_->Refresh());
  iceberg::TableMetadata metadata = *handle->known().metadata;
  const auto respell = [](std::string* uri) {
    ASSERT_TRUE(uri->starts_with("s3://")) << *uri;
    uri->replace(0, 5, "s3a://");
  };
  for (auto& snapshot : metadata.snapshots) {
    respell(&snapshot.manifest_list);
    respell(&snapshot.summary["timelake.last-value-index"]);
  }
  metadata.unknown["statistics"] =
      R"([{"snapshot-id": 1, "statistics-path": "s3a://bucket/wh/default/t/metadata/s.puffin"}])";
  metadata.properties["timelake.commit-id"] = "by hand";
  Must(store_->PutIfAbsent(handle->VersionKey(handle->known().number + 1),
                           arrow::Buffer::FromString(iceberg::WriteMetadata(metadata))));
  Put(Key("metadata/s.puffin"));
  // Only the newest version is there to say it.
  for (int64_t version = 1; version <= handle->known().number; ++version) {
    TL_OK(store_->Delete(handle->VersionKey(version)));
  }
  Put(Key("metadata/other.puffin"));
  clock_->ahead = 100 * kHour;
  auto left = Keys();
  left.erase(Key("metadata/other.puffin"));
  Table again = Must(LakeOver(store_, clock_).OpenTable("t"));
  EXPECT_EQ(Must(Maintain(again, Only())).orphans_deleted, 1);
  left.insert(Key("metadata/version-hint.text"));
  EXPECT_EQ(Keys(), left);
}

// A listing or metadata that cannot be read: nothing is deleted.
TEST_F(OrphanTest, NothingGoesWhenSomethingCannotBeRead) {
  for (int i = 0; i < 3; ++i) Put(Key(fmt::format("data/{}.parquet", i)));
  clock_->ahead = 100 * kHour;
  const auto before = Keys();
  for (const char* folder : {"t/data/", "t/metadata/"}) {
    store::FaultHooks hooks;
    hooks.before = [&](const store::Op& op) -> store::Fault {
      const bool lists = op.kind == store::OpKind::kList && op.key.ends_with(folder);
      return {lists ? store::FaultAction::kDropBefore : store::FaultAction::kNone};
    };
    Lake broken = LakeOver(store::MakeFaultStore(store_, hooks), clock_);
    Table table = Must(broken.OpenTable("t"));
    EXPECT_EQ(KindOf(Maintain(table, Only()).status()), ErrorKind::kIo) << folder;
    EXPECT_EQ(Keys(), before);
  }
  // A manifest of an earlier snapshot that is kept.
  std::string manifest;
  for (const auto& key : before) {
    if (key.starts_with(Key("metadata/")) && key.ends_with("-m.avro")) manifest = key;
  }
  TL_OK(store_->Delete(manifest));
  Table table = Must(LakeOver(store_, clock_).OpenTable("t"));
  const Status missing = Maintain(table, Only()).status();
  EXPECT_EQ(KindOf(missing), ErrorKind::kNotFound) << missing;
  EXPECT_NE(missing.message().find(manifest), std::string::npos) << missing.message();
  auto left = before;
  left.erase(manifest);
  EXPECT_EQ(Keys(), left);
}

}  // namespace
}  // namespace timelake::regress
