#include "timelake/maintain.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "regress/lake_fixture.h"

namespace timelake {
namespace {

using regress::Batch;
using regress::kColumns;
using regress::Must;

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03

Table NewTable(Lake& lake) {
  TableOptions options;
  options.time_column = "time";
  options.series_key = {"device"};
  options.properties = {{"snapshot-retention", "0s"},
                        {"min-snapshots", "1"},
                        {"metadata-min-age", "10ms"},
                        {"delete-min-age", "10ms"}};
  return Must(lake.CreateTable("t", kColumns, options));
}

TEST(Maintain, ExpiresSnapshotsAndDeletesWhatOnlyTheyNeeded) {
  auto lake = Must(Lake::Open("memory://maintain_expires"));
  Table table = NewTable(lake);
  for (int64_t i = 0; i < 4; ++i) {
    Must(table.Append(Batch({{kJanuary + i * 1'000'000, "a", static_cast<double>(i)}})));
  }
  ASSERT_EQ(Must(table.Snapshots()).size(), 4u);
  MaintainOptions options;
  options.compact = false;
  const MaintainReport report = Must(Maintain(table, options));
  EXPECT_EQ(report.snapshots_expired, 3);
  EXPECT_EQ(Must(table.Snapshots()).size(), 1u);
  EXPECT_EQ(Must(table.Info()).rows, 4);
  // Nothing is left to expire, and a second run finds no newer version.
  EXPECT_EQ(Must(Maintain(table, options)).snapshots_expired, 0);
}

TEST(Maintain, CompactsAndExpiresInOneRun) {
  auto lake = Must(Lake::Open("memory://maintain_all"));
  Table table = NewTable(lake);
  for (int64_t i = 0; i < 4; ++i) {
    Must(table.Append(Batch({{kJanuary + i * 1'000'000, "a", static_cast<double>(i)}})));
  }
  const MaintainReport report = Must(Maintain(table));
  EXPECT_EQ(report.files_rewritten, 4);
  EXPECT_EQ(report.files_written, 1);
  EXPECT_EQ(report.snapshots_expired, 4);
  EXPECT_EQ(Must(table.Snapshots()).size(), 1u);
  EXPECT_EQ(Must(table.Info()).rows, 4);
}

TEST(Maintain, RefusesLimitsBelowZero) {
  auto lake = Must(Lake::Open("memory://maintain_limits"));
  Table table = NewTable(lake);
  MaintainOptions options;
  options.max_bytes = -1;
  EXPECT_EQ(KindOf(Maintain(table, options).status()), ErrorKind::kInvalidArgument);
  options = {};
  options.max_seconds = -0.5;
  EXPECT_EQ(KindOf(Maintain(table, options).status()), ErrorKind::kInvalidArgument);
  options = {};
  options.settings = {{"no-such-setting", "1"}};
  EXPECT_EQ(KindOf(Maintain(table, options).status()), ErrorKind::kInvalidArgument);
}

TEST(Maintain, DoesOnlyWhatItIsAskedFor) {
  auto lake = Must(Lake::Open("memory://maintain_asked"));
  Table table = NewTable(lake);
  Must(table.Append(Batch({{kJanuary, "a", 1.0}})));
  Must(table.Append(Batch({{kJanuary, "b", 2.0}})));
  MaintainOptions options;
  options.compact = false;
  options.expire = false;
  const int64_t version = table.version();
  EXPECT_EQ(Must(Maintain(table, options)).snapshots_expired, 0);
  EXPECT_EQ(table.version(), version);
  EXPECT_EQ(Must(table.Snapshots()).size(), 2u);
}

// Rows of one day at 00:00 and 20:00, in files that begin an hour apart.
TEST(Maintain, LimitsHoldForSingleRowsPastRetention) {
  auto lake = Must(Lake::Open("memory://maintain_exact_limits"));
  TableOptions options;
  options.time_column = "time";
  options.series_key = {"device"};
  options.properties = {{"auto-maintain", "false"}, {"on-expired", "keep"}};
  Table table = Must(lake.CreateTable("t", kColumns, options));
  const int64_t hour = 3'600'000'000;
  for (int64_t i = 0; i < 4; ++i) {
    Must(table.Append(
        Batch({{kJanuary + i * hour, std::string(1, static_cast<char>('a' + i)), 1.0},
               {kJanuary + 20 * hour, std::string(1, static_cast<char>('a' + i)), 2.0}})));
  }
  int64_t largest = 0;
  for (const FileInfo& file : Must(table.Files())) largest = std::max(largest, file.bytes);
  const int64_t now = std::chrono::duration_cast<std::chrono::microseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  const std::string kept = std::to_string((now - kJanuary - 10 * hour) / 1'000'000) + "s";
  TL_OK(table.SetProperties({{"retention", kept}}));
  MaintainOptions exact;
  exact.exact = true;
  exact.compact = exact.expire = exact.orphans = false;
  exact.max_bytes = 2 * largest;
  MaintainReport report = Must(Maintain(table, exact));
  EXPECT_EQ(report.rows_dropped, 2);
  EXPECT_GT(report.bytes_left, 0);
  EXPECT_EQ(Must(table.Info()).rows, 6);
  report = Must(Maintain(table, exact));
  EXPECT_EQ(report.rows_dropped, 2);
  EXPECT_EQ(report.bytes_left, 0);
  EXPECT_EQ(Must(table.Info()).rows, 4);
  // No time at all: nothing begins that takes long.
  Must(table.Append(Batch({{kJanuary, "z", 1.0}, {kJanuary + 20 * hour, "z", 2.0}})));
  exact.max_seconds = 1e-9;
  EXPECT_EQ(Must(Maintain(table, exact)).rows_dropped, 0);
}

TEST(Maintain, CanBeCancelled) {
  auto lake = Must(Lake::Open("memory://maintain_cancelled"));
  Table table = NewTable(lake);
  MaintainOptions options;
  options.cancelled = [] { return true; };
  EXPECT_EQ(KindOf(Maintain(table, options).status()), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace timelake
