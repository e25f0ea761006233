#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regress/lake_fixture.h"

namespace timelake {
namespace {

using regress::Must;
using ::testing::HasSubstr;

std::string BigFile() {
  const auto path =
      std::filesystem::path(testing::TempDir()) / fmt::format("import_test_{}.csv", getpid());
  std::ofstream file(path);
  file << "time,v\n";
  for (int i = 0; i < 200'000; ++i) file << "2026-01-03T00:00:00." << i << "Z,1\n";
  return path.string();
}

// Says yes from the second question on.
std::function<bool()> SoonCancelled() {
  return [asked = std::make_shared<std::atomic<int>>(0)] { return ++*asked > 1; };
}

TEST(Import, InferenceCanBeCancelled) {
  const std::string file = BigFile();
  ReadFilesOptions options;
  options.cancelled = SoonCancelled();
  const Status status = InferSchema(file, options).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCancelled) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(file));
}

TEST(Import, ACancelledImportLeavesNoTable) {
  auto lake = Must(Lake::Open("memory://import_cancelled"));
  TableOptions table;
  table.time_column = "time";
  ImportOptions options;
  options.append.cancelled = SoonCancelled();
  const Status status = CreateAndImport(lake, "t", {BigFile()}, table, options).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCancelled) << status.ToString();
  EXPECT_TRUE(Must(lake.ListTables()).empty());
}

TEST(Import, RowsOfFilesGoThroughAnAppender) {
  auto lake = Must(Lake::Open("memory://import_read_files"));
  TableOptions options;
  options.time_column = "time";
  const auto schema =
      arrow::schema({arrow::field("time", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), false),
                     arrow::field("v", arrow::float64())});
  const Table table = Must(lake.CreateTable("t", schema, options));
  const auto file = [](const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) /
                      fmt::format("read_files_{}_{}.csv", getpid(), name);
    std::ofstream(path) << text;
    return path.string();
  };
  const std::vector<std::string> files = {
      file("a", "time,v\n2026-01-03T00:00:00Z,1\n2026-01-03T00:00:01Z,2.5\n"),
      file("b", "v,time\n,2026-01-03T00:00:02Z\n")};
  {
    const auto appender = Must(Appender::Open(table));
    const auto rows = Must(ReadFiles(table, files));
    EXPECT_TRUE(rows->schema()->Equals(*schema)) << rows->schema()->ToString();
    Must(appender->Append(rows.get()));
    EXPECT_EQ(Must(appender->Close()).rows, 3);
  }
  const auto bad = file("bad", "time,v\n2026-01-03T00:00:00Z,1\n2026-01-03T00:00:01Z,oops\n");
  const Status status = Must(ReadFiles(table, {bad}))->ToTable().status();
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument);
  for (const std::string& part : {bad, std::string("line 3"), std::string("oops")}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
}

}  // namespace
}  // namespace timelake
