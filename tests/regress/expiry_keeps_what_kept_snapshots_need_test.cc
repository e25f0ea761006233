// O07: apache/iceberg 10982, 2131, 8410. O08: apache/iceberg 13568, PR 8224, PR 4578,
// seaweedfs/seaweedfs PR 10774. A snapshot in the middle expires, others hold on to its files.
#include <filesystem>

#include "iceberg/metadata.h"
#include "regress/lake_fixture.h"
#include "table/rewrite.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

class Expiry : public LakeTest {
 protected:
  void SetUp() override {
    LakeTest::SetUp();
    lake_.emplace(OpenLake());
    TableOptions options = Readings();
    options.properties = {{"auto-maintain", "false"},
                          {"snapshot-retention", "0s"},
                          {"min-snapshots", "1"},
                          {"metadata-min-age", "200ms"},
                          {"delete-min-age", "200ms"}};
    table_.emplace(Must(lake_->CreateTable("t", kColumns, options)));
    handle_ = Must(lake_->impl()->catalog->Open({"default", "t"}));
  }

  std::string OnlyFile() {
    const auto files = Must(table_->Files());
    EXPECT_EQ(files.size(), 1u);
    return files.at(0).path.substr(7);
  }

  int64_t Head() { return Must(table_->Snapshots()).back().snapshot_id; }

  // A snapshot that removes all files.
  void RemoveAll() {
    Must(table::CommitRewrite(
        *handle_, [&](const table::Version&, int64_t) -> Result<std::optional<table::Rewrite>> {
          table::Rewrite rewrite;
          rewrite.operation = "delete";
          rewrite.removed = {"file://" + OnlyFile()};
          return rewrite;
        }));
  }

  // The next version, as an engine that tags snapshots would write it.
  void ChangeRefs(const std::function<void(iceberg::TableMetadata*)>& change) {
    Must(table_->Refresh());
    const table::Version known = handle_->known();
    iceberg::TableMetadata metadata = *known.metadata;
    change(&metadata);
    metadata.properties["timelake.commit-id"] = "by hand " + std::to_string(known.number);
    const auto store = store::MakeLocalStore();
    const auto reply =
        Must(store->PutIfAbsent(handle_->VersionKey(known.number + 1),
                                arrow::Buffer::FromString(iceberg::WriteMetadata(metadata))));
    ASSERT_EQ(reply.outcome, store::PutOutcome::kCreated);
  }

  // Runs of maintenance until a file is gone, or a few for one that must stay.
  void MaintainUntilGone(const std::string& path) {
    MaintainOptions only;
    only.compact = only.retention = false;
    for (int run = 0; run < 500 && std::filesystem::exists(path); ++run) {
      Must(Maintain(*table_, only));
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }

  std::string RowsAt(int64_t snapshot) {
    return Ask(*lake_, "SELECT count(*) FROM t AT (VERSION => " + std::to_string(snapshot) + ")");
  }

  std::optional<Lake> lake_;
  std::optional<Table> table_;
  std::shared_ptr<table::Handle> handle_;
};

TEST_F(Expiry, OfTheMiddleLeavesTheFilesOfATaggedSnapshot) {
  TL_OK(table_->Append(Batch({{1, "a", 1}, {2, "a", 2}})).status());
  const int64_t first = Head();
  const std::string a = OnlyFile();
  RemoveAll();
  const int64_t second = Head();
  EXPECT_EQ(Ask(*lake_, "SELECT count(*) FROM t"), "0");
  TL_OK(table_->Append(Batch({{3, "b", 3}})).status());
  const std::string b = OnlyFile();
  ChangeRefs([&](iceberg::TableMetadata* metadata) {
    iceberg::SnapshotRef tag;
    tag.snapshot_id = first;
    tag.type = "tag";
    metadata->refs["keep"] = tag;
  });
  // Garbage that may go shows when all that could has gone: the manifest list of the second.
  std::string list;
  for (const auto& snapshot : handle_->known().metadata->snapshots) {
    if (snapshot.snapshot_id == second) list = snapshot.manifest_list.substr(7);
  }
  ASSERT_TRUE(std::filesystem::exists(list));
  MaintainUntilGone(list);
  EXPECT_EQ(Must(table_->Snapshots()).size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(a));
  EXPECT_EQ(RowsAt(first), "2");
  EXPECT_EQ(Ask(*lake_, "SELECT count(*) FROM t"), "1");
  EXPECT_EQ(handle_->known().metadata->refs.count("keep"), 1u);
  EXPECT_TRUE(Must(Verify(*table_)).findings.empty());
  // Without the tag the first goes, too.
  ChangeRefs([](iceberg::TableMetadata* metadata) { metadata->refs.erase("keep"); });
  MaintainUntilGone(a);
  EXPECT_EQ(Must(table_->Snapshots()).size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(b));
  EXPECT_EQ(Ask(*lake_, "SELECT sum(v) FROM t"), "3");
  EXPECT_TRUE(Must(Verify(*table_)).findings.empty());
}

// O08: the tagged snapshot holds the files that a compaction has replaced.
TEST_F(Expiry, AfterACompactionLeavesTheInputsOfATaggedSnapshot) {
  TL_OK(table_->Append(Batch({{1, "a", 1}})).status());
  TL_OK(table_->Append(Batch({{2, "a", 2}})).status());
  const int64_t tagged = Head();
  const auto inputs = Must(table_->Files());
  ASSERT_EQ(inputs.size(), 2u);
  for (const char* type : {"tag", "branch"}) {
    ChangeRefs([&](iceberg::TableMetadata* metadata) {
      iceberg::SnapshotRef ref;
      ref.snapshot_id = tagged;
      ref.type = type;
      metadata->refs[type] = ref;
    });
  }
  MaintainOptions compact;
  compact.expire = false;
  EXPECT_EQ(Must(Maintain(*table_, compact)).files_rewritten, 2);
  TL_OK(table_->Append(Batch({{3, "b", 3}})).status());
  std::string list;
  for (const auto& snapshot : handle_->known().metadata->snapshots) {
    if (snapshot.operation() == "replace") list = snapshot.manifest_list.substr(7);
  }
  MaintainUntilGone(list);
  for (const FileInfo& file : inputs) {
    EXPECT_TRUE(std::filesystem::exists(file.path.substr(7))) << file.path;
  }
  EXPECT_EQ(RowsAt(tagged), "2");
  EXPECT_EQ(Ask(*lake_, "SELECT count(*) FROM t"), "3");
  ChangeRefs([](iceberg::TableMetadata* metadata) {
    metadata->refs.erase("tag");
    metadata->refs.erase("branch");
  });
  for (const FileInfo& file : inputs) MaintainUntilGone(file.path.substr(7));
  EXPECT_EQ(Ask(*lake_, "SELECT sum(v) FROM t"), "6");
}

}  // namespace
}  // namespace timelake::regress
