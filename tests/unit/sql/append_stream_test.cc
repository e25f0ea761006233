// Rows on their way from a query to an append: back-pressure, errors of either side, stopping.

#include "sql/append_stream.h"

#include <atomic>
#include <chrono>
#include <new>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace timelake::sql {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<arrow::Schema> OneColumn() {
  return arrow::schema({arrow::field("a", arrow::int64())});
}

std::shared_ptr<arrow::RecordBatch> Rows(int64_t count) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < count; ++i) EXPECT_TRUE(builder.Append(i).ok());
  return arrow::RecordBatch::Make(OneColumn(), count, {*builder.Finish()});
}

bool Never() { return false; }

// An append that reads all and says how many rows there were.
Result<AppendResult> ReadAll(arrow::RecordBatchReader* reader, std::function<bool()>) {
  AppendResult result;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    TL_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (!batch) return result;
    result.rows += batch->num_rows();
  }
}

TEST(AppendStream, CarriesAllRows) {
  AppendStream stream(OneColumn(), ReadAll, Never);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(stream.Push(Rows(10)).ok());
  EXPECT_EQ(stream.rows(), 1000);
  const auto result = stream.Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rows, 1000);
}

TEST(AppendStream, HoldsAFewBatchesAtMost) {
  std::atomic<bool> go{false};
  AppendStream stream(
      OneColumn(),
      [&](arrow::RecordBatchReader* reader, std::function<bool()> cancelled) {
        while (!go) std::this_thread::yield();
        return ReadAll(reader, cancelled);
      },
      Never);
  std::atomic<int> pushed{0};
  std::thread producer([&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(stream.Push(Rows(1)).ok());
      ++pushed;
    }
  });
  while (pushed < 4) std::this_thread::yield();
  EXPECT_LE(stream.rows(), 5);
  EXPECT_LE(pushed, 5);
  go = true;
  producer.join();
  EXPECT_EQ(stream.Finish()->rows, 50);
}

TEST(AppendStream, AnErrorOfTheAppendReachesTheQuery) {
  AppendStream stream(
      OneColumn(),
      [](arrow::RecordBatchReader* reader, std::function<bool()>) -> Result<AppendResult> {
        std::shared_ptr<arrow::RecordBatch> batch;
        TL_RETURN_NOT_OK(reader->ReadNext(&batch));
        return InvalidArgument("column a, row 1: no");
      },
      Never);
  Status status;
  while (status.ok()) status = stream.Push(Rows(1));
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), HasSubstr("row 1: no"));
  EXPECT_THAT(MessageOf(stream.Finish().status()), HasSubstr("row 1: no"));
}

TEST(AppendStream, AnExceptionIsAnError) {
  AppendStream stream(
      OneColumn(),
      [](arrow::RecordBatchReader*, std::function<bool()>) -> Result<AppendResult> {
        throw std::bad_alloc();
      },
      Never);
  EXPECT_EQ(KindOf(stream.Finish().status()), ErrorKind::kIo);
}

TEST(AppendStream, AQueryThatGoesAwayFailsTheAppend) {
  Status seen;
  bool told = false;
  {
    AppendStream stream(
        OneColumn(),
        [&](arrow::RecordBatchReader* reader, std::function<bool()> cancelled) {
          auto result = ReadAll(reader, cancelled);
          seen = result.status();
          told = cancelled();
          return result;
        },
        Never);
    ASSERT_TRUE(stream.Push(Rows(1)).ok());
  }
  EXPECT_EQ(KindOf(seen), ErrorKind::kCancelled) << seen;
  EXPECT_TRUE(told);
}

TEST(AppendStream, AnInterruptStopsAWaitingQuery) {
  std::atomic<bool> interrupted{false};
  AppendStream stream(
      OneColumn(),
      [](arrow::RecordBatchReader*, std::function<bool()> cancelled) -> Result<AppendResult> {
        while (!cancelled()) std::this_thread::yield();
        return MakeError(ErrorKind::kCancelled, "stopped");
      },
      [&] { return interrupted.load(); });
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(stream.Push(Rows(1)).ok());
  interrupted = true;
  EXPECT_EQ(KindOf(stream.Push(Rows(1))), ErrorKind::kCancelled);
  EXPECT_EQ(KindOf(stream.Finish().status()), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace timelake::sql
