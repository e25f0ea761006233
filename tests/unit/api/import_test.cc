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

}  // namespace
}  // namespace timelake
