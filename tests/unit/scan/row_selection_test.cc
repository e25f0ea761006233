#include "scan/row_selection.h"

#include <cmath>
#include <limits>
#include <random>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace timelake::scan {
namespace {

using table::RowRange;
using table::RowRanges;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

RowRanges RandomRanges(std::mt19937* random, int64_t end) {
  RowRanges ranges;
  for (int64_t row = 0; row < end;) {
    const int64_t begin = row + static_cast<int64_t>((*random)() % 40);
    const int64_t stop = begin + 1 + static_cast<int64_t>((*random)() % 60);
    table::Append({std::min(begin, end), std::min(stop, end)}, &ranges);
    row = stop;
  }
  return ranges;
}

TEST(RowSelection, PositionsAndRowsAreReversesOfEachOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const RowRanges present = RandomRanges(&random, 1000);
    const RowRanges rows = table::Intersection(present, RandomRanges(&random, 1000));
    const RowRanges positions = PositionsIn(present, rows);
    const std::vector<uint32_t> all = SpellOut(present);
    std::vector<uint32_t> spelt;
    for (const uint32_t position : SpellOut(positions)) spelt.push_back(all.at(position));
    EXPECT_EQ(spelt, SpellOut(rows));
    EXPECT_EQ(RowsAt(present, positions), rows);
    EXPECT_EQ(ToRanges(SpellOut(rows)), rows);
  }
}

// Only codes of 32 bits are taken as they lie; others would be read past their end.
TEST(RowSelection, DictionariesOfOtherCodes) {
  const auto text =
      arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["a", "b", "c"])").ValueOrDie();
  for (const auto& codes : {arrow::int8(), arrow::uint8(), arrow::int16(), arrow::int32(),
                            arrow::uint32(), arrow::int64()}) {
    const auto indices =
        arrow::json::ArrayFromJSONString(codes, "[0, 1, null, 2, 2, 0, 1, 0, null, 1]")
            .ValueOrDie();
    const auto array = arrow::DictionaryArray::FromArrays(indices, text).ValueOrDie();
    EXPECT_EQ(HasPlainCodes(*array->type()), codes->id() == arrow::Type::INT32) << *codes;
    const auto taken = Take(array, {{1, 4}, {8, 10}}).ValueOrDie();
    ASSERT_TRUE(taken->ValidateFull().ok());
    const auto expected =
        arrow::DictionaryArray::FromArrays(
            arrow::json::ArrayFromJSONString(codes, "[1, null, 2, null, 1]").ValueOrDie(), text)
            .ValueOrDie();
    EXPECT_TRUE(taken->Equals(expected)) << taken->ToString();
    RowRanges kept = {{0, 10}};
    ASSERT_TRUE(KeepPassing(*array->data(), {{1, Op::kNotNull, {}}}, &kept));
    EXPECT_EQ(kept, (RowRanges{{0, 2}, {3, 8}, {9, 10}}));
  }
}

TEST(RowSelection, SmallGapsAreFilled) {
  EXPECT_THAT(Around({{0, 1}, {1000, 1001}, {5000, 5010}}),
              ElementsAre(RowRange{0, 1001}, RowRange{5000, 5010}));
  EXPECT_THAT(Around({}), IsEmpty());
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> RandomArray(Builder builder, std::mt19937* random, bool nulls,
                                          Value&& value) {
  for (int i = 0; i < 3000; ++i) {
    if (nulls && (*random)() % 5 == 0) {
      EXPECT_TRUE(builder.AppendNull().ok());
    } else {
      EXPECT_TRUE(builder.Append(value()).ok());
    }
  }
  return *builder.Finish();
}

std::vector<std::shared_ptr<arrow::Array>> Arrays(std::mt19937* random) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  const auto number = [&] { return static_cast<int>((*random)() % 100); };
  for (const bool nulls : {false, true}) {
    arrays.push_back(RandomArray(arrow::Int32Builder(), random, nulls, number));
    arrays.push_back(RandomArray(arrow::Int64Builder(), random, nulls, number));
    arrays.push_back(RandomArray(arrow::FloatBuilder(), random, nulls, number));
    arrays.push_back(RandomArray(arrow::DoubleBuilder(), random, nulls, number));
    arrays.push_back(
        RandomArray(arrow::BooleanBuilder(), random, nulls, [&] { return number() % 2 == 0; }));
    arrays.push_back(RandomArray(arrow::StringBuilder(), random, nulls,
                                 [&] { return std::to_string(number()); }));
    arrays.push_back(RandomArray(arrow::StringDictionary32Builder(), random, nulls,
                                 [&] { return std::to_string(number()); }));
  }
  return arrays;
}

TEST(RowSelection, TakesWhatStandsThere) {
  std::mt19937 random(2);
  for (auto array : Arrays(&random)) {
    array = array->Slice(7);
    for (const RowRanges& positions :
         {RandomRanges(&random, array->length()), RowRanges{{5, 9}}, RowRanges{}}) {
      const auto taken = Take(array, positions);
      ASSERT_TRUE(taken.ok()) << taken.status().ToString();
      ASSERT_TRUE((*taken)->ValidateFull().ok());
      EXPECT_TRUE((*taken)->type()->Equals(*array->type()));
      int64_t next = 0;
      for (const uint32_t position : SpellOut(positions)) {
        EXPECT_TRUE((*taken)->RangeEquals(next, next + 1, position, array));
        ++next;
      }
      EXPECT_EQ((*taken)->length(), next);
      if (array->type_id() == arrow::Type::DICTIONARY) {
        EXPECT_EQ((*taken)->data()->dictionary, array->data()->dictionary);
      }
    }
  }
}

// As SQL compares: NaN is above everything and equals itself.
bool Passes(double value, Op op, double bound) {
  const bool is_nan = std::isnan(value);
  switch (op) {
    case Op::kEq: return value == bound;
    case Op::kNotEq: return is_nan || value != bound;
    case Op::kLt: return value < bound;
    case Op::kLe: return value <= bound;
    case Op::kGt: return is_nan || value > bound;
    default: return is_nan || value >= bound;
  }
}

class RowSelectionNulls : public ::testing::TestWithParam<bool> {};

TEST_P(RowSelectionNulls, KeepsWhatPasses) {
  std::mt19937 random(3);
  const auto array =
      RandomArray(arrow::DoubleBuilder(), &random, GetParam(), [&] {
        const int n = static_cast<int>(random() % 40);
        return n == 0 ? std::nan("") : n == 1 ? std::numeric_limits<double>::infinity() : n / 10;
      })->Slice(3);
  const auto& values = static_cast<const arrow::DoubleArray&>(*array);
  for (const Op op : {Op::kEq, Op::kNotEq, Op::kLt, Op::kLe, Op::kGt, Op::kGe}) {
    const RowRanges before = RandomRanges(&random, array->length());
    RowRanges kept = before;
    ASSERT_TRUE(KeepPassing(*array->data(), {{1, op, {2.0}}, {1, Op::kGe, {1.0}}}, &kept));
    std::vector<uint32_t> expected;
    for (const uint32_t row : SpellOut(before)) {
      if (values.IsNull(row)) continue;
      const double value = values.Value(row);
      if (Passes(value, op, 2.0) && Passes(value, Op::kGe, 1.0)) expected.push_back(row);
    }
    EXPECT_EQ(SpellOut(kept), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Nulls, RowSelectionNulls, ::testing::Bool());

TEST(RowSelection, KeepsWhatIsThere) {
  std::mt19937 random(9);
  for (const auto& array : Arrays(&random)) {
    const RowRanges before = RandomRanges(&random, array->length() - 11);
    RowRanges kept = before;
    const auto slice = array->Slice(11);
    ASSERT_TRUE(KeepPassing(*slice->data(), {{1, Op::kNotNull, {}}}, &kept));
    std::vector<uint32_t> expected;
    for (const uint32_t row : SpellOut(before)) {
      if (slice->IsValid(row)) expected.push_back(row);
    }
    EXPECT_EQ(SpellOut(kept), expected);
  }
}

TEST(RowSelection, KeepsEqualText) {
  std::mt19937 random(8);
  for (const bool nulls : {false, true}) {
    const auto array = RandomArray(arrow::StringBuilder(), &random, nulls, [&] {
                         return std::string(random() % 3, static_cast<char>('a' + random() % 2));
                       })->Slice(5);
    const auto& values = static_cast<const arrow::StringArray&>(*array);
    for (const std::string wanted : {"", "a", "bb", "c"}) {
      const RowRanges before = RandomRanges(&random, array->length());
      RowRanges kept = before;
      ASSERT_TRUE(KeepPassing(*array->data(), {{1, Op::kEq, {wanted}}}, &kept));
      std::vector<uint32_t> expected;
      for (const uint32_t row : SpellOut(before)) {
        if (values.IsValid(row) && values.GetView(row) == wanted) expected.push_back(row);
      }
      EXPECT_EQ(SpellOut(kept), expected);
    }
  }
}

TEST(RowSelection, LeavesOtherTestsToOthers) {
  std::mt19937 random(4);
  RowRanges all = {{0, 3000}};
  const auto numbers = RandomArray(arrow::Int64Builder(), &random, false, [] { return 1; });
  const auto texts = RandomArray(arrow::StringBuilder(), &random, false, [] { return "a"; });
  const auto floats = RandomArray(arrow::DoubleBuilder(), &random, false, [] { return 1.0; });
  EXPECT_FALSE(KeepPassing(*numbers->data(), {}, &all));
  EXPECT_FALSE(KeepPassing(*numbers->data(), {{1, Op::kIn, {int64_t{1}}}}, &all));
  EXPECT_FALSE(KeepPassing(*numbers->data(), {{1, Op::kIsNull, {}}}, &all));
  EXPECT_FALSE(KeepPassing(*numbers->data(), {{1, Op::kEq, {int32_t{1}}}}, &all));
  EXPECT_FALSE(KeepPassing(*texts->data(), {{1, Op::kLt, {std::string("a")}}}, &all));
  EXPECT_FALSE(KeepPassing(*floats->data(), {{1, Op::kLt, {std::nan("")}}}, &all));
  EXPECT_EQ(all, (RowRanges{{0, 3000}}));
}

}  // namespace
}  // namespace timelake::scan
