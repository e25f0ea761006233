#include "maintain/orphans.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/duration.h"
#include "maintain/orphans_plan.h"
#include "table/in_use.h"
#include "table/manifests.h"

namespace timelake::maintain {
namespace {

// Objects that are deleted before it is asked again whether to stop.
constexpr size_t kBatch = 1000;

Status CheckCancelled(const table::Handle& handle, const OrphanOptions& options) {
  if (!options.cancelled || !options.cancelled()) return Status::OK();
  return MakeError(ErrorKind::kCancelled, handle.name() + ": orphan clean-up cancelled");
}

}  // namespace

Result<int64_t> ParseOrphanAge(const std::string& text, bool force) {
  auto age = ParseDuration(text);
  if (!age.ok()) return WithContext(age.status(), "orphan_min_age");
  if (*age < kLeastOrphanAgeUs && !force) {
    return InvalidArgument(
        "orphan_min_age {}: files of a writer that is still at work could go; accepted is a "
        "duration from 24h, and a shorter one only with force",
        text);
  }
  return *age;
}

Status RunOrphans(table::Handle& handle, const OrphanOptions& options, OrphanReport* report) {
  const table::Env& env = handle.env();
  std::vector<store::ObjectInfo> listed;
  OrphanRules rules;
  rules.folder = handle.folder();
  rules.min_age_us = options.min_age_us;
  rules.date_us = std::numeric_limits<int64_t>::max();
  for (const char* below : {"/data/", "/metadata/"}) {
    TL_RETURN_NOT_OK(CheckCancelled(handle, options));
    TL_ASSIGN_OR_RAISE(
        auto reply, table::Retried(env, [&] { return env.store->List(handle.folder() + below); }));
    rules.date_us = std::min(rules.date_us, reply.date_us);
    std::move(reply.objects.begin(), reply.objects.end(), std::back_inserter(listed));
  }
  TL_RETURN_NOT_OK(CheckCancelled(handle, options));
  TL_ASSIGN_OR_RAISE(const table::InUse in_use,
                     table::InUse::Read(handle, table::Reading::kStrict));
  rules.in_use = [&](const std::string& key) { return in_use.Has(key) || in_use.HasName(key); };
  const OrphanPlan plan = PlanOrphans(listed, rules);
  report->young = plan.young;
  report->objects = static_cast<int64_t>(plan.keys.size());
  report->bytes = plan.bytes;
  if (options.dry_run) return Status::OK();
  report->objects = report->bytes = 0;
  for (size_t begin = 0; begin < plan.keys.size(); begin += kBatch) {
    TL_RETURN_NOT_OK(CheckCancelled(handle, options));
    if (begin > 0 && options.enough && options.enough()) return Status::OK();
    const size_t end = std::min(plan.keys.size(), begin + kBatch);
    const std::vector<std::string> batch(plan.keys.begin() + static_cast<ptrdiff_t>(begin),
                                         plan.keys.begin() + static_cast<ptrdiff_t>(end));
    for (const std::string& key : batch) {
      env.Log(LogLevel::kDebug, fmt::format("{}: {} is an orphan", handle.name(), key));
    }
    TL_RETURN_NOT_OK(table::Retried(env, [&] { return env.store->DeleteAll(batch); }));
    report->objects += static_cast<int64_t>(batch.size());
    for (size_t i = begin; i < end; ++i) report->bytes += plan.sizes[i];
  }
  return Status::OK();
}

}  // namespace timelake::maintain
