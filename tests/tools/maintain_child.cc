// Maintains a table and kills itself (SIGKILL) just before or after its n-th deletion of an object,
// or ends by itself if there are fewer. Driven by tests/crash.
//
//   maintain_child WAREHOUSE TABLE MOMENT NTH    MOMENT: before after (its effect)
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "store/fault_store.h"
#include "store/local_store.h"
#include "table/lake_impl.h"
#include "timelake/timelake.h"

namespace {

using timelake::store::Op;
using timelake::store::OpKind;
using timelake::store::YieldPoint;

arrow::Status Run(char** argv) {
  const std::string root = argv[1], table_name = argv[2], moment = argv[3];
  const int nth = std::atoi(argv[4]);
  int seen = 0;
  timelake::store::FaultHooks hooks;
  hooks.yield = [&](const Op& op, YieldPoint point) {
    const auto wanted = moment == "before" ? YieldPoint::kBeforeEffect : YieldPoint::kBeforeReply;
    if (point == wanted && op.kind == OpKind::kDelete && ++seen == nth) kill(getpid(), SIGKILL);
  };
  timelake::table::Env env = timelake::table::MakeEnv(
      timelake::store::MakeFaultStore(timelake::store::MakeLocalStore(), hooks));
  auto impl = std::make_shared<timelake::detail::LakeImpl>();
  impl->catalog =
      std::make_shared<timelake::table::Catalog>(env, root, timelake::table::SettingMap{});
  impl->location = impl->catalog->location_uri();
  timelake::Lake lake(impl);
  ARROW_ASSIGN_OR_RAISE(auto table, lake.OpenTable(table_name));
  ARROW_ASSIGN_OR_RAISE(const auto report, timelake::Maintain(table));
  std::printf("%lld\n", static_cast<long long>(report.objects_deleted));
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const arrow::Status status = Run(argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
