// duckdb-iceberg 29: absolute paths in metadata break when the warehouse is moved or copied.
#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class MovedTable : public LakeTest {};

TEST_F(MovedTable, IsReadInItsNewPlaceAndRefusesToBeWritten) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{1, "a", 1}, {2, "b", 2}})).status());
  std::filesystem::create_directories(root_ / "other");
  std::filesystem::rename(Folder("t"), root_ / "other" / "moved");
  Lake fresh = OpenLake();
  EXPECT_EQ(Ask(fresh, "SELECT sum(v) FROM lake.other.moved"), "3");
  Table moved = Must(fresh.OpenTable("other.moved"));
  EXPECT_EQ(Must(moved.Latest())->num_rows(), 2);
  auto appended = moved.Append(Batch({{3, "c", 3}}));
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(KindOf(appended.status()), ErrorKind::kUnsupported) << appended.status().ToString();
  EXPECT_NE(appended.status().message().find("was moved"), std::string::npos);
  auto changed = moved.SetProperties({{"retention", "9d"}});
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(KindOf(changed), ErrorKind::kUnsupported) << changed.ToString();
}

}  // namespace
}  // namespace timelake::regress
