#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "api/append.h"
#include "api/delete_rows.h"
#include "store/fault_store.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "table/catalog.h"
#include "table/lake_impl.h"
#include "timelake/timelake.h"

namespace timelake::regress {

#define TL_OK(expr)                                      \
  do {                                                   \
    const arrow::Status tl_status = (expr);              \
    ASSERT_TRUE(tl_status.ok()) << tl_status.ToString(); \
  } while (false)

// The value of a Result that must be ok.
template <typename T>
T Must(arrow::Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().ToString();
    std::abort();  // a test cannot go on without it
  }
  return std::move(result).ValueUnsafe();
}

struct Row {
  int64_t time_us;
  std::string device;
  double value;
};

inline std::shared_ptr<arrow::RecordBatch> Batch(const std::vector<Row>& rows) {
  auto type = arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
  arrow::TimestampBuilder times(type, arrow::default_memory_pool());
  arrow::StringBuilder devices;
  arrow::DoubleBuilder values;
  for (const Row& row : rows) {
    EXPECT_TRUE(times.Append(row.time_us).ok());
    EXPECT_TRUE(devices.Append(row.device).ok());
    EXPECT_TRUE(values.Append(row.value).ok());
  }
  arrow::ArrayVector columns = {Must(times.Finish()), Must(devices.Finish()),
                                Must(values.Finish())};
  auto schema = arrow::schema({arrow::field("time", type), arrow::field("device", arrow::utf8()),
                               arrow::field("v", arrow::float64())});
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), columns);
}

inline constexpr char kColumns[] = "time:timestamptz, device:string, v:double";

// Appends to it do nothing but append.
inline TableOptions Readings() {
  TableOptions options;
  options.time_column = "time";
  options.series_key = {"device"};
  options.properties = {{"auto-maintain", "false"}};
  return options;
}

// A warehouse in a fresh folder; removed at the end.
class LakeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tl-regress-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Lake OpenLake(LakeOptions options = {}) { return Must(Lake::Open(root_.string(), options)); }

  // A lake of its own over `store`, as another process would have it.
  Lake LakeOver(std::shared_ptr<store::ObjectStore> store,
                std::shared_ptr<Clock> clock = SystemClock()) {
    table::Env env = table::MakeEnv(std::move(store));
    env.clock = std::move(clock);
    auto impl = std::make_shared<detail::LakeImpl>();
    impl->catalog = std::make_shared<table::Catalog>(env, root_.string(), table::SettingMap{});
    impl->location = impl->catalog->location_uri();
    impl->append = api::Append;
    impl->erase = api::DeleteRows;
    return Lake(std::move(impl));
  }

  std::filesystem::path Folder(const std::string& table) const { return root_ / "default" / table; }

  std::vector<std::string> FilesBelow(const std::filesystem::path& folder) const {
    std::vector<std::string> files;
    if (!std::filesystem::exists(folder)) return files;
    for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
      if (item.is_regular_file()) files.push_back(item.path().string());
    }
    return files;
  }

  std::filesystem::path root_;
};

// One value of a one-row query, as text.
inline std::string Ask(const Lake& lake, const std::string& sql) {
  Session session = Must(Session::Open(lake));
  auto reader = Must(session.Sql(sql));
  auto table = Must(reader->ToTable());
  EXPECT_EQ(table->num_rows(), 1) << sql;
  if (table->num_rows() != 1) return "";
  return Must(table->column(0)->GetScalar(0))->ToString();
}

}  // namespace timelake::regress
