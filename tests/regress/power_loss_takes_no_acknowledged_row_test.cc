// The power goes at every request of an append whose rows wait on disk and are merged, and of one
// that an appender commits for several writers. What was acknowledged is there afterwards, what was
// sent again counts once, and the table is whole.
#include <atomic>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "regress/lake_fixture.h"
#include "store/power_loss_store.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

using arrow::Status;

constexpr int64_t kJanuary = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z
constexpr int64_t kMinute = 60'000'000;
// Of one append; the last ones are late.
constexpr int64_t kRows = 1500, kInOrder = 1350;

// Sleeping takes no time.
class FastClock : public Clock {
 public:
  int64_t NowMicros() override { return SystemClock()->NowMicros() + slept_; }
  int64_t BootMicros() override { return SystemClock()->BootMicros() + slept_; }
  void SleepMicros(int64_t micros) override { slept_ += micros; }

 private:
  std::atomic<int64_t> slept_ = 0;
};

// When the power goes: at the request of this number, before or after its effect.
struct Moment {
  int64_t request = 0;
  bool after = false;
};

// Runs until the power goes; then no request has an effect any more.
class Machine {
 public:
  Machine(const std::shared_ptr<store::PowerLossStore>& disk, std::shared_ptr<Clock> clock,
          std::optional<Moment> moment) {
    store::FaultHooks hooks;
    hooks.before = [this, moment](const store::Op&) -> store::Fault {
      const int64_t number = ++requests_;
      if (!moment || number < moment->request) return {};
      const bool now = number == moment->request;
      off_ = true;
      return {now && moment->after ? store::FaultAction::kDropAfter : store::FaultAction::kError};
    };
    observer_ = std::make_shared<Observer>();
    observer_->metric = [this](const char* name, int64_t value) {
      if (std::string_view(name) == "append.spilled_bytes") spilled_ += value;
    };
    table::Env env = table::MakeEnv(store::MakeFaultStore(disk, hooks), observer_);
    env.clock = std::move(clock);
    auto impl = std::make_shared<detail::LakeImpl>();
    impl->catalog = std::make_shared<table::Catalog>(env, "wh", table::SettingMap{});
    impl->location = impl->catalog->location_uri();
    impl->append = api::Append;
    lake_.emplace(std::move(impl));
  }

  Lake& lake() { return *lake_; }
  Table OpenTable() { return Must(lake_->OpenTable("t")); }
  bool off() const { return off_; }
  int64_t requests() const { return requests_; }
  int64_t spilled() const { return spilled_; }

 private:
  std::atomic<int64_t> requests_ = 0, spilled_ = 0;
  std::atomic<bool> off_ = false;
  std::shared_ptr<Observer> observer_;
  std::optional<Lake> lake_;
};

// Three devices in turn over four days; the last rows are late, so that finished files of a day are
// read back and replaced. Values are `first` and up; times of one `first` are of no other.
std::shared_ptr<arrow::RecordBatch> ManyRows(double first) {
  std::vector<Row> rows;
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t minute = i < kInOrder ? i * 4 : (i - kInOrder) * 32 + 1;
    const auto time = kJanuary + minute * kMinute + static_cast<int64_t>(first) * 1000;
    rows.push_back({time, fmt::format("d{}", i % 3), first + static_cast<double>(i)});
  }
  return Batch(rows);
}

class PowerLoss : public LakeTest {
 protected:
  void SetUp() override {
    LakeTest::SetUp();
    clock_ = std::make_shared<FastClock>();
    NewDisk();
  }

  void NewDisk() {
    disk_ = std::make_shared<store::PowerLossStore>(std::make_shared<store::MemoryStore>(clock_));
  }

  std::unique_ptr<Machine> Boot(std::optional<Moment> moment = std::nullopt) {
    return std::make_unique<Machine>(disk_, clock_, moment);
  }

  // Seed 0: all that is not durable is gone; else chance decides of each object.
  void LosePower(uint64_t seed) {
    disk_->PowerLoss(seed == 0 ? nullptr : SeededRandom(seed).get());
  }

  AppendOptions Spilling(const std::string& batch_id) const {
    AppendOptions options;
    options.batch_id = batch_id;
    options.settings["write-memory-bytes"] = "65536";
    options.settings["temp-directory"] = root_.string();
    return options;
  }

  // The values of all rows, each of which must be there once; the index and what the snapshots
  // refer to must be right.
  std::set<int64_t> CheckedValues(Machine* machine) {
    Session session = Must(Session::Open(machine->lake()));
    auto reader = Must(session.Sql("SELECT v::BIGINT AS v FROM t"));
    const auto table = Must(Must(reader->ToTable())->CombineChunks());
    std::set<int64_t> values;
    if (table->num_rows() > 0) {
      const auto& column = dynamic_cast<const arrow::Int64Array&>(*table->column(0)->chunk(0));
      for (int64_t i = 0; i < column.length(); ++i) {
        EXPECT_TRUE(values.insert(column.Value(i)).second) << column.Value(i) << " twice";
      }
    }
    Table opened = machine->OpenTable();
    VerifyOptions deep;
    deep.deep = true;
    for (const auto& finding : Must(Verify(opened, deep)).findings) {
      ADD_FAILURE() << finding.file << ": " << finding.what;
    }
    return values;
  }

  std::shared_ptr<FastClock> clock_;
  std::shared_ptr<store::PowerLossStore> disk_;
};

std::set<int64_t> Range(int64_t first, int64_t end) {
  std::set<int64_t> values;
  for (int64_t i = first; i < end; ++i) values.insert(values.end(), i);
  return values;
}

TEST_F(PowerLoss, InsideAnAppendWhoseRowsWaitOnDisk) {
  int64_t outcomes[2] = {0, 0};  // the append in flight: not there, there
  bool over = false;
  for (int64_t request = 1; !over; ++request) {
    for (const bool after : {false, true}) {
      for (const uint64_t seed : {uint64_t{0}, static_cast<uint64_t>(request)}) {
        SCOPED_TRACE(fmt::format("request {}, after {}, seed {}", request, after, seed));
        NewDisk();
        {
          const auto machine = Boot();
          Table table = Must(machine->lake().CreateTable("t", kColumns, Readings()));
          TL_OK(table.Append(ManyRows(0), Spilling("first")).status());
          ASSERT_GT(machine->spilled(), 0);
        }
        {
          const auto warm = Boot();
          Table table = warm->OpenTable();
          const int64_t before = warm->requests();
          const auto machine = Boot(Moment{before + request, after});
          Table there = machine->OpenTable();
          const auto appended = there.Append(ManyRows(10'000), Spilling("second"));
          over = over || !machine->off();
          EXPECT_EQ(machine->spilled() > 0 || !appended.ok(), true);
          if (appended.ok()) {
            LosePower(seed);
            const auto next = Boot();
            EXPECT_EQ(CheckedValues(next.get()).size(), 2u * kRows);
            continue;
          }
        }
        LosePower(seed);
        EXPECT_TRUE(FilesBelow(root_).empty()) << "rows that waited are left behind";
        const auto next = Boot();
        auto expected = Range(0, kRows);
        const auto found = CheckedValues(next.get());
        const auto second = Range(10'000, 10'000 + kRows);
        const bool there = found.size() > kRows;
        ++outcomes[there];
        if (there) expected.insert(second.begin(), second.end());
        EXPECT_EQ(found, expected);
        // Whoever was told of no success sends it again.
        Table table = next->OpenTable();
        const AppendResult again = Must(table.Append(ManyRows(10'000), Spilling("second")));
        EXPECT_EQ(again.duplicate, there);
        EXPECT_EQ(again.rows, kRows);
        expected.insert(second.begin(), second.end());
        EXPECT_EQ(CheckedValues(next.get()), expected);
      }
    }
  }
  EXPECT_GT(outcomes[0], 20);
  EXPECT_GT(outcomes[1], 0);
}

// What the tests above would see of an append that is acknowledged before its files are durable.
TEST_F(PowerLoss, OnADiskThatDoesNotSyncIsSeen) {
  class LyingDisk : public store::PowerLossStore {
   public:
    using PowerLossStore::PowerLossStore;
    Status Sync(const std::vector<std::string>&) override { return Status::OK(); }
  };
  disk_ = std::make_shared<LyingDisk>(std::make_shared<store::MemoryStore>(clock_));
  const auto machine = Boot();
  Table table = Must(machine->lake().CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(ManyRows(0), Spilling("first")).status());
  LosePower(0);
  const auto next = Boot();
  Table opened = next->OpenTable();
  EXPECT_FALSE(Must(Verify(opened, {})).findings.empty());
}

TEST_F(PowerLoss, InsideAGroupCommit) {
  constexpr int64_t kGroup = 5;
  int64_t lost = 0, kept = 0;
  for (int64_t request = 1; request <= 40; ++request) {
    for (uint64_t seed = 0; seed < 2; ++seed) {
      const bool after = (seed + static_cast<uint64_t>(request)) % 2 == 1;
      SCOPED_TRACE(fmt::format("request {}, seed {}", request, seed));
      NewDisk();
      Must(Boot()->lake().CreateTable("t", kColumns, Readings()));
      std::set<int64_t> acknowledged;
      int64_t sent = 0;
      {
        const auto machine = Boot(Moment{3 + request, after});
        AppenderOptions options;
        options.flush_rows = kGroup;
        options.flush_interval_ms = 1;
        options.append = Spilling("");
        auto table = machine->lake().OpenTable("t");
        if (!table.ok()) continue;  // it went before
        const auto appender = Must(Appender::Open(*table, options));
        for (arrow::Status status; status.ok();) {
          int64_t write = 0;
          for (int64_t i = 0; i < kGroup; ++i, ++sent) {
            write = Must(appender->Append(
                Batch({{kJanuary + sent * kMinute, "a", static_cast<double>(sent)}})));
          }
          status = appender->Wait(write);
          // Groups end where they will: each write has an answer of its own.
          for (int64_t i = write - kGroup + 1; i <= write; ++i) {
            if (appender->Wait(i).ok()) acknowledged.insert(i - 1);
          }
        }
        EXPECT_TRUE(machine->off());
        (void)appender->Close();
      }
      LosePower(seed);
      const auto next = Boot();
      const auto found = CheckedValues(next.get());
      EXPECT_TRUE(
          std::includes(found.begin(), found.end(), acknowledged.begin(), acknowledged.end()));
      EXPECT_TRUE(found.empty() || *found.rbegin() < sent);
      EXPECT_LE(found.size(), acknowledged.size() + kGroup);
      lost += sent - static_cast<int64_t>(found.size());
      kept += static_cast<int64_t>(acknowledged.size());
      EXPECT_TRUE(FilesBelow(root_).empty());
    }
  }
  EXPECT_GT(lost, 0);
  EXPECT_GT(kept, 0);
}

}  // namespace
}  // namespace timelake::regress
