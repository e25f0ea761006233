// The peer's worst fault: a handle that is behind by more than the kept metadata files commits to a
// freed version number; the append is acknowledged and lost, and readers stay on the old version.
#include <fstream>

#include <fmt/format.h>

#include "maintain/expiry.h"
#include "maintain/free_versions.h"
#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class StaleHandle : public LakeTest, public testing::WithParamInterface<int> {
 protected:
  // Expires and frees until nothing is due; a run ends when its listing is older than half the age.
  int64_t FreeAll(table::Handle& handle) {
    EXPECT_TRUE(maintain::RunExpiry(handle).ok());
    SystemClock()->SleepMicros(110'000);  // older than the age
    int64_t freed = 0;
    for (int round = 0; round < 100; ++round) {
      const int64_t versions = Must(maintain::RunFree(handle)).versions;
      if (versions == 0) break;
      freed += versions;
    }
    return freed;
  }

  int64_t Hint() {
    int64_t number = 0;
    std::ifstream(Folder("t") / "metadata/version-hint.text") >> number;
    return number;
  }
};

TEST_P(StaleHandle, AppendsAndReadsTheNewest) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"auto-maintain", "false"},
                        {"snapshot-retention", "1ms"},
                        {"min-snapshots", "1"},
                        {"max-snapshots", "10"},
                        {"metadata-min-age", "100ms"},
                        {"delete-min-age", "100ms"}};
  Table busy = Must(lake.CreateTable("t", kColumns, options));
  TL_OK(busy.Append(Batch({{0, "first", 0}})).status());
  Lake idle_lake = OpenLake();
  Table idle = Must(idle_lake.OpenTable("t"));
  EXPECT_EQ(Ask(idle_lake, "SELECT count(*) FROM t"), "1");

  const int behind = GetParam();
  auto handle = Must(lake.impl()->catalog->Open({"default", "t"}));
  int64_t hint = 0, freed = 0;
  for (int i = 1; i <= behind; ++i) {
    TL_OK(busy.Append(Batch({{1000LL * i, "busy", 1.0 * i}})).status());
    if (i % 100 == 0 || i == behind) freed += FreeAll(*handle);
    EXPECT_GE(Hint(), hint);
    hint = Hint();
  }
  EXPECT_GT(freed, behind);
  EXPECT_FALSE(std::filesystem::exists(Folder("t") / "metadata/v3.metadata.json"));

  EXPECT_EQ(Ask(idle_lake, "SELECT count(*) FROM t"), std::to_string(behind + 1));
  // A second stale handle appends without having read first.
  auto appended = Must(idle.Append(Batch({{1, "late", 7}})));
  EXPECT_GT(appended.version, behind);
  EXPECT_GE(Hint(), hint);
  Lake fresh = OpenLake();
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), std::to_string(behind + 2));
  EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t WHERE device = 'late'"), "1");
  EXPECT_EQ(Must(Must(fresh.OpenTable("t")).Latest())->num_rows(), 3);
}

class StaleWriter : public StaleHandle {};

TEST_P(StaleWriter, AppendsWithoutReading) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"auto-maintain", "false"},
                        {"snapshot-retention", "1ms"},
                        {"min-snapshots", "1"},
                        {"metadata-min-age", "100ms"},
                        {"delete-min-age", "100ms"}};
  Table busy = Must(lake.CreateTable("t", kColumns, options));
  TL_OK(busy.Append(Batch({{0, "first", 0}})).status());
  Lake idle_lake = OpenLake();
  Table idle = Must(idle_lake.OpenTable("t"));
  const int behind = GetParam();
  for (int i = 1; i <= behind; ++i) {
    TL_OK(busy.Append(Batch({{1000LL * i, "busy", 1.0 * i}})).status());
  }
  auto handle = Must(lake.impl()->catalog->Open({"default", "t"}));
  EXPECT_GT(FreeAll(*handle), behind);
  const int64_t hint = Hint();
  TL_OK(idle.Append(Batch({{1, "late", 7}})).status());
  TL_OK(idle.Append(Batch({{2, "late", 8}})).status());
  EXPECT_EQ(Hint(), hint + 2);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t"), std::to_string(behind + 3));
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t WHERE device = 'late'"), "2");
}

INSTANTIATE_TEST_SUITE_P(CommitsBehind, StaleHandle, testing::Values(15, 40, 80, 160, 400));
INSTANTIATE_TEST_SUITE_P(CommitsBehind, StaleWriter, testing::Values(15, 40, 160));

}  // namespace
}  // namespace timelake::regress
