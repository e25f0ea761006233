#include "maintain/in_sequence.h"

#include <algorithm>
#include <deque>

#include <gmock/gmock.h>

namespace timelake::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr int kTime = 1, kDevice = 2;

class InSequenceTest : public ::testing::Test {
 protected:
  InSequenceTest() {
    iceberg::Field time, device;
    time.id = kTime;
    device.id = kDevice;
    time.type.id = iceberg::TypeId::kTimestamptz;
    device.type.id = iceberg::TypeId::kString;
    target_.schema.fields = {time, device};
    target_.contract.time_id = kTime;
    OrderBy({kDevice, kTime});
  }

  void OrderBy(const std::vector<int>& ids) {
    target_.order.fields.clear();
    for (const int id : ids) {
      iceberg::SortField field;
      field.source_id = id;
      field.direction = iceberg::SortDirection::kAscending;
      field.null_order = iceberg::NullOrder::kFirst;
      target_.order.fields.push_back(field);
    }
  }

  iceberg::DataFile& Add(const std::optional<std::string>& device, int64_t first, int64_t last) {
    auto data = std::make_shared<iceberg::DataFile>();
    data->record_count = 10;
    iceberg::Type type;
    type.id = iceberg::TypeId::kTimestamptz;
    const auto bytes = [&](int64_t time) { return *iceberg::ToBytes(type, iceberg::Value(time)); };
    data->lower_bounds[kTime] = bytes(first);
    data->upper_bounds[kTime] = bytes(last);
    data->null_value_counts[kTime] = 0;
    data->null_value_counts[kDevice] = device ? 0 : 10;
    if (device) data->lower_bounds[kDevice] = data->upper_bounds[kDevice] = *device;
    files_.emplace_back().data = data;
    return *data;
  }

  // Places of the files, in their sequence.
  std::optional<std::vector<size_t>> Places() const {
    std::vector<const scan::ScanFile*> files;
    for (const auto& file : files_) files.push_back(&file);
    const auto sequence = InSequence(target_, files);
    if (!sequence) return std::nullopt;
    std::vector<size_t> places;
    for (const auto* file : *sequence) {
      places.push_back(
          static_cast<size_t>(std::find(files.begin(), files.end(), file) - files.begin()));
    }
    return places;
  }

  write::Target target_;
  std::deque<scan::ScanFile> files_;
};

TEST_F(InSequenceTest, BySeriesAndTime) {
  Add("b", 0, 9);
  Add("a", 20, 29);
  Add("a", 0, 19);
  Add(std::nullopt, 50, 60);
  EXPECT_THAT(Places(), Optional(ElementsAre(3, 2, 1, 0)));
  target_.order.fields[0].null_order = iceberg::NullOrder::kLast;
  EXPECT_THAT(Places(), Optional(ElementsAre(2, 1, 0, 3)));
  target_.order.fields[0].direction = iceberg::SortDirection::kDescending;
  EXPECT_THAT(Places(), Optional(ElementsAre(0, 2, 1, 3)));
}

TEST_F(InSequenceTest, TimesThatTouchAreNone) {
  Add("a", 0, 9);
  auto& other = Add("a", 9, 19);
  EXPECT_EQ(Places(), std::nullopt);
  other.lower_bounds[kDevice] = other.upper_bounds[kDevice] = "b";
  EXPECT_THAT(Places(), Optional(ElementsAre(0, 1)));
}

TEST_F(InSequenceTest, WhatIsNotKnownIsNoSequence) {
  Add("a", 0, 9);
  const auto whole = Add("a", 10, 19);
  auto& file = const_cast<iceberg::DataFile&>(*files_.back().data);  // made above
  file.upper_bounds[kDevice] = "b";  // two series, or one of a long name
  EXPECT_EQ(Places(), std::nullopt);
  file = whole;
  file.null_value_counts[kDevice] = 1;
  EXPECT_EQ(Places(), std::nullopt);
  file = whole;
  file.null_value_counts.erase(kTime);
  EXPECT_EQ(Places(), std::nullopt);
  file = whole;
  file.lower_bounds.erase(kTime);
  EXPECT_EQ(Places(), std::nullopt);
  file = whole;
  EXPECT_THAT(Places(), Optional(ElementsAre(0, 1)));
  OrderBy({kTime, kDevice});
  EXPECT_EQ(Places(), std::nullopt);
  OrderBy({kTime});
  EXPECT_THAT(Places(), Optional(ElementsAre(0, 1)));
}

}  // namespace
}  // namespace timelake::maintain
