// Requests are the currency of an object store: an ordinary append of a warm handle is data,
// manifest, list, index, metadata and hint, and no read, look or listing.
#include <map>
#include <mutex>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class WarmAppend : public LakeTest {};

TEST_F(WarmAppend, IsSixWritesAndNoRead) {
  std::mutex mutex;
  std::map<std::string, int64_t> counts;
  LakeOptions options;
  options.observer = std::make_shared<Observer>();
  options.observer->metric = [&](const char* name, int64_t value) {
    std::lock_guard lock(mutex);
    counts[name] += value;
  };
  Lake lake = OpenLake(options);
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int64_t i = 0; i < 6; ++i) {
    if (i >= 2) counts.clear();
    TL_OK(table.Append(Batch({{i, "a", 1.0}, {i, "b", 2.0}})).status());
    if (i < 2) continue;  // the first meets the hint and an index that it did not write
    EXPECT_EQ(counts["store.open_write"], 1) << i;  // data
    EXPECT_EQ(counts["store.put"], 3) << i;         // manifest, list, index
    EXPECT_EQ(counts["store.put_if_absent"], 1) << i;
    EXPECT_EQ(counts["store.put_if_match"], 1) << i;
    for (const char* read :
         {"store.get", "store.head", "store.list", "store.open_read", "store.delete"}) {
      EXPECT_EQ(counts[read], 0) << read << " at " << i;
    }
  }
}

// The manifests of appends are merged now and then: the process wrote them itself.
TEST_F(WarmAppend, NorWhenManifestsAreMerged) {
  std::mutex mutex;
  std::map<std::string, int64_t> counts;
  LakeOptions options;
  options.observer = std::make_shared<Observer>();
  options.observer->metric = [&](const char* name, int64_t value) {
    std::lock_guard lock(mutex);
    counts[name] += value;
  };
  Lake lake = OpenLake(options);
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  int64_t merged = 0;
  for (int64_t i = 0; i < 30; ++i) {
    if (i >= 2) counts.clear();
    TL_OK(table.Append(Batch({{i, "a", 1.0}, {i, "b", 2.0}})).status());
    if (i < 2) continue;
    merged += counts["store.put"] == 4;
    for (const char* read : {"store.get", "store.head", "store.list", "store.open_read"}) {
      EXPECT_EQ(counts[read], 0) << read << " at " << i;
    }
  }
  EXPECT_GT(merged, 2);
  const std::string sql = "SELECT count(*)::VARCHAR || ' ' || sum(v)::VARCHAR FROM t";
  EXPECT_EQ(Ask(lake, sql), "60 90.0");
  // By who has nothing in memory.
  EXPECT_EQ(Ask(OpenLake({}), sql), "60 90.0");
}

TEST_F(WarmAppend, AWarmQueryAsksOnceForANewerVersion) {
  std::mutex mutex;
  std::map<std::string, int64_t> counts;
  LakeOptions options;
  options.observer = std::make_shared<Observer>();
  options.observer->metric = [&](const char* name, int64_t value) {
    std::lock_guard lock(mutex);
    counts[name] += value;
  };
  Lake lake = OpenLake(options);
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{1, "a", 1.0}})).status());
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "1");
  counts.clear();
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "1");
  EXPECT_EQ(counts["store.get"], 1);
  EXPECT_EQ(counts["store.list"], 0);
  EXPECT_EQ(counts["store.head"], 0);
}

}  // namespace
}  // namespace timelake::regress
