// O09: duckdb/duckdb 25521, ClickHouse 118112, apache/iceberg-python PR 3921.
#include <cmath>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class NanBounds : public LakeTest {};

std::shared_ptr<arrow::RecordBatch> Plain(const std::vector<std::optional<double>>& values) {
  arrow::Int32Builder a;
  arrow::DoubleBuilder b;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(a.Append(static_cast<int32_t>(i + 1)).ok());
    EXPECT_TRUE((values[i] ? b.Append(*values[i]) : b.AppendNull()).ok());
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::float64())}),
      static_cast<int64_t>(values.size()), {Must(a.Finish()), Must(b.Finish())});
}

TEST_F(NanBounds, NanSortsAboveEverything) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", "a:int, b:double", {}));
  TL_OK(table.Append(Plain({1.0, NAN, std::nullopt})).status());
  const std::pair<const char*, const char*> cases[] = {
      {"b<>1", "2"}, {"b>1", "2"}, {"b<=1", "1"}, {"b>5", "2"}, {"isnan(b)", "2"}};
  for (const auto& [filter, want] : cases) {
    EXPECT_EQ(Ask(lake, std::string("SELECT a FROM t WHERE ") + filter), want) << filter;
  }
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t WHERE b<1"), "0");
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t WHERE b>=1"), "2");
  EXPECT_EQ(Ask(lake, "SELECT isnan(max(b)) FROM t"), "true");
}

TEST_F(NanBounds, BothZerosEqualZero) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", "a:int, b:double", {}));
  TL_OK(table.Append(Plain({-0.0, 0.0})).status());
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t WHERE b = 0.0"), "2");
}

}  // namespace
}  // namespace timelake::regress
