// O05: apache/iceberg 864, 12740, ClickHouse PR 114246, duckdb-iceberg 29, 731.
#include <fstream>
#include <optional>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class VersionHint : public LakeTest,
                    public testing::WithParamInterface<std::optional<std::string>> {};

TEST_P(VersionHint, OfAnyContentIsSurvivedAndRepaired) {
  {
    Lake lake = OpenLake();
    Table table = Must(lake.CreateTable("t", kColumns, Readings()));
    TL_OK(table.Append(Batch({{1, "a", 1}})).status());
    TL_OK(table.Append(Batch({{2, "a", 2}})).status());
  }
  const auto hint = Folder("t") / "metadata/version-hint.text";
  std::filesystem::remove(hint);
  if (GetParam()) std::ofstream(hint) << *GetParam();
  Lake lake = OpenLake();
  Table table = Must(lake.OpenTable("t"));
  EXPECT_EQ(table.version(), 3);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "2");
  EXPECT_EQ(Must(table.Append(Batch({{3, "a", 3}}))).version, 4);
  std::string text;
  std::getline(std::ifstream(hint), text);
  EXPECT_EQ(text, "4");
}

INSTANTIATE_TEST_SUITE_P(Contents, VersionHint,
                         testing::Values(std::optional<std::string>("1"), std::nullopt,
                                         std::optional<std::string>("3\n"),
                                         std::optional<std::string>("9"),
                                         std::optional<std::string>(""),
                                         std::optional<std::string>("abc")));

}  // namespace
}  // namespace timelake::regress
