// Partitions of key columns tell series apart where bounds do not.

#include "scan/key_range.h"

#include <gtest/gtest.h>

#include "unit/scan/sample_rows.h"

namespace timelake::scan {
namespace {

using iceberg::Value;

class KeyRanges : public ::testing::Test {
 protected:
  KeyRanges() {
    schema_ = *iceberg::ParseSchemaText("time:timestamptz, host:string, unit:double, site:string");
    columns_.time = &schema_.fields[0];
    columns_.keys = {&schema_.fields[1], &schema_.fields[2]};
  }

  // Files of the widest bounds that are there, in two partitions.
  bool Meet(const iceberg::PartitionSpec& left, const std::vector<Value>& a,
            const iceberg::PartitionSpec& right, const std::vector<Value>& b) {
    iceberg::DataFile x, y;
    x.partition = a;
    y.partition = b;
    return RangesMeet(KeyRangeOf(x, &left, columns_), KeyRangeOf(y, &right, columns_), columns_);
  }

  iceberg::Schema schema_;
  KeyColumns columns_;
};

TEST_F(KeyRanges, PartitionsOfKeyColumnsTellSeriesApart) {
  const auto bucket = NewSpec(0, {{2, "bucket[4]"}});
  const Value one(int32_t{1}), two(int32_t{2}), null;
  EXPECT_TRUE(Meet(bucket, {one}, bucket, {one}));
  EXPECT_FALSE(Meet(bucket, {one}, bucket, {two}));
  EXPECT_FALSE(Meet(bucket, {one}, bucket, {null}));
  EXPECT_TRUE(Meet(bucket, {null}, bucket, {null}));
  const auto other = NewSpec(1, {{1, "day"}, {2, "bucket[4]"}});
  EXPECT_FALSE(Meet(bucket, {one}, other, {Value(int32_t{9}), two}));
  EXPECT_TRUE(Meet(bucket, {one}, other, {Value(int32_t{9}), one}));
  const auto identity = NewSpec(2, {{2, "identity"}});
  EXPECT_FALSE(Meet(identity, {Value(std::string("a"))}, identity, {Value(std::string("b"))}));
  EXPECT_TRUE(Meet(identity, {Value(std::string("a"))}, bucket, {one}));
  const auto more = NewSpec(3, {{2, "bucket[8]"}});
  EXPECT_TRUE(Meet(bucket, {one}, more, {two}));  // another transform says nothing
}

TEST_F(KeyRanges, OthersSayNothing) {
  const Value a(std::string("a")), b(std::string("b"));
  const auto site = NewSpec(0, {{4, "identity"}});
  EXPECT_TRUE(Meet(site, {a}, site, {b}));  // no key column: one series may be in both
  const auto unit = NewSpec(1, {{3, "identity"}});
  EXPECT_TRUE(Meet(unit, {Value(0.0)}, unit, {Value(-0.0)}));
  const auto unknown = NewSpec(2, {{2, "zorder"}});
  EXPECT_TRUE(Meet(unknown, {a}, unknown, {b}));
  const auto dropped = NewSpec(3, {{2, "void"}});
  EXPECT_TRUE(Meet(dropped, {Value()}, dropped, {Value()}));
  iceberg::DataFile x;
  EXPECT_TRUE(
      RangesMeet(KeyRangeOf(x, nullptr, columns_), KeyRangeOf(x, &site, columns_), columns_));
  const auto bucket = NewSpec(4, {{2, "bucket[4]"}});
  EXPECT_TRUE(Meet(bucket, {}, bucket, {Value(int32_t{2})}));  // a manifest without the value
}

}  // namespace
}  // namespace timelake::scan
