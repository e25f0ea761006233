// Rows that a process has just written are merged from memory: what comes out is what a process
// that reads the files makes of them, also when columns have changed since, or rows are deleted.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class RecentRows : public LakeTest {
 protected:
  Lake Watched() {
    LakeOptions options;
    options.observer = std::make_shared<Observer>();
    options.observer->metric = [this](const char* name, int64_t value) {
      const std::lock_guard lock(mutex_);
      counts_[name] += value;
    };
    return OpenLake(options);
  }

  int64_t Reads() {
    const std::lock_guard lock(mutex_);
    return std::exchange(counts_["store.open_read"], 0);
  }

  MaintainReport Compact(Table* table) {
    MaintainOptions options;
    options.expire = options.orphans = options.manifests = false;
    return Must(Maintain(*table, options));
  }

  std::mutex mutex_;
  std::map<std::string, int64_t> counts_;
};

constexpr char kAll[] =
    "SELECT string_agg(concat_ws(' ', epoch_us(time), device, v), ',' ORDER BY time, device) "
    "FROM t";

// In the order of the table, which would be the caller's own memory, and in another one.
TEST_F(RecentRows, AreNotReadAgain) {
  Lake lake = Watched();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int64_t i = 0; i < 12; ++i) {
    std::vector<Row> rows = {{i, "a", 0.5}, {i + 100, "a", -0.0}, {i, "b", 2.0}, {7, "c", 1.0 * i}};
    if (i % 2 != 0) std::reverse(rows.begin(), rows.end());
    auto batch = Batch(rows);
    TL_OK(table.Append(batch).status());
  }
  const std::string before = Ask(OpenLake(), kAll);
  (void)Reads();
  EXPECT_GT(Compact(&table).files_rewritten, 1);
  EXPECT_EQ(Reads(), 0);
  EXPECT_EQ(Ask(OpenLake(), kAll), before);
}

// The caller may write over its memory once an append has come back.
TEST_F(RecentRows, AreNotTheCallersMemory) {
  Lake lake = Watched();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int64_t i = 0; i < 9; ++i) {
    batches.push_back(Batch({{i, "a", 0.5}, {i + 20, "a", 1.5}, {i, "b", 2.5}}));
    TL_OK(table.Append(batches.back()).status());
  }
  const std::string before = Ask(OpenLake(), kAll);
  for (const auto& batch : batches) {
    for (const auto& column : batch->columns()) {
      for (const auto& buffer : column->data()->buffers) {
        if (buffer != nullptr) memset(const_cast<uint8_t*>(buffer->data()), 0, buffer->size());
      }
    }
  }
  EXPECT_GT(Compact(&table).files_rewritten, 1);
  EXPECT_EQ(Reads(), 0);
  EXPECT_EQ(Ask(OpenLake(), kAll), before);
}

TEST_F(RecentRows, OfOtherColumnsAreRead) {
  Lake lake = Watched();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  const auto append = [&](int64_t first) {
    for (int64_t i = first; i < first + 6; ++i) {
      TL_OK(table.Append(Batch({{i, "a", 0.5}, {i, "b", 2.0}})).status());
    }
  };
  append(0);
  {
    Session session = Must(Session::Open(lake));
    for (const char* sql : {"ALTER TABLE t ADD COLUMN more BIGINT", "ALTER TABLE t RENAME v TO w",
                            "ALTER TABLE t ADD COLUMN v DOUBLE"}) {
      TL_OK(Must(session.Sql(sql))->ToTable().status());
    }
  }
  append(6);
  const std::string all =
      "SELECT string_agg(concat_ws(' ', epoch_us(time), device, coalesce(w, -1), coalesce(v, -1), "
      "coalesce(more, -1)), ',' ORDER BY time, device) FROM t";
  const std::string before = Ask(OpenLake(), all);
  (void)Reads();
  EXPECT_GT(Compact(&table).files_rewritten, 1);
  EXPECT_GT(Reads(), 0);
  EXPECT_EQ(Ask(OpenLake(), all), before);
}

TEST_F(RecentRows, ThatAreDeletedStayDeleted) {
  Lake lake = Watched();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int64_t i = 0; i < 9; ++i) {
    TL_OK(table.Append(Batch({{i, "a", 0.5}, {i, "b", 2.0}})).status());
  }
  {
    Session session = Must(Session::Open(lake));
    TL_OK(Must(session.Sql("DELETE FROM t WHERE device = 'a' AND time < to_timestamp(0.000004)"))
              ->ToTable()
              .status());
  }
  const std::string before = Ask(OpenLake(), kAll);
  Compact(&table);
  EXPECT_EQ(Ask(OpenLake(), kAll), before);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*)::VARCHAR FROM t"), "14");
}

}  // namespace
}  // namespace timelake::regress
