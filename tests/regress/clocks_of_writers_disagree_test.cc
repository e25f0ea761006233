// O15: apache/iceberg 1109, PR 1110, PR 17360.
#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class ShiftedClock : public Clock {
 public:
  explicit ShiftedClock(int64_t shift_us) : shift_us_(shift_us) {}
  int64_t NowMicros() override { return SystemClock()->NowMicros() + shift_us_; }
  int64_t BootMicros() override { return SystemClock()->BootMicros(); }
  void SleepMicros(int64_t micros) override { SystemClock()->SleepMicros(micros); }

 private:
  const int64_t shift_us_;
};

class Clocks : public LakeTest, public testing::WithParamInterface<int64_t> {};

TEST_P(Clocks, LogsNeverGoBack) {
  Lake a = OpenLake();
  Lake b =
      LakeOver(store::MakeLocalStore(), std::make_shared<ShiftedClock>(-GetParam() * 1'000'000));
  Table ta = Must(a.CreateTable("t", kColumns, Readings()));
  Table tb = Must(b.OpenTable("t"));
  for (int64_t i = 0; i < 6; ++i) {
    Table& table = i % 2 == 0 ? ta : tb;
    TL_OK(table.Append(Batch({{i, "a", 1.0 * i}})).status());
  }
  const auto version = Must(a.OpenTable("t")).version();
  EXPECT_EQ(version, 7);
  int64_t last = 0;
  for (const auto& snapshot : Must(ta.Snapshots())) {
    EXPECT_GE(snapshot.timestamp_ms, last);
    last = snapshot.timestamp_ms;
  }
  const auto& metadata = *Must(a.impl()->catalog->Open({"default", "t"}))->known().metadata;
  EXPECT_GE(metadata.last_updated_ms, last);
  for (size_t i = 1; i < metadata.metadata_log.size(); ++i) {
    EXPECT_GE(metadata.metadata_log[i].timestamp_ms, metadata.metadata_log[i - 1].timestamp_ms);
  }
}

INSTANTIATE_TEST_SUITE_P(BehindBySeconds, Clocks, testing::Values(30, 600));

}  // namespace
}  // namespace timelake::regress
