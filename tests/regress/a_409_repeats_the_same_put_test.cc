// O04: arrow-rs-object-store PR 852, apache/opendal 6741, apache/arrow-rs 4777.
#include <fstream>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

using store::Fault;
using store::FaultAction;
using store::Op;
using store::OpKind;

class Answer409 : public LakeTest {};

TEST_F(Answer409, IsRepeatedWithoutReload) {
  TL_OK(OpenLake().CreateTable("t", kColumns, Readings()).status());
  int puts = 0, listings = 0;
  store::FaultHooks hooks;
  hooks.before = [&](const Op& op) {
    if (op.kind == OpKind::kList) ++listings;
    const bool put = op.kind == OpKind::kPutIfAbsent && op.key.ends_with("/v2.metadata.json");
    return put && ++puts == 1 ? Fault{FaultAction::kRepeat409} : Fault{};
  };
  Lake lake = LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  Table table = Must(lake.OpenTable("t"));
  const int before = listings;
  auto result = Must(table.Append(Batch({{1, "a", 1}})));
  EXPECT_EQ(result.version, 2);
  EXPECT_LE(puts, 2);
  EXPECT_EQ(listings, before);
  EXPECT_EQ(Must(table.Snapshots()).size(), 1u);
}

TEST_F(Answer409, A412ByAForeignVersionIsRebased) {
  TL_OK(OpenLake().CreateTable("t", kColumns, Readings()).status());
  int data_files = 0;
  bool foreign = false;
  store::FaultHooks hooks;
  hooks.before = [&](const Op& op) {
    if (op.kind == OpKind::kOpenWrite && op.key.find("/data/") != std::string::npos) ++data_files;
    if (op.kind == OpKind::kPutIfAbsent && op.key.ends_with("/v2.metadata.json") && !foreign) {
      foreign = true;  // another process commits v2 at this very moment
      Lake other = OpenLake();
      EXPECT_TRUE(Must(other.OpenTable("t")).Append(Batch({{9, "z", 9}})).ok());
    }
    return Fault{};
  };
  Lake lake = LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  auto result = Must(Must(lake.OpenTable("t")).Append(Batch({{1, "a", 1}})));
  EXPECT_EQ(result.version, 3);
  EXPECT_EQ(result.attempts, 2);
  EXPECT_EQ(data_files, 1);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t"), "2");
}

}  // namespace
}  // namespace timelake::regress
