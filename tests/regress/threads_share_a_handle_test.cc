// Two threads of one process use the table through one handle: what one of them learns may stand in
// the handle before the other, slower one ends its call.
#include "regress/lake_fixture.h"
#include "table/hint.h"
#include "table/load.h"

namespace timelake::regress {
namespace {

using store::Op;
using store::OpKind;

class SharedHandle : public LakeTest {};

TEST_F(SharedHandle, TheSlowerOneDoesNotMoveTheHintBack) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 3; ++i) TL_OK(table.Append(Batch({{i, "a", 1}})).status());
  auto handle = Must(lake.impl()->catalog->Open({"default", "t"}));
  ASSERT_EQ(Must(table::ReadHint(*handle)).version, 4);
  table::MoveHint(*handle, 2);  // of a commit that was acknowledged two commits ago
  EXPECT_EQ(Must(table::ReadHint(*handle)).version, 4);
}

TEST_F(SharedHandle, TheSlowerOneDoesNotTakeTheNextTableForTheFirst) {
  Lake lake = OpenLake();
  TL_OK(lake.CreateTable("t", kColumns, Readings()).status());
  auto first = Must(table::LoadNewest(*Must(lake.impl()->catalog->Open({"default", "t"}))));
  TL_OK(lake.DropTable("t"));
  TL_OK(lake.CreateTable("t", kColumns, Readings()).status());

  // While a first load lists, another thread has seen the table that was there before.
  table::Handle* shared = nullptr;
  store::FaultHooks hooks;
  hooks.yield = [&](const Op& op, store::YieldPoint) {
    if (op.kind == OpKind::kList) shared->Learn(first);
  };
  const auto& env = lake.impl()->catalog->env();
  auto faulty = env;
  faulty.store = store::MakeFaultStore(env.store, hooks);
  const std::string folder = Must(lake.impl()->catalog->Open({"default", "t"}))->folder();
  table::Handle handle(faulty, "default.t", folder);
  shared = &handle;
  auto loaded = table::LoadNewest(handle);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.status().message().find("dropped or replaced"), std::string::npos);
  EXPECT_EQ(handle.known().metadata->table_uuid, first.metadata->table_uuid);
}

}  // namespace
}  // namespace timelake::regress
