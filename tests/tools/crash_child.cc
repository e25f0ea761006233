// Makes numbered appends to a table, one batch id each, and tells every acknowledgement on stdout,
// until it kills itself (SIGKILL) at a chosen step of the n-th append. Append i holds the rows that
// begin with number i * ROWS; thousands of them do not fit into its memory, so that they wait on
// disk and are merged. With ROWS = -N the numbers are single rows given to an Appender, which
// commits them together; after each N they are waited for. Driven by tests/crash.
//
// With a write-ahead file AHEAD a row is told as soon as it is taken. FIRST = -1 only opens and
// closes the appender, which commits what was left.
//
//   crash_child WAREHOUSE TABLE FIRST STEP MOMENT NTH ROWS [AHEAD]
//
//   STEP: data manifest list index link hint none    MOMENT: before after (its effect)
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <arrow/api.h>
#include <unistd.h>

#include "store/fault_store.h"
#include "store/local_store.h"
#include "table/lake_impl.h"
#include "timelake/timelake.h"

namespace {

using timelake::store::Op;
using timelake::store::OpKind;
using timelake::store::YieldPoint;

bool Matches(const std::string& step, const Op& op) {
  const std::string& key = op.key;
  const auto has = [&](const char* part) { return key.find(part) != std::string::npos; };
  if (step == "data") return op.kind == OpKind::kOpenWrite && has("/data/");
  if (step == "manifest") return op.kind == OpKind::kPut && has("-m.avro");
  if (step == "list") return op.kind == OpKind::kPut && has("/snap-");
  if (step == "index") return op.kind == OpKind::kPut && has("/lvi-");
  if (step == "link") return op.kind == OpKind::kPutIfAbsent && has(".metadata.json");
  if (step == "hint") return op.kind == OpKind::kPutIfMatch;
  return false;
}

std::shared_ptr<arrow::RecordBatch> Numbered(int64_t first, int64_t rows) {
  auto type = arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
  arrow::TimestampBuilder time(type, arrow::default_memory_pool());
  arrow::StringBuilder device;
  arrow::DoubleBuilder value;
  for (int64_t number = first; number < first + rows; ++number) {
    (void)time.Append(number * 1'000'000);
    (void)device.Append("d" + std::to_string(number % 3));
    (void)value.Append(static_cast<double>(number));
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("time", type), arrow::field("device", arrow::utf8()),
                     arrow::field("v", arrow::float64())}),
      rows, {*time.Finish(), *device.Finish(), *value.Finish()});
}

arrow::Status AppendInGroups(const timelake::Table& table, int64_t first, int64_t group,
                             const std::string& ahead) {
  timelake::AppenderOptions options;
  options.flush_rows = group;
  options.flush_interval_ms = 1;
  options.write_ahead = ahead;
  const auto tell = [](int64_t number) {
    std::printf("%lld new\n", static_cast<long long>(number));
    std::fflush(stdout);
  };
  ARROW_ASSIGN_OR_RAISE(auto appender, timelake::Appender::Open(table, options));
  if (first < 0) return appender->Close().status();
  for (int64_t i = first;; i += group) {
    int64_t write = 0;
    for (int64_t number = i; number < i + group; ++number) {
      ARROW_ASSIGN_OR_RAISE(write, appender->Append(Numbered(number, 1)));
      if (!ahead.empty()) tell(number);
    }
    ARROW_RETURN_NOT_OK(appender->Wait(write));
    for (int64_t number = i; ahead.empty() && number < i + group; ++number) tell(number);
  }
}

arrow::Status Run(char** argv) {
  const std::string root = argv[1], table_name = argv[2], step = argv[4], moment = argv[5];
  const int64_t first = std::atoll(argv[3]);
  const int nth = std::atoi(argv[6]);
  const int64_t rows = std::atoll(argv[7]);
  int seen = 0;
  timelake::store::FaultHooks hooks;
  hooks.yield = [&](const Op& op, YieldPoint point) {
    const auto wanted = moment == "before" ? YieldPoint::kBeforeEffect : YieldPoint::kBeforeReply;
    if (point == wanted && Matches(step, op) && ++seen == nth) kill(getpid(), SIGKILL);
  };
  timelake::table::Env env = timelake::table::MakeEnv(
      timelake::store::MakeFaultStore(timelake::store::MakeLocalStore(), hooks));
  auto impl = std::make_shared<timelake::detail::LakeImpl>();
  impl->catalog =
      std::make_shared<timelake::table::Catalog>(env, root, timelake::table::SettingMap{});
  impl->location = impl->catalog->location_uri();
  timelake::Lake lake(impl);
  ARROW_ASSIGN_OR_RAISE(auto table, lake.OpenTable(table_name));
  if (rows < 0) return AppendInGroups(table, first, -rows, argv[8] == nullptr ? "" : argv[8]);
  for (int64_t i = first; i < first + 10'000; ++i) {
    timelake::AppendOptions options;
    options.batch_id = "b" + std::to_string(i);
    options.settings["write-memory-bytes"] = "65536";
    ARROW_ASSIGN_OR_RAISE(auto result, table.Append(Numbered(i * rows, rows), options));
    std::printf("%lld %s\n", static_cast<long long>(i), result.duplicate ? "duplicate" : "new");
    std::fflush(stdout);
  }
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8 && argc != 9) return 2;
  const arrow::Status status = Run(argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
