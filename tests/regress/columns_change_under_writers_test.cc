// Columns are matched by id in data files: a writer that still knows the columns of yesterday, or
// that adds columns while others do, must not put values where they are read as others.
#include <thread>

#include <gmock/gmock.h>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = SchemaChange::Kind;

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03

AppendOptions Adding() {
  AppendOptions options;
  options.settings["new-columns"] = "add";
  return options;
}

// One row of one device with `column` as its only value.
std::shared_ptr<arrow::RecordBatch> With(int64_t second, const std::string& device,
                                         const std::string& column,
                                         const std::shared_ptr<arrow::Scalar>& value) {
  auto batch = Batch({{kJanuary + second * 1'000'000, device, 0}});
  auto array = Must(arrow::MakeArrayFromScalar(*value, 1));
  return Must(batch->SetColumn(2, arrow::field(column, array->type()), array));
}

std::shared_ptr<arrow::RecordBatch> With(int64_t second, const std::string& device,
                                         const std::string& column, double value) {
  return With(second, device, column, arrow::MakeScalar(value));
}

// Loses the race for the next version: somebody else commits once the columns have been planned,
// which they are when the first rows are asked for.
class LosesOnce : public arrow::RecordBatchReader {
 public:
  LosesOnce(std::shared_ptr<arrow::RecordBatch> batch, std::function<void()> race)
      : schema_(batch->schema()), batch_(std::move(batch)), race_(std::move(race)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    if (race_) std::exchange(race_, nullptr)();
    *out = std::exchange(batch_, nullptr);
    return arrow::Status::OK();
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::function<void()> race_;
};

class ColumnsChange : public LakeTest {
 protected:
  void SetUp() override {
    LakeTest::SetUp();
    lake_.emplace(OpenLake());
    table_.emplace(Must(lake_->CreateTable("t", kColumns, Readings())));
    TL_OK(table_->Append(Batch({{kJanuary, "a", 1}})).status());
  }

  // The table as another process knows it.
  Table Other() { return Must(others_.emplace_back(OpenLake()).OpenTable("t")); }

  std::string Ask(const std::string& sql) { return regress::Ask(OpenLake(), sql); }

  std::vector<std::string> DataFiles() const { return FilesBelow(Folder("t") / "data"); }

  std::optional<Lake> lake_;
  std::optional<Table> table_;
  std::vector<Lake> others_;
};

TEST_F(ColumnsChange, AStaleHandleWritesUnderTheNamesOfNow) {
  Table stale = Other();
  TL_OK(table_->ChangeSchema({{Kind::kDrop, "v", "", ""}, {Kind::kAdd, "v", "double", ""}}));
  TL_OK(stale.Append(Batch({{kJanuary + 1, "a", 2}})).status());
  EXPECT_EQ(Ask("SELECT count(v) FROM t"), "1");  // the old one stays away
  EXPECT_EQ(Ask("SELECT sum(v) FROM t"), "2");
  EXPECT_EQ(DataFiles().size(), 2u);  // what was written for the old column is gone
  EXPECT_EQ(Must(stale.Info()).rows, 2);
  EXPECT_EQ(Must(Must(stale.Latest())->column(2)->GetScalar(0))->ToString(), "2");
}

TEST_F(ColumnsChange, AStaleHandleIsToldOfAColumnThatIsGone) {
  Table stale = Other();
  TL_OK(table_->ChangeSchema({{Kind::kRename, "v", "w", ""}}));
  const auto refused = stale.Append(Batch({{kJanuary + 1, "a", 2}}));
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kInvalidArgument);
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("column \"v\" of the data is not in the"));
  EXPECT_EQ(DataFiles().size(), 1u);
  EXPECT_EQ(Ask("SELECT count(w) FROM t"), "1");
  // With the new name it goes on.
  TL_OK(stale.Append(With(2, "a", "w", 3)).status());
  EXPECT_EQ(Ask("SELECT sum(w) FROM t"), "4");
}

TEST_F(ColumnsChange, WhatAnotherHasAddedIsNoNewColumn) {
  Table stale = Other();
  TL_OK(table_->ChangeSchema({{Kind::kAdd, "p", "double", ""}}));
  TL_OK(stale.Append(With(1, "a", "p", 2)).status());  // without `new-columns`
  EXPECT_EQ(Ask("SELECT sum(p) FROM t"), "2");
}

TEST_F(ColumnsChange, ATypeThatAnotherHasWidened) {
  TL_OK(table_->ChangeSchema({{Kind::kAdd, "n", "int", ""}}));
  Table stale = Other();
  TL_OK(table_->ChangeSchema({{Kind::kWiden, "n", "long", ""}}));
  const auto large = arrow::MakeScalar(int64_t{1} << 40);
  const auto refused = stale.Append(With(1, "a", "n", large));
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kConflict);
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("append the rows again"));
  TL_OK(stale.Append(With(1, "a", "n", large)).status());
  EXPECT_EQ(Ask("SELECT sum(n) FROM t"), "1099511627776");
  // Values that fit the old type need nothing.
  Table stale_too = Other();
  TL_OK(table_->ChangeSchema({{Kind::kAdd, "m", "int", ""}}));
  Table knows_int = Other();
  TL_OK(table_->ChangeSchema({{Kind::kWiden, "m", "long", ""}}));
  TL_OK(knows_int.Append(With(2, "a", "m", arrow::MakeScalar(int32_t{7}))).status());
  EXPECT_EQ(Ask("SELECT sum(m) FROM t"), "7");
}

TEST_F(ColumnsChange, NewColumnsAreRefusedUnlessAskedFor) {
  const int64_t version = table_->version();
  const auto refused = table_->Append(With(1, "a", "p", 2));
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kInvalidArgument);
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("column \"p\" of the data is not in the"));
  EXPECT_EQ(table_->version(), version);
}

TEST_F(ColumnsChange, NewColumnsComeWithTheRows) {
  const auto result = Must(table_->Append(With(1, "b", "p", 2), Adding()));
  EXPECT_THAT(result.added_columns, ElementsAre("p"));
  EXPECT_EQ(result.version, 3);  // one commit
  EXPECT_THAT(table_->schema()->field_names(), ElementsAre("time", "device", "v", "p"));
  EXPECT_EQ(Ask("SELECT count(*) FROM t WHERE p IS NULL AND v = 1"), "1");
  EXPECT_EQ(Ask("SELECT sum(p) FROM t WHERE v IS NULL"), "2");
  const auto again = Must(table_->Append(With(2, "b", "p", 3), Adding()));
  EXPECT_THAT(again.added_columns, IsEmpty());
  EXPECT_EQ(Must(Must(Other().Latest())->column(3)->GetScalar(1))->ToString(), "3");
  // As a setting of the table.
  TL_OK(table_->SetProperties({{"new-columns", "add"}}));
  EXPECT_THAT(Must(table_->Append(With(3, "b", "note", arrow::MakeScalar("x")))).added_columns,
              ElementsAre("note"));
  EXPECT_EQ(Ask("SELECT max(note) FROM t"), "x");
  // No rows, no columns.
  TL_OK(table_->Append(With(3, "b", "none", 1)->Slice(0, 0)).status());
  EXPECT_EQ(table_->schema()->num_fields(), 5);
}

TEST_F(ColumnsChange, ANewColumnThatCannotBe) {
  const auto says = [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    const auto result = table_->Append(batch, Adding());
    EXPECT_EQ(DataFiles().size(), 1u);
    EXPECT_EQ(table_->schema()->num_fields(), 3);
    return MessageOf(result.status());
  };
  EXPECT_THAT(says(With(1, "a", "V", 1)), HasSubstr("would differ from \"v\" only in case"));
  EXPECT_THAT(says(With(1, "a", "time_day", 1)), HasSubstr("name of a partition field"));
  EXPECT_THAT(says(With(1, "a", "p", arrow::MakeNullScalar(arrow::null()))), HasSubstr("\"p\""));
  EXPECT_THAT(says(With(1, "a", "p", arrow::MakeScalar(uint64_t{1}))), HasSubstr("\"p\""));
}

// Both know the same version; the second loses the race and goes on with what the first made.
TEST_F(ColumnsChange, TwoAddTheSameColumn) {
  Table loser = Other();
  TL_OK(table_->Append(With(1, "a", "p", 2), Adding()).status());
  const auto late = Must(loser.Append(With(2, "a", "p", 3), Adding()));
  EXPECT_THAT(late.added_columns, IsEmpty());
  EXPECT_EQ(Ask("SELECT sum(p) FROM t"), "5");
  EXPECT_EQ(Ask("SELECT max(p) FROM t WHERE time > '2026-01-03 00:00:01.5+00'"), "3");
}

TEST_F(ColumnsChange, TwoAddOneColumnOfTwoTypes) {
  Table loser = Other();
  TL_OK(table_->Append(With(1, "a", "p", arrow::MakeScalar("x")), Adding()).status());
  const size_t files = DataFiles().size();
  const auto late = loser.Append(With(2, "a", "p", arrow::MakeScalar(true)), Adding());
  EXPECT_EQ(KindOf(late.status()), ErrorKind::kInvalidArgument) << late.status().ToString();
  EXPECT_THAT(MessageOf(late.status()), HasSubstr("\"p\""));
  EXPECT_EQ(DataFiles().size(), files);
  EXPECT_EQ(Ask("SELECT count(p) FROM t"), "1");
}

// In the middle of an append: the files that were written keep their ids, the type may be wider.
TEST_F(ColumnsChange, TwoAddTheSameColumnAtOnce) {
  Table winner = Other();
  LosesOnce same(With(2, "a", "p", arrow::MakeScalar(int32_t{3})), [&] {
    TL_OK(winner.Append(With(1, "a", "p", arrow::MakeScalar(int64_t{1} << 40)), Adding()).status());
  });
  const auto late = Must(table_->Append(&same, Adding()));
  EXPECT_THAT(late.added_columns, IsEmpty());
  EXPECT_EQ(late.attempts, 2);
  EXPECT_EQ(DataFiles().size(), 3u);
  EXPECT_EQ(Ask("SELECT sum(p) FROM t"), "1099511627779");
  EXPECT_EQ(Ask("SELECT min(p) FROM t"), "3");
  EXPECT_EQ(Ask("SELECT count(*) FROM t WHERE p < 4"), "1");
  EXPECT_EQ(Must(Must(Other().Latest())->column(3)->GetScalar(0))->ToString(), "3");
  // Of another type: refused, and nothing is left of it.
  LosesOnce other(With(4, "a", "q", arrow::MakeScalar(true)), [&] {
    TL_OK(winner.Append(With(3, "a", "q", arrow::MakeScalar("x")), Adding()).status());
  });
  const auto refused = table_->Append(&other, Adding());
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kInvalidArgument) << refused.status().ToString();
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("\"q\""));
  EXPECT_EQ(DataFiles().size(), 4u);
  EXPECT_EQ(Ask("SELECT count(q) FROM t"), "1");
}

// The id that the loser wrote its files with is another column's by now.
TEST_F(ColumnsChange, TwoAddDifferentColumns) {
  Table winner = Other();
  LosesOnce rows(With(2, "a", "q", 3),
                 [&] { TL_OK(winner.Append(With(1, "a", "p", 2), Adding()).status()); });
  const auto late = Must(table_->Append(&rows, Adding()));
  EXPECT_THAT(late.added_columns, ElementsAre("q"));
  EXPECT_EQ(late.rows, 1);
  EXPECT_EQ(Ask("SELECT sum(p) FROM t"), "2");
  EXPECT_EQ(Ask("SELECT sum(q) FROM t"), "3");
  EXPECT_EQ(DataFiles().size(), 3u);
  EXPECT_THAT(Must(Other().Latest())->schema()->field_names(),
              ElementsAre("time", "device", "v", "p", "q"));

  // The same while a column of the data goes away, or comes back as another.
  LosesOnce drops(With(3, "a", "q", 4), [&] {
    TL_OK(winner.ChangeSchema({{Kind::kDrop, "q", "", ""}}));
  });
  const auto refused = table_->Append(&drops);
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("column \"q\" of the data is not in the"));
  LosesOnce comes_back(With(3, "a", "p", 4), [&] {
    TL_OK(winner.ChangeSchema({{Kind::kDrop, "p", "", ""}, {Kind::kAdd, "p", "float", ""}}));
  });
  TL_OK(table_->Append(&comes_back).status());
  EXPECT_EQ(Ask("SELECT sum(p) FROM t"), "4");
  EXPECT_EQ(DataFiles().size(), 4u);
}

TEST_F(ColumnsChange, ManyAddColumnsAtOnce) {
  constexpr int kWriters = 6;
  std::vector<std::thread> threads;
  std::vector<Table> tables;
  for (int i = 0; i < kWriters; ++i) tables.push_back(Other());
  std::vector<arrow::Status> outcomes(kWriters);
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      // Each a column of its own, and one that all have.
      auto batch = With(i, "d" + std::to_string(i), "own" + std::to_string(i), i + 1);
      auto all = Must(arrow::MakeArrayFromScalar(arrow::DoubleScalar(1), 1));
      batch = Must(batch->AddColumn(3, arrow::field("shared", all->type()), all));
      AppendOptions options = Adding();
      // The columns move with every other writer's commit.
      for (int attempt = 0; attempt < 20; ++attempt) {
        outcomes[i] = tables[i].Append(batch, options).status();
        if (KindOf(outcomes[i]) != ErrorKind::kConflict) break;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  EXPECT_EQ(Ask("SELECT sum(shared) FROM t"), std::to_string(kWriters));
  for (int i = 0; i < kWriters; ++i) {
    const std::string own = "own" + std::to_string(i);
    EXPECT_EQ(Ask("SELECT sum(" + own + ") FROM t"), std::to_string(i + 1));
    EXPECT_EQ(Ask("SELECT count(" + own + ") FROM t"), "1");
  }
  EXPECT_EQ(DataFiles().size(), kWriters + 1u);
}

TEST_F(ColumnsChange, WritersOfAnAppenderMayBringColumns) {
  AppenderOptions options;
  options.append = Adding();
  options.flush_interval_ms = 3'600'000;
  const auto appender = Must(Appender::Open(*table_, options));
  Must(appender->Append(Batch({{kJanuary + 1, "a", 5}})));
  Must(appender->Append(With(2, "b", "p", 2)));
  Must(appender->Append(With(3, "b", "q", arrow::MakeScalar("x"))));
  EXPECT_THAT(MessageOf(appender->Append(With(3, "b", "Q", 1)).status()),
              HasSubstr("only in case"));
  EXPECT_EQ(Must(appender->Flush()).commits, 1);
  EXPECT_EQ(Ask("SELECT sum(v) FROM t"), "6");
  EXPECT_EQ(Ask("SELECT sum(p) FROM t"), "2");
  EXPECT_EQ(Ask("SELECT max(q) FROM t"), "x");
  EXPECT_EQ(Ask("SELECT count(*) FROM t"), "4");
}

// A column that no write has may go; one that writes have is missed by them.
TEST_F(ColumnsChange, AnAppenderGoesOnWhenColumnsGo) {
  TL_OK(table_->ChangeSchema({{Kind::kAdd, "p", "double", ""}}));
  const auto appender = Must(Appender::Open(*table_));
  Table other = Other();
  TL_OK(other.ChangeSchema({{Kind::kDrop, "p", "", ""}}));
  Must(appender->Append(Batch({{kJanuary + 1, "a", 5}})));
  EXPECT_EQ(Must(appender->Flush()).rows, 1);
  TL_OK(other.ChangeSchema({{Kind::kRename, "v", "w", ""}}));
  Must(appender->Append(Batch({{kJanuary + 2, "a", 6}})));
  EXPECT_THAT(MessageOf(appender->Flush().status()), HasSubstr("column \"v\""));
  EXPECT_THAT(MessageOf(appender->Append(Batch({{kJanuary + 3, "a", 7}})).status()),
              HasSubstr("column \"v\""));
  Must(appender->Append(With(4, "a", "w", 8)));
  EXPECT_EQ(Must(appender->Close()).rows, 2);
  EXPECT_EQ(Ask("SELECT sum(w) FROM t"), "14");
}

TEST_F(ColumnsChange, AnAppenderTakesWhatFitsAWidenedColumn) {
  TL_OK(table_->ChangeSchema({{Kind::kAdd, "n", "int", ""}}));
  const auto appender = Must(Appender::Open(*table_));
  TL_OK(Other().ChangeSchema({{Kind::kWiden, "n", "long", ""}}));
  Must(appender->Append(With(1, "a", "n", arrow::MakeScalar(int32_t{1}))));
  const auto large = With(2, "a", "n", arrow::MakeScalar(int64_t{1} << 40));
  const auto refused = appender->Append(large);
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kConflict) << refused.status().ToString();
  Must(appender->Append(large));
  EXPECT_EQ(Must(appender->Close()).rows, 2);
  EXPECT_EQ(Ask("SELECT sum(n) FROM t"), "1099511627777");
}

// What others have added may clash with what is waiting: the commit fails, the appender goes on.
TEST_F(ColumnsChange, AnAppenderGoesOnAfterAClash) {
  AppenderOptions options;
  options.append = Adding();
  options.flush_interval_ms = 3'600'000;
  const auto appender = Must(Appender::Open(*table_, options));
  Must(appender->Append(With(1, "b", "p", 2)));
  TL_OK(Other().ChangeSchema({{Kind::kAdd, "P", "double", ""}}));
  EXPECT_THAT(MessageOf(appender->Flush().status()), HasSubstr("only in case"));
  Must(appender->Append(Batch({{kJanuary + 1, "a", 5}})));
  Must(appender->Append(With(2, "b", "P", 3)));
  EXPECT_EQ(Must(appender->Close()).rows, 2);
  EXPECT_EQ(Ask("SELECT sum(\"P\") FROM t"), "3");
}

TEST_F(ColumnsChange, AChangeIsJudgedByTheNewestColumns) {
  Table stale = Other();
  TL_OK(table_->ChangeSchema({{Kind::kAdd, "p", "double", ""}}));
  TL_OK(stale.ChangeSchema({{Kind::kRename, "p", "q", ""}}));
  EXPECT_THAT(stale.schema()->field_names(), ElementsAre("time", "device", "v", "q"));
  const int64_t version = stale.version();
  TL_OK(stale.ChangeSchema({{Kind::kRename, "q", "q", ""}}));  // nothing to change
  EXPECT_EQ(stale.version(), version);
}

}  // namespace
}  // namespace timelake::regress
