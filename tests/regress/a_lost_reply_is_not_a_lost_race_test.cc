// O03: apache/iceberg 14583, delta-io/delta-rs 2279, earth-mover/icechunk 2099, ClickHouse 112081.
#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

using store::Fault;
using store::FaultAction;
using store::Op;
using store::OpKind;

class LostReply : public LakeTest {
 protected:
  // The reply to the first put of v2 is lost; with `deaf`, so is every read of v2 afterwards.
  Lake FaultyLake(bool deaf) {
    store::FaultHooks hooks;
    hooks.before = [this, deaf](const Op& op) {
      if (!op.key.ends_with("/v2.metadata.json")) return Fault{};
      if (op.kind == OpKind::kPutIfAbsent && !dropped_) {
        dropped_ = true;
        return Fault{FaultAction::kDropAfter};
      }
      if (dropped_ && deaf && (op.kind == OpKind::kGet || op.kind == OpKind::kHead)) {
        return Fault{FaultAction::kDropBefore};
      }
      return Fault{};
    };
    return LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  }
  bool dropped_ = false;
};

TEST_F(LostReply, OwnBytesAreRecognised) {
  TL_OK(OpenLake().CreateTable("t", kColumns, Readings()).status());
  Lake lake = FaultyLake(false);
  Table table = Must(lake.OpenTable("t"));
  auto result = Must(table.Append(Batch({{1, "a", 1}, {2, "a", 2}, {3, "b", 3}})));
  EXPECT_TRUE(dropped_);
  EXPECT_EQ(result.rows, 3);
  EXPECT_EQ(result.version, 2);
  EXPECT_FALSE(std::filesystem::exists(Folder("t") / "metadata/v3.metadata.json"));
  Lake fresh = OpenLake();
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), "3");
  EXPECT_EQ(Must(Must(fresh.OpenTable("t")).Snapshots()).size(), 1u);
}

TEST_F(LostReply, AnUnreadableOutcomeIsUnknownAndDeletesNothing) {
  TL_OK(OpenLake().CreateTable("t", kColumns, Readings()).status());
  Lake lake = FaultyLake(true);
  Table table = Must(lake.OpenTable("t"));
  AppendOptions options;
  options.batch_id = "b1";
  options.settings["commit-timeout"] = "200ms";
  auto result = table.Append(Batch({{1, "a", 1}, {2, "a", 2}, {3, "b", 3}}), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(KindOf(result.status()), ErrorKind::kCommitUnknown) << result.status().ToString();
  Lake fresh = OpenLake();
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), "3");
  auto again = Must(Must(fresh.OpenTable("t")).Append(Batch({{1, "a", 1}}), options));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.rows, 3);
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), "3");
}

}  // namespace
}  // namespace timelake::regress
