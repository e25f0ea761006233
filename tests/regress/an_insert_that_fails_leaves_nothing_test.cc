// A statement that writes is one commit or none: after an error, a stop or a store that fails there
// is no row, no version and no file of it.

#include <atomic>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "regress/lake_fixture.h"
#include "timelake/session.h"

namespace timelake::regress {
namespace {

class AnInsertThatFails : public LakeTest {
 protected:
  static Session NewSession(const Lake& lake, int threads = 2) {
    SessionOptions options;
    options.threads = threads;
    return Must(Session::Open(lake, options));
  }

  static arrow::Status Run(Session* session, const std::string& text) {
    ARROW_ASSIGN_OR_RAISE(auto reader, session->Sql(text));
    return reader->ToTable().status();
  }

  // Rows, snapshots and data files of `t`.
  std::string State(const Lake& lake) {
    return Ask(lake, "SELECT count(*) || ' ' || (SELECT count(*) FROM t$snapshots) FROM t") + " " +
           std::to_string(FilesBelow(Folder("t") / "data").size());
  }

  // Long enough to be stopped in the middle, whatever the machine.
  static constexpr char kLong[] =
      "INSERT INTO t SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (i % 100000) SECOND, "
      "'d' || (i // 100000), i FROM range(100000000000) r(i)";
};

TEST_F(AnInsertThatFails, ByAnInterruptLeavesNothing) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (const int threads : {1, 2}) {
    Session session = NewSession(lake, threads);
    std::atomic<bool> done{false};
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      while (!done) {  // one that comes before the query has begun is forgotten
        session.Interrupt();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    const arrow::Status status = Run(&session, kLong);
    done = true;
    stopper.join();
    EXPECT_EQ(KindOf(status), ErrorKind::kCancelled) << status;
    EXPECT_EQ(State(lake), "0 0 0");
  }
}

TEST_F(AnInsertThatFails, ByItsStoreLeavesNothing) {
  Lake lake = OpenLake();
  Must(lake.CreateTable("t", kColumns, Readings()));
  std::atomic<bool> fail{true};
  store::FaultHooks hooks;
  hooks.before = [&](const store::Op& op) {
    const bool manifest = op.kind == store::OpKind::kPut && op.key.ends_with("-added-m.avro");
    return store::Fault{fail && manifest ? store::FaultAction::kError : store::FaultAction::kNone};
  };
  Lake failing = LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  Session session = NewSession(failing);
  const std::string insert = "INSERT INTO t VALUES ('2026-01-01', 'a', 1)";
  EXPECT_FALSE(Run(&session, insert).ok());
  EXPECT_FALSE(Run(&session, "CREATE TABLE u AS FROM (VALUES (1)) v(a)").ok());
  EXPECT_EQ(State(lake), "0 0 0");
  EXPECT_EQ(Must(lake.ListTables()), std::vector<std::string>{"default.t"});
  EXPECT_TRUE(FilesBelow(Folder("u") / "data").empty());
  fail = false;
  TL_OK(Run(&session, insert));
  EXPECT_EQ(State(lake), "1 1 1");
  TL_OK(Run(&session, "CREATE TABLE u AS FROM (VALUES (1)) v(a)"));
}

TEST_F(AnInsertThatFails, IsNotOneWhoseReplyIsLost) {
  Lake lake = OpenLake();
  Must(lake.CreateTable("t", kColumns, Readings()));
  std::atomic<int> lost{0};
  store::FaultHooks hooks;
  hooks.before = [&](const store::Op& op) {
    const bool commit = op.kind == store::OpKind::kPutIfAbsent &&
                        op.key.find("/metadata/v2.") != std::string::npos && lost++ == 0;
    return store::Fault{commit ? store::FaultAction::kDropAfter : store::FaultAction::kNone};
  };
  Lake unsure = LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  Session session = NewSession(unsure);
  TL_OK(Run(&session, "INSERT INTO t VALUES ('2026-01-01', 'a', 1)"));
  EXPECT_GT(lost, 0);
  EXPECT_EQ(State(lake), "1 1 1");
}

// CREATE TABLE AS: the first version has the rows, or there is nothing at all.
TEST_F(AnInsertThatFails, WithItsTableLeavesNothing) {
  Lake lake = OpenLake();
  enum { kFail, kLoseReply, kOvertake, kNothing } mishap = kFail;
  store::FaultHooks hooks;
  hooks.before = [&](const store::Op& op) {
    const bool first = op.kind == store::OpKind::kPutIfAbsent &&
                       op.key.find("/u/metadata/v1.") != std::string::npos;
    if (!first) return store::Fault{store::FaultAction::kNone};
    switch (std::exchange(mishap, kNothing)) {
      case kFail: return store::Fault{store::FaultAction::kError};
      case kLoseReply: return store::Fault{store::FaultAction::kDropAfter};
      case kOvertake: Must(lake.CreateTable("u", "b:long", {})); break;
      case kNothing: break;
    }
    return store::Fault{store::FaultAction::kNone};
  };
  Lake unsure = LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  Session session = NewSession(unsure);
  const std::string create =
      "CREATE TABLE u WITH (time_column = 'time') AS SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' "
      "AS time, 1 AS a";
  EXPECT_FALSE(Run(&session, create).ok());
  EXPECT_TRUE(FilesBelow(Folder("u")).empty()) << FilesBelow(Folder("u"))[0];
  EXPECT_TRUE(Must(lake.ListTables()).empty());

  mishap = kOvertake;
  const arrow::Status late = Run(&session, create);
  EXPECT_EQ(KindOf(late), ErrorKind::kAlreadyExists) << late;
  const std::string counts = "SELECT count(*) || ' ' || (SELECT count(*) FROM u$snapshots) FROM u";
  EXPECT_EQ(Ask(lake, counts), "0 0");
  EXPECT_TRUE(FilesBelow(Folder("u") / "data").empty());
  TL_OK(lake.DropTable("u"));
  std::filesystem::remove_all(Folder("u"));

  mishap = kLoseReply;
  Lake again = LakeOver(store::MakeFaultStore(store::MakeLocalStore(), hooks));
  Session other = NewSession(again);
  TL_OK(Run(&other, create));
  EXPECT_EQ(Ask(lake, counts), "1 1");
  EXPECT_EQ(FilesBelow(Folder("u") / "data").size(), 1U);
}

TEST_F(AnInsertThatFails, ManyAtOnceDoNot) {
  Lake lake = OpenLake();
  Must(lake.CreateTable("t", kColumns, Readings()));
  std::vector<std::thread> writers;
  std::atomic<int> failures{0};
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      Session session = NewSession(lake, 1);
      for (int i = 0; i < 5; ++i) {
        const auto status =
            Run(&session, fmt::format("INSERT INTO t SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' + "
                                      "INTERVAL (i) SECOND, 'd{}', {} FROM range(10) r(i)",
                                      w * 100 + i, i));
        if (!status.ok()) ++failures;
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(State(lake), "200 20 20");
}

// The statement has run when Sql returns, whether or not anybody reads its result.
TEST_F(AnInsertThatFails, IsNotOneWhoseResultIsNotRead) {
  Lake lake = OpenLake();
  Session session = NewSession(lake);
  for (const char* text :
       {"CREATE TABLE t (time TIMESTAMPTZ, device VARCHAR, v DOUBLE) WITH (time_column = 'time')",
        "INSERT INTO t VALUES ('2026-01-01', 'a', 1)", "ALTER TABLE t SET (retention = '7d')",
        "CREATE TABLE u AS FROM t", "DROP TABLE u"}) {
    auto reader = session.Sql(text);
    TL_OK(reader.status());
  }
  EXPECT_EQ(State(lake), "1 1 1");
  EXPECT_EQ(Must(Must(lake.OpenTable("t")).Info()).properties.at("timelake.retention"), "7d");
  EXPECT_EQ(Must(lake.ListTables()), std::vector<std::string>{"default.t"});
}

}  // namespace
}  // namespace timelake::regress
