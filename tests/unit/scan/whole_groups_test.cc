#include "scan/whole_groups.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace timelake::scan {
namespace {

using Names = std::set<std::string>;

// A table by host and time, whose sort order 1 says so and 2 does not.
class WholeGroups : public ::testing::Test {
 protected:
  WholeGroups() {
    iceberg::Schema schema;
    schema.fields = {Column(1, "time", iceberg::TypeId::kTimestamp),
                     Column(2, "host", iceberg::TypeId::kString)};
    metadata_.schemas = {schema};
    metadata_.sort_orders = {Order(1, {2, 1}), Order(2, {1, 2})};
    contract_.time_id = 1;
    contract_.key_ids = {2};
  }

  static iceberg::Field Column(int id, const std::string& name, iceberg::TypeId type) {
    iceberg::Field field;
    field.id = id;
    field.name = name;
    field.type.id = type;
    return field;
  }

  static iceberg::SortOrder Order(int id, const std::vector<int>& columns) {
    iceberg::SortOrder order;
    order.order_id = id;
    for (const int column : columns) {
      iceberg::SortField field;
      field.source_id = column;
      order.fields.push_back(field);
    }
    return order;
  }

  void Add(const std::string& name, int64_t first, int64_t last, std::optional<int> order = 1) {
    auto file = std::make_shared<iceberg::DataFile>();
    file->file_path = name;
    file->file_format = "PARQUET";
    file->record_count = 10;
    file->sort_order_id = order;
    const iceberg::Type type = Column(1, "time", iceberg::TypeId::kTimestamp).type;
    file->lower_bounds[1] = *iceberg::ToBytes(type, first);
    file->upper_bounds[1] = *iceberg::ToBytes(type, last);
    file->null_value_counts[1] = 0;
    files_.push_back(file);
  }

  Names Whole(int64_t width) const {
    const auto whole = HaveWholeGroups(metadata_, contract_, files_,
                                       [width](int64_t time) -> std::optional<int64_t> {
                                         if (time > 10'000) return std::nullopt;
                                         return time - time % width;
                                       });
    Names names;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (whole[i]) names.insert(files_[i]->file_path);
    }
    return names;
  }

  iceberg::TableMetadata metadata_;
  table::Contract contract_;
  FileList files_;
};

TEST_F(WholeGroups, FilesThatShareNoBucket) {
  Add("c", 250, 299);
  Add("a", 0, 99);
  Add("b", 100, 249);
  EXPECT_EQ(Whole(50), (Names{"a", "b", "c"}));
  EXPECT_EQ(Whole(100), (Names{"a"}));  // b and c have rows of the bucket at 200
  EXPECT_EQ(Whole(1000), Names());
  EXPECT_EQ(Whole(10), (Names{"a", "b", "c"}));
}

TEST_F(WholeGroups, AFileMayReachOverManyOthers) {
  Add("long", 0, 1000);
  Add("b", 100, 199);
  Add("c", 300, 399);
  Add("behind", 1100, 1199);
  EXPECT_EQ(Whole(100), (Names{"behind"}));
}

TEST_F(WholeGroups, OnlyFilesThatAreInOrder) {
  Add("a", 0, 99);
  Add("by time", 100, 199, 2);
  Add("unsorted", 200, 299, 0);
  Add("unknown", 300, 399, 7);
  Add("does not say", 400, 499, std::nullopt);
  EXPECT_EQ(Whole(100), (Names{"a"}));
}

TEST_F(WholeGroups, NotWhereSumsMightOverflow) {
  Add("a", 0, 99);
  Add("huge", 100, 199);
  const_cast<iceberg::DataFile&>(*files_[1]).record_count = int64_t{1} << 30;
  EXPECT_EQ(Whole(100), (Names{"a"}));
}

TEST_F(WholeGroups, AFileOfUnknownTimesMayShareAnyGroup) {
  Add("a", 0, 99);
  Add("b", 100, 199);
  files_.push_back(std::make_shared<iceberg::DataFile>(*files_.back()));
  auto& unknown = const_cast<iceberg::DataFile&>(*files_.back());
  unknown.file_path = "unknown";
  unknown.lower_bounds.clear();
  EXPECT_EQ(Whole(100), Names());
  unknown = *files_[1];
  unknown.file_path = "has null";
  unknown.lower_bounds = unknown.upper_bounds;
  unknown.null_value_counts[1] = 1;
  EXPECT_EQ(Whole(100), Names());
  files_.pop_back();
  Add("no bucket", 9000, 10'001);
  EXPECT_EQ(Whole(100), Names());
}

}  // namespace
}  // namespace timelake::scan
