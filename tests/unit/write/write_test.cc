#include "unit/write/write_testing.h"

namespace timelake::write {
namespace {

TEST(WriteData, SortsSplitsAndKeepsTheLastOfEqualRows) {
  const table::Env env = TestEnv();
  const Target target = TargetOf({});
  const auto batch = BatchOf(
      {{"device", FromJson(arrow::utf8(), R"(["b", "a", null, "a", "a"])")},
       {"time", FromJson(Micros(), R"(["2026-01-01T00:00:01", "2026-01-02T00:00:00",
           "2026-01-01T00:00:00", "2026-01-01T05:00:00", "2026-01-02T00:00:00"])")},
       {"v", FromJson(arrow::float64(), "[1, 2, 3, 4, 5]")}});
  const Written written = Unwrapped(WriteBatches(env, target, {batch}));
  EXPECT_EQ(written.rows_in, 5);
  EXPECT_EQ(written.rows, 4);
  EXPECT_EQ(written.duplicates, 1);
  ASSERT_EQ(written.files.size(), 2u);
  EXPECT_EQ(written.files[0].partition, std::vector<iceberg::Value>{int32_t{20454}});
  EXPECT_NE(written.files[0].file_path.find("memory://wh/ns/t/data/time_day=2026-01-01/"),
            std::string::npos);
  EXPECT_EQ(written.files[0].sort_order_id, 1);
  EXPECT_EQ(TextRows(*ReadAll(env, written)),
            (std::vector<std::string>{
                "2026-01-01 00:00:00.000000Z|null|3|", "2026-01-01 05:00:00.000000Z|a|4|",
                "2026-01-01 00:00:01.000000Z|b|1|", "2026-01-02 00:00:00.000000Z|a|5|"}));
  ASSERT_NE(written.newest, nullptr);
  EXPECT_EQ(written.newest->num_rows(), 3);
  EXPECT_TRUE(written.newest->schema()->Equals(*iceberg::ToArrow(target.schema), true));
}

}  // namespace
}  // namespace timelake::write
