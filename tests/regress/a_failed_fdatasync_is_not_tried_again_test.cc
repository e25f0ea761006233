// A disk that fails to write forgets what it was: the second fdatasync succeeds, and the rows are
// gone. So the first error ends the append.
#include "regress/lake_fixture.h"
#include "store/forwarding_store.h"

namespace timelake::regress {
namespace {

class FailingOnce : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status Sync(const std::vector<std::string>& keys) override {
    if (std::exchange(fail, false)) return IoError("{}: cannot fdatasync", keys.front());
    return ForwardingStore::Sync(keys);
  }
  bool fail = false;
};

class FailedSync : public LakeTest {};

TEST_F(FailedSync, EndsTheAppend) {
  const auto disk = std::make_shared<FailingOnce>(store::MakeLocalStore());
  Lake lake = LakeOver(disk);
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{1, "a", 1.0}})).status());
  disk->fail = true;
  const auto appended = table.Append(Batch({{2, "a", 2.0}}));
  ASSERT_FALSE(appended.ok());
  EXPECT_NE(appended.status().message().find("cannot fdatasync"), std::string::npos);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*)::VARCHAR FROM t"), "1");
  TL_OK(table.Append(Batch({{2, "a", 2.0}})).status());
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*)::VARCHAR FROM t"), "2");
}

}  // namespace
}  // namespace timelake::regress
