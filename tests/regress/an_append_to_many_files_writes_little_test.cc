// What an append writes does not grow with the number of files in the table: its manifests are
// merged with few others.
#include <atomic>

#include <fmt/format.h>

#include "regress/lake_fixture.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

constexpr int64_t kHour = 3'600'000'000;
constexpr int64_t kJanuary = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z
constexpr int64_t kFiles = 1500;
constexpr int kAppends = 80;

class ManyFiles : public LakeTest {
 protected:
  // Bytes of manifests that appends write to a table of so many files, an hour each.
  int64_t BytesOfManifests(int64_t files) {
    std::atomic<int64_t> bytes = 0;
    store::FaultHooks hooks;
    hooks.observe = [&](const store::Op& op, const std::shared_ptr<arrow::Buffer>& object) {
      if (object != nullptr && op.key.ends_with("-m.avro")) bytes += object->size();
    };
    const auto disk = store::MakeMemoryStore(SystemClock());
    Lake lake = LakeOver(store::MakeFaultStore(disk, hooks));
    TableOptions options = Readings();
    options.chunk = Chunk::kHour;
    Table table = Must(lake.CreateTable("t", kColumns, options));
    std::vector<Row> rows;
    for (int64_t i = 1; i <= files; ++i) rows.push_back({kJanuary - i * kHour, "a", 1.0});
    EXPECT_EQ(Must(table.Append(Batch(rows))).files, files);
    bytes = 0;
    for (int i = 0; i < kAppends; ++i) {
      Succeeds(table.Append(Batch({{kJanuary + i, "a", 1.0}})).status());
    }
    EXPECT_EQ(static_cast<int64_t>(Must(table.Files()).size()), files + kAppends);
    EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), std::to_string(files + kAppends));
    EXPECT_TRUE(Must(Verify(table, {})).findings.empty());
    return bytes;
  }

  static void Succeeds(const arrow::Status& status) { EXPECT_TRUE(status.ok()) << status; }
};

TEST_F(ManyFiles, CostAnAppendNothing) {
  const int64_t few = BytesOfManifests(1);
  const int64_t many = BytesOfManifests(kFiles);
  EXPECT_LT(static_cast<double>(many), 1.2 * static_cast<double>(few)) << few << ", " << many;
}

}  // namespace
}  // namespace timelake::regress
