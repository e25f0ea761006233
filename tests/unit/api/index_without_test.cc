// The index after any of a table's files are dropped, against a scan of the others.

#include "maintain/index_without.h"

#include <map>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/append.h"
#include "index/last_value_index.h"
#include "regress/lake_fixture.h"
#include "scan/write_order.h"
#include "table/data_file_reader.h"
#include "table/table_impl.h"

namespace timelake::maintain {
namespace {

using regress::Must;
using Random = std::mt19937_64;

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03
constexpr int64_t kHour = 3'600'000'000;

class IndexWithoutTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(IndexWithoutTest, IsTheNewestOfWhatIsLeft) {
  Random random(GetParam());
  auto lake = Must(Lake::Open(fmt::format("memory://index_without_{}", GetParam())));
  TableOptions options = regress::Readings();
  options.properties = {{"auto-maintain", "false"}};
  Table table = Must(lake.CreateTable("t", regress::kColumns, options));
  const int appends = 2 + static_cast<int>(random() % 5);
  for (int i = 0; i < appends; ++i) {
    std::vector<regress::Row> rows;
    for (int r = 0; r < 6; ++r) {
      rows.push_back({kJanuary + static_cast<int64_t>(random() % 72) * kHour,
                      fmt::format("d{}", random() % 4), 10.0 * i + r});
    }
    Must(table.Append(regress::Batch(rows)));
  }
  table::Handle& handle = *table.impl()->handle;
  const table::Version base = handle.known();
  const auto target = Must(api::MakeTarget(handle, *base.metadata, {}, {}));
  const auto live = Must(LiveFiles::Read(handle.env(), base.metadata, target));
  std::vector<size_t> dropped;
  std::map<std::string, std::pair<int64_t, double>> expected;
  for (size_t i = 0; i < live->files().size(); ++i) {
    if (random() % 2 == 0) dropped.push_back(i);
  }
  // The newest rows of the others, by reading them in the order of writes.
  std::vector<const scan::ScanFile*> left;
  for (size_t i = 0; i < live->files().size(); ++i) {
    if (std::find(dropped.begin(), dropped.end(), i) == dropped.end()) {
      left.push_back(live->files()[i].file);
    }
  }
  std::sort(left.begin(), left.end(), [](const auto* a, const auto* b) {
    return std::tie(a->sequence_number, a->data->file_path) <
           std::tie(b->sequence_number, b->data->file_path);
  });
  for (const scan::ScanFile* file : left) {
    table::DataFileRequest request;
    request.uri = file->data->file_path;
    request.fields = target.schema.fields;
    const auto reader = Must(table::OpenDataFile(handle.env(), request));
    const auto batches = Must(Must(reader->Read({0}))->ToTable());
    for (int64_t row = 0; row < batches->num_rows(); ++row) {
      const auto at = [&](int column) { return Must(batches->column(column)->GetScalar(row)); };
      const int64_t time = static_cast<const arrow::TimestampScalar&>(*at(0)).value;
      const double v = static_cast<const arrow::DoubleScalar&>(*at(2)).value;
      auto& newest = expected.try_emplace(at(1)->ToString(), time, v).first->second;
      if (time >= newest.first) newest = {time, v};
    }
  }
  IndexReading reading;
  if (GetParam() % 2 == 0) reading.first = 1;  // file by file
  const auto object =
      Must(IndexWithout(handle, base, 1, *live, dropped, target.contract, {}, reading));
  ASSERT_TRUE(object.has_value());
  if (!object->put) {
    EXPECT_TRUE(dropped.empty() || object->summary.contains(table::kLastValueIndex));
    return;
  }
  Must(handle.env().store->Put(object->put->key, object->put->bytes));
  const auto rows =
      Must(index::Read(handle.env(), object->summary.at(table::kLastValueIndex), target.schema));
  std::map<std::string, std::pair<int64_t, double>> found;
  for (int64_t row = 0; row < rows->num_rows(); ++row) {
    const auto at = [&](int column) { return Must(rows->column(column)->GetScalar(row)); };
    found[at(1)->ToString()] = {static_cast<const arrow::TimestampScalar&>(*at(0)).value,
                                static_cast<const arrow::DoubleScalar&>(*at(2)).value};
  }
  EXPECT_EQ(found, expected);
}

// A table of a day for each append, whose newest day goes: of all others only the next is read.
class NewestDayGoes : public ::testing::Test {
 protected:
  NewestDayGoes() : lake_(Must(Lake::Open("memory://newest_day_goes"))) {
    TableOptions options = regress::Readings();
    options.properties = {{"auto-maintain", "false"}};
    table_.emplace(Must(lake_.CreateTable("t", regress::kColumns, options)));
    for (int day = 0; day < 6; ++day) Add(day, {"a", "b"});
  }
  ~NewestDayGoes() override { (void)lake_.DropTable("t"); }

  void Add(int day, const std::vector<std::string>& devices) {
    std::vector<regress::Row> rows;
    for (const auto& device : devices)
      rows.push_back({kJanuary + day * 24 * kHour, device, 1.0 * day});
    Must(table_->Append(regress::Batch(rows)));
  }

  // The values of the index once the files of a day are gone, if `files` of the others are read.
  // `but_one`: all of them but the last.
  std::optional<std::vector<double>> Without(int day, int files, bool but_one = false) {
    table::Handle& handle = *table_->impl()->handle;
    const table::Version base = handle.known();
    const auto target = Must(api::MakeTarget(handle, *base.metadata, {}, {}));
    const auto live = Must(LiveFiles::Read(handle.env(), base.metadata, target));
    std::vector<size_t> dropped;
    int64_t largest = 0;
    for (size_t i = 0; i < live->files().size(); ++i) {
      const LiveFile& file = live->files()[i];
      if (file.range.first / (24 * kHour) == kJanuary / (24 * kHour) + day) dropped.push_back(i);
      largest = std::max(largest, file.file->data->file_size_in_bytes);
    }
    if (but_one) {
      dropped.erase(std::max_element(dropped.begin(), dropped.end(), [&](size_t a, size_t b) {
        return scan::IsOlder(*live->files()[a].file, *live->files()[b].file);
      }));
    }
    const IndexReading reading{1, files * largest};
    const auto object =
        Must(IndexWithout(handle, base, 1, *live, dropped, target.contract, {}, reading));
    if (!object) return std::nullopt;
    Must(handle.env().store->Put(object->put->key, object->put->bytes));
    const auto rows =
        Must(index::Read(handle.env(), object->summary.at(table::kLastValueIndex), target.schema));
    const auto values = std::static_pointer_cast<arrow::DoubleArray>(rows->column(2));
    return std::vector<double>(values->raw_values(), values->raw_values() + values->length());
  }

  Lake lake_;
  std::optional<Table> table_;
};

TEST_F(NewestDayGoes, OneFileIsRead) {
  EXPECT_EQ(Without(5, 1), (std::vector<double>{4, 4}));
  EXPECT_EQ(Without(5, 0), std::nullopt);
}

TEST_F(NewestDayGoes, OfASeriesThatIsInNoOtherFileAllAreRead) {
  Add(6, {"a", "b", "c"});
  EXPECT_EQ(Without(6, 1), std::nullopt);
  EXPECT_EQ(Without(6, 6), (std::vector<double>{5, 5}));
}

TEST_F(NewestDayGoes, ASeriesThatWasSilentIsFoundInOlderFiles) {
  Add(6, {"b"});
  Add(7, {"a"});
  EXPECT_EQ(Without(7, 1), std::nullopt);
  EXPECT_EQ(Without(7, 2), (std::vector<double>{5, 6}));
}

// Of a time among those of the dropped file, but in another one.
TEST_F(NewestDayGoes, ASeriesOfAnotherFileIsNotLost) {
  Add(6, {"a", "b"});
  Add(6, {"c"});
  const auto files = [&] { return Must(table_->Files()); };
  ASSERT_EQ(files().size(), 8u);
  EXPECT_EQ(Without(6, 6), (std::vector<double>{5, 5}));
  EXPECT_EQ(Without(6, 6, true), (std::vector<double>{5, 5, 6}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, IndexWithoutTest, ::testing::Range<uint64_t>(1, 61));

}  // namespace
}  // namespace timelake::maintain
