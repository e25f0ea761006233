// O01: apache/iceberg 1680, duckdb-iceberg PR 1361, ClickHouse 119579, delta-io/delta PR 7151.
#include <fmt/format.h>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class Before1970 : public LakeTest, public testing::WithParamInterface<Chunk> {};

const int64_t kInstants[] = {-1, 0, -86400000000, -86400000001, -2678401000000, 1709251199000000};

TEST_P(Before1970, EqualityFindsEachRow) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.chunk = GetParam();
  Table table = Must(lake.CreateTable("t", kColumns, options));
  std::vector<Row> rows;
  for (int64_t us : kInstants) rows.push_back({us, "a", 1});
  TL_OK(table.Append(Batch(rows)).status());
  for (int64_t us : kInstants) {
    EXPECT_EQ(
        Ask(lake, fmt::format("SELECT count(*) FROM t WHERE time = make_timestamptz({})", us)), "1")
        << us;
    EXPECT_EQ(Ask(lake, fmt::format(
                            "SELECT epoch_us(time) FROM t WHERE time = make_timestamptz({})", us)),
              std::to_string(us));
  }
}

INSTANTIATE_TEST_SUITE_P(Chunks, Before1970,
                         testing::Values(Chunk::kHour, Chunk::kDay, Chunk::kMonth));

TEST_F(Before1970, DayLabelsFloor) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  std::vector<Row> rows;
  for (int64_t us : kInstants) rows.push_back({us, "a", 1});
  TL_OK(table.Append(Batch(rows)).status());
  for (const char* label : {"1969-12-31", "1970-01-01", "1969-12-30", "1969-11-30", "2024-02-29"}) {
    EXPECT_TRUE(
        std::filesystem::is_directory(Folder("t") / "data" / fmt::format("time_day={}", label)))
        << label;
  }
}

}  // namespace
}  // namespace timelake::regress
