#include "write/take_strings.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <gtest/gtest.h>

namespace timelake::write {
namespace {

// As Arrow takes them, of slices and with nulls on either side.
TEST(TakeStrings, IsArrowsTake) {
  for (const int nulls : {0, 1, 2, 3}) {
    arrow::StringBuilder strings;
    arrow::Int32Builder positions;
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE((nulls & 1) != 0 && i % 7 == 3
                      ? strings.AppendNull().ok()
                      : strings.Append(std::string(i % 5, 'x') + std::to_string(i)).ok());
    }
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE((nulls & 2) != 0 && i % 3 == 1 ? positions.AppendNull().ok()
                                                 : positions.Append(i * 31 % 40).ok());
    }
    const auto all = strings.Finish().ValueOrDie();
    const auto at = positions.Finish().ValueOrDie();
    for (const int64_t cut : {0, 9}) {
      const auto from = std::static_pointer_cast<arrow::StringArray>(all->Slice(cut));
      const auto where = std::static_pointer_cast<arrow::Int32Array>(at->Slice(3 * cut));
      const auto taken = TakeStrings(*from, *where).ValueOrDie();
      ASSERT_TRUE(taken->ValidateFull().ok());
      EXPECT_TRUE(taken->Equals(arrow::compute::Take(*from, *where).ValueOrDie())) << nulls;
    }
  }
  const arrow::StringArray none(0, arrow::Buffer::FromString(std::string(4, '\0')), nullptr);
  EXPECT_EQ(TakeStrings(none, arrow::Int32Array(0, nullptr)).ValueOrDie()->length(), 0);
}

}  // namespace
}  // namespace timelake::write
