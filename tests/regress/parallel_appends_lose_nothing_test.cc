// O06: apache/iceberg 970, PR 754, delta-io/delta-rs 3066, Altinity/ice 158.
#include <set>
#include <thread>

#include <fmt/format.h>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

constexpr int kThreads = 8;
constexpr int kAppends = 25;
constexpr int kRows = 10;

class ParallelAppends : public LakeTest {
 protected:
  void Run(bool one_handle) {
    Lake lake = OpenLake();
    Table shared = Must(lake.CreateTable("t", kColumns, Readings()));
    TL_OK(shared.SetProperties({{"max-snapshots", "1000"}}));
    std::vector<std::thread> threads;
    std::vector<std::string> errors(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Table table = one_handle ? shared : Must(OpenLake().OpenTable("t"));
        for (int i = 0; i < kAppends; ++i) {
          std::vector<Row> rows;
          for (int r = 0; r < kRows; ++r) {
            rows.push_back({1'000'000LL * (i * kRows + r), fmt::format("d{}", t), 1.0 * r});
          }
          AppendOptions options;
          options.batch_id = fmt::format("{}/{}", t, i);
          auto result = table.Append(Batch(rows), options);
          if (!result.ok()) errors[t] = result.status().ToString();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors) EXPECT_EQ(error, "");
    Check();
  }

  void Check() {
    Lake fresh = OpenLake();
    Table table = Must(fresh.OpenTable("t"));
    const auto snapshots = Must(table.Snapshots());
    EXPECT_EQ(snapshots.size(), static_cast<size_t>(kThreads * kAppends));
    std::set<std::string> ids;
    for (const auto& snapshot : snapshots) {
      EXPECT_EQ(snapshot.operation, "append");
      ids.insert(snapshot.summary.at("timelake.batch-id"));
    }
    EXPECT_EQ(ids.size(), snapshots.size());
    EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), std::to_string(kThreads * kAppends * kRows));
    for (int64_t v = 1; v <= table.version(); ++v) {
      EXPECT_TRUE(
          std::filesystem::exists(Folder("t") / fmt::format("metadata/v{}.metadata.json", v)));
    }
    EXPECT_EQ(table.version(), kThreads * kAppends + 2);
    EXPECT_EQ(Must(table.Latest())->num_rows(), kThreads);
  }
};

TEST_F(ParallelAppends, ThroughOneHandle) { Run(true); }
TEST_F(ParallelAppends, ThroughEightHandles) { Run(false); }

}  // namespace
}  // namespace timelake::regress
