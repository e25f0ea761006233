#include "api/write_ahead.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "regress/lake_fixture.h"

namespace timelake::api {
namespace {

using regress::Batch;
using regress::LakeTest;
using regress::Must;
using regress::Readings;
using testing::HasSubstr;

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03
constexpr char kUuid[] = "11111111-2222-4333-8444-555555555555";

std::shared_ptr<arrow::RecordBatch> OneRow(int64_t number) {
  return Batch({{kJanuary + number * 1'000'000, "a", static_cast<double>(number)}});
}

class WriteAheadTest : public LakeTest {
 protected:
  std::string Path() const { return (root_ / "rows").string(); }

  arrow::Result<std::unique_ptr<WriteAhead>> Open(const std::string& uuid = kUuid) const {
    return WriteAhead::Open(Path(), "ns.t", uuid);
  }

  std::string Bytes() const {
    std::ifstream file(Path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetBytes(const std::string& bytes) const {
    std::ofstream(Path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  // Batch ids and values of what is left, "b-0: 1 2; : 3".
  static std::string Left(const WriteAhead& file) {
    std::string text;
    for (const auto& left : file.left()) {
      text += (text.empty() ? "" : "; ") + left.batch_id + ":";
      for (const auto& batch : left.batches) {
        const auto values = batch->GetColumnByName("v");
        for (int64_t i = 0; i < batch->num_rows(); ++i) {
          text += " " + Must(values->GetScalar(i))->ToString();
        }
      }
    }
    return text;
  }
};

TEST_F(WriteAheadTest, KeepsWhatIsNotOver) {
  {
    const auto file = Must(Open());
    EXPECT_TRUE(file->empty());
    TL_OK(file->Write({OneRow(1)}));
    TL_OK(file->Write({OneRow(2), OneRow(3)}));
    TL_OK(file->BeginCommit("b-0"));
    TL_OK(file->EndCommit());
    TL_OK(file->Write({OneRow(4)}));
    TL_OK(file->BeginCommit("b-1"));  // unknown
    TL_OK(file->Write({OneRow(5)}));
    TL_OK(file->BeginCommit("b-2"));
    TL_OK(file->Write({OneRow(6)}));
    TL_OK(file->EndCommit());  // of b-2
    TL_OK(file->Write({OneRow(7)}));
    TL_OK(file->Write({}));
    EXPECT_FALSE(file->empty());
  }
  const auto file = Must(Open());
  EXPECT_EQ(Left(*file), "b-1: 4; : 6 7");
  EXPECT_EQ(file->torn_path(), "");
  TL_OK(file->Reset());
  EXPECT_TRUE(file->empty());
  TL_OK(file->Remove());
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(WriteAheadTest, DictionariesAndNulls) {
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  const auto codes = std::make_shared<arrow::Int32Array>(
      3, arrow::Buffer::FromVector(std::vector<int32_t>{1, 0, 1}));
  arrow::StringBuilder names;
  TL_OK(names.AppendValues({"x", "y"}));
  const auto dictionary =
      std::make_shared<arrow::DictionaryArray>(type, codes, Must(names.Finish()));
  const auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("d", type), arrow::field("n", arrow::int64())}), 3,
      {dictionary, Must(arrow::MakeArrayOfNull(arrow::int64(), 3))});
  TL_OK(Must(Open())->Write({batch}));
  const auto file = Must(Open());
  ASSERT_EQ(file->left().size(), 1u);
  EXPECT_TRUE(file->left()[0].batches.at(0)->Equals(*batch));
}

// A process or the power may go at any byte.
TEST_F(WriteAheadTest, WhatIsCutOffWasNeverTaken) {
  std::vector<int64_t> ends;
  {
    const auto file = Must(Open());
    for (int64_t i = 0; i < 3; ++i) {
      ends.push_back(file->size());
      TL_OK(file->Write({OneRow(i)}));
    }
    ends.push_back(file->size());
  }
  const std::string whole = Bytes();
  const char* const expected[] = {"", ": 0", ": 0 1", ": 0 1 2"};
  for (size_t length = 0; length <= whole.size(); ++length) {
    for (const bool zeros : {false, true}) {
      // The length of a file may reach the disk before its bytes do.
      const std::string bytes = whole.substr(0, length) + (zeros ? std::string(300, '\0') : "");
      SetBytes(bytes);
      std::filesystem::remove(Path() + ".torn");
      const auto file = Must(Open());
      // A record that ends in zeros may be whole before its last bytes have come.
      const auto has = [&](int64_t end) {
        const auto count = static_cast<size_t>(end);
        return bytes.size() >= count && bytes.compare(0, count, whole, 0, count) == 0;
      };
      size_t records = 0;
      while (records < 3 && has(ends[records + 1])) ++records;
      ASSERT_EQ(Left(*file), expected[records]) << length;
      const bool cut =
          zeros || (length > 0 && std::find(ends.begin(), ends.end(), length) == ends.end());
      EXPECT_EQ(!file->torn_path().empty(), cut) << length;
      EXPECT_EQ(std::filesystem::exists(Path() + ".torn"), cut) << length;
      // It goes on from there.
      TL_OK(file->Write({OneRow(9)}));
    }
  }
}

TEST_F(WriteAheadTest, DamageBeforeWholeRecordsIsAnError) {
  {
    const auto file = Must(Open());
    TL_OK(file->Write({OneRow(1)}));
    TL_OK(file->Write({OneRow(2)}));
  }
  const std::string whole = Bytes();
  for (const size_t at : {size_t{5}, size_t{30}, size_t{70}, size_t{200}}) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    SetBytes(damaged);
    const arrow::Status status = Open().status();
    EXPECT_EQ(KindOf(status), ErrorKind::kCorrupt) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("is damaged at byte"));
    EXPECT_THAT(MessageOf(status), HasSubstr(Path()));
    EXPECT_EQ(Bytes(), damaged);
  }
}

TEST_F(WriteAheadTest, IsOfOneTableAndOneAppender) {
  {
    const auto file = Must(Open());
    const arrow::Status used = Open().status();
    EXPECT_EQ(KindOf(used), ErrorKind::kInvalidArgument);
    EXPECT_THAT(MessageOf(used), HasSubstr("is in use by another appender"));
    TL_OK(file->Write({OneRow(1)}));
  }
  const arrow::Status other = Open("22222222-2222-4333-8444-555555555555").status();
  EXPECT_EQ(KindOf(other), ErrorKind::kInvalidArgument);
  EXPECT_THAT(MessageOf(other), HasSubstr("rows of another table (uuid 11111111"));
  SetBytes("some notes of somebody");
  const arrow::Status notes = Open().status();
  EXPECT_THAT(MessageOf(notes), HasSubstr("is no write-ahead file"));
  EXPECT_EQ(Bytes(), "some notes of somebody");
}

// --- with an appender ---

TEST_F(WriteAheadTest, AnAppenderCommitsWhatIsLeftOnce) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", regress::kColumns, Readings()));
  const std::string uuid = Must(table.Info()).table_uuid;
  AppendOptions known;
  known.batch_id = "b-0";
  TL_OK(table.Append(OneRow(1), known).status());  // it went in, and the process ended
  {
    const auto file = Must(Open(uuid));
    TL_OK(file->Write({OneRow(1)}));
    TL_OK(file->BeginCommit("b-0"));
    TL_OK(file->Write({OneRow(2)}));
    TL_OK(file->BeginCommit("b-1"));
    TL_OK(file->Write({OneRow(3)}));
    TL_OK(file->Write({OneRow(4)}));
  }
  AppenderOptions options;
  options.write_ahead = Path();
  {
    const auto appender = Must(Appender::Open(table, options));
    EXPECT_EQ(Must(Must(lake.OpenTable("t")).Info()).rows, 4);
    Must(appender->Append(OneRow(5)));
    const AppenderStats stats = Must(appender->Close());
    EXPECT_EQ(stats.recovered, 3);
    EXPECT_EQ(stats.rows, 1);
  }
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_EQ(Must(Must(lake.OpenTable("t")).Info()).rows, 5);
}

TEST_F(WriteAheadTest, ItIsEmptiedAsCommitsAreOver) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", regress::kColumns, Readings()));
  AppenderOptions options;
  options.write_ahead = Path();
  options.flush_rows = 1000;
  options.flush_interval_ms = 3'600'000;
  std::vector<regress::Row> rows;
  for (int64_t i = 0; i < 1000; ++i) rows.push_back({kJanuary + i, std::string(500, 'a'), 1.0});
  const auto appender = Must(Appender::Open(table, options));
  uintmax_t most = 0;
  for (int i = 0; i < 20; ++i) {
    TL_OK(appender->Wait(Must(appender->Append(Batch(rows)))));
    most = std::max(most, std::filesystem::file_size(Path()));
  }
  EXPECT_LT(most, 3u << 20);  // of 10 MB
  Must(appender->Close());
}

TEST_F(WriteAheadTest, WhatCannotBeCommittedStays) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", regress::kColumns, Readings()));
  {
    const auto file = Must(Open(Must(table.Info()).table_uuid));
    TL_OK(file->Write({OneRow(1)}));
  }
  const auto size = std::filesystem::file_size(Path());
  store::FaultHooks hooks;
  hooks.before = [](const store::Op& op) -> store::Fault {
    if (op.kind == store::OpKind::kPut) return {store::FaultAction::kError};
    return {};
  };
  AppenderOptions options;
  options.write_ahead = Path();
  options.append.settings["commit-timeout"] = "1ms";
  Lake failing = LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  const arrow::Status status = Appender::Open(Must(failing.OpenTable("t")), options).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(MessageOf(status), HasSubstr("rows left in write-ahead file " + Path()));
  EXPECT_GE(std::filesystem::file_size(Path()), size);
  EXPECT_EQ(Must(Must(Appender::Open(table, options))->Close()).recovered, 1);
  EXPECT_EQ(Must(Must(lake.OpenTable("t")).Info()).rows, 1);
}

}  // namespace
}  // namespace timelake::api
