#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "regress/lake_fixture.h"

namespace timelake {
namespace {

using regress::Batch;
using regress::kColumns;
using regress::Must;
using testing::HasSubstr;

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03

// Appends to it do nothing but append: versions are counted here.
Table NewTable(Lake& lake) { return Must(lake.CreateTable("t", kColumns, regress::Readings())); }

std::shared_ptr<arrow::RecordBatch> OneRow(int64_t number) {
  return Batch({{kJanuary + number * 1'000'000, "a", static_cast<double>(number)}});
}

int64_t RowsOf(Lake& lake) { return Must(Must(lake.OpenTable("t")).Info()).rows; }

TEST(Appender, ManyWritesAreFewCommits) {
  auto lake = Must(Lake::Open("memory://appender_many"));
  Table table = NewTable(lake);
  AppenderOptions options;
  options.flush_rows = 100;
  options.flush_interval_ms = 3'600'000;
  const auto appender = Must(Appender::Open(table, options));
  for (int64_t i = 0; i < 950; ++i) EXPECT_EQ(Must(appender->Append(OneRow(i))), i + 1);
  TL_OK(appender->Wait(100));
  EXPECT_GE(RowsOf(lake), 100);
  const AppenderStats stats = Must(appender->Close());
  EXPECT_EQ(stats.rows, 950);
  EXPECT_GE(stats.commits, 1);  // all came before the first commit began, on a machine in haste
  EXPECT_LE(stats.commits, 10);
  EXPECT_EQ(stats.version, table.version());
  EXPECT_EQ(RowsOf(lake), 950);
  EXPECT_EQ(static_cast<int64_t>(Must(table.Snapshots()).size()), stats.commits);
  EXPECT_THAT(appender->Append(OneRow(0)).status().message(), HasSubstr("is closed"));
  EXPECT_EQ(Must(appender->Close()).rows, 950);
}

TEST(Appender, RowsDoNotWaitLongerThanTheInterval) {
  auto lake = Must(Lake::Open("memory://appender_interval"));
  Table table = NewTable(lake);
  AppenderOptions options;
  options.flush_interval_ms = 20;
  const auto appender = Must(Appender::Open(table, options));
  TL_OK(appender->Wait(Must(appender->Append(OneRow(1)))));
  EXPECT_EQ(RowsOf(lake), 1);
  TL_OK(appender->Wait(Must(appender->Append(OneRow(2)))));
  EXPECT_EQ(RowsOf(lake), 2);
}

TEST(Appender, WritesWithoutRowsAreSettledAtOnce) {
  auto lake = Must(Lake::Open("memory://appender_empty"));
  Table table = NewTable(lake);
  const auto appender = Must(Appender::Open(table));
  TL_OK(appender->Wait(Must(appender->Append(OneRow(1)->Slice(0, 0)))));
  EXPECT_EQ(Must(appender->Flush()).commits, 0);
  EXPECT_THAT(appender->Wait(2).message(), HasSubstr("there is no write 2; the last was 1"));
  EXPECT_THAT(appender->Wait(0).message(), HasSubstr("there is no write 0"));
}

TEST(Appender, ABadWriteIsRefusedAndHarmsNoOther) {
  auto lake = Must(Lake::Open("memory://appender_bad"));
  Table table = NewTable(lake);
  const auto appender = Must(Appender::Open(table));
  Must(appender->Append(OneRow(1)));
  const auto good = OneRow(2);
  const auto bad = Batch({{int64_t{1} << 60, "a", 1.0}});  // a far year
  const auto reader = Must(arrow::RecordBatchReader::Make({good, bad}, good->schema()));
  const auto refused = appender->Append(reader.get());
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("row 2"));
  EXPECT_EQ(Must(appender->Append(OneRow(3))), 2);
  EXPECT_EQ(Must(appender->Close()).rows, 2);
  EXPECT_EQ(RowsOf(lake), 2);
}

TEST(Appender, ThreadsShareOne) {
  auto lake = Must(Lake::Open("memory://appender_threads"));
  Table table = NewTable(lake);
  AppenderOptions options;
  options.flush_rows = 50;
  options.flush_interval_ms = 5;
  const auto appender = Must(Appender::Open(table, options));
  std::vector<std::thread> threads;
  std::atomic<int64_t> numbers = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const int64_t write = Must(appender->Append(OneRow(numbers++)));
        if (i % 25 == 0) {
          TL_OK(appender->Wait(write));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Must(appender->Close()).rows, 400);
  EXPECT_EQ(RowsOf(lake), 400);
}

TEST(Appender, ACommitThatFailsIsToldToThoseWhoseRowsWereInIt) {
  auto lake = Must(Lake::Open("memory://appender_fails"));
  Table table = NewTable(lake);
  AppenderOptions options;
  options.flush_interval_ms = 3'600'000;
  const auto appender = Must(Appender::Open(table, options));
  const int64_t first = Must(appender->Append(OneRow(1)));
  Must(appender->Flush());
  const int64_t second = Must(appender->Append(OneRow(2)));
  TL_OK(lake.DropTable("t"));
  const auto flushed = appender->Flush();
  EXPECT_FALSE(flushed.ok());
  EXPECT_THAT(flushed.status().message(), HasSubstr("dropped"));
  TL_OK(appender->Wait(first));
  EXPECT_EQ(appender->Wait(second), flushed.status());
  EXPECT_EQ(Must(appender->Flush()).rows, 1);  // told once
}

TEST(Appender, AnUnknownOutcomeIsRepeatedWithTheSameBatchId) {
  // The reply to the first put of a new version is lost, and the reads that could tell its fate
  // fail: the commit is unknown, and in the table.
  std::atomic<int> puts = 0, blind = 0;
  store::FaultHooks hooks;
  hooks.before = [&](const store::Op& op) -> store::Fault {
    const bool version = op.key.ends_with("v2.metadata.json");
    if (op.kind == store::OpKind::kPutIfAbsent && version && puts++ == 0) {
      blind = 1'000'000;
      return {store::FaultAction::kDropAfter};
    }
    if (blind > 0 && op.kind == store::OpKind::kGet && version) {
      --blind;
      return {store::FaultAction::kError};
    }
    return {};
  };
  auto base = store::MakeMemoryStore(SystemClock());
  std::atomic<int> repeats = 0;
  auto observer = std::make_shared<Observer>();
  observer->log = [&](LogLevel, const std::string& message) {
    if (message.find("repeating a commit") == std::string::npos) return;
    ++repeats;
    blind = 0;
  };
  table::Env env = table::MakeEnv(store::MakeFaultStore(base, hooks), observer);
  auto impl = std::make_shared<detail::LakeImpl>();
  impl->catalog = std::make_shared<table::Catalog>(env, "wh", table::SettingMap{});
  impl->location = impl->catalog->location_uri();
  Lake lake(impl);
  Table table = NewTable(lake);
  AppenderOptions options;
  options.append.settings["commit-timeout"] = "50ms";
  const auto appender = Must(Appender::Open(table, options));
  Must(appender->Append(OneRow(1)));
  Must(appender->Close());
  EXPECT_GE(repeats, 1);
  EXPECT_EQ(RowsOf(lake), 1);
}

TEST(Appender, OptionsAreChecked) {
  auto lake = Must(Lake::Open("memory://appender_options"));
  Table table = NewTable(lake);
  AppenderOptions options;
  options.flush_rows = 0;
  EXPECT_THAT(Appender::Open(table, options).status().message(), HasSubstr("flush rows 0"));
  options.flush_rows = 1;
  options.append.settings["row-group-rows"] = "0";
  EXPECT_THAT(Appender::Open(table, options).status().message(), HasSubstr("row-group-rows"));
}

}  // namespace
}  // namespace timelake
