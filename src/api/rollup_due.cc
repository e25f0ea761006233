#include "api/rollup_due.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "api/rollup_refresh.h"
#include "base/text.h"
#include "maintain/rollup_changes.h"
#include "table/load.h"
#include "table/rollup_properties.h"
#include "table/rollups.h"

namespace timelake::api {
namespace {

// When the rollups of tables that this process appends to are looked at again, in boot time. So
// that most appends ask for nothing. By table, with what tells stores apart.
class Times {
 public:
  bool IsDue(const table::Handle& table, int64_t now) {
    std::lock_guard lock(mutex_);
    const auto found = times_.find({table.env().store.get(), table.folder()});
    return found == times_.end() || found->second.store.expired() || now >= found->second.next;
  }
  void Set(const table::Handle& table, int64_t next) {
    std::lock_guard lock(mutex_);
    if (times_.size() >= kMost) times_.clear();  // all are looked at once more
    times_[{table.env().store.get(), table.folder()}] = {table.env().store, next};
  }

 private:
  struct Time {
    std::weak_ptr<store::ObjectStore> store;
    int64_t next = 0;
  };
  static constexpr size_t kMost = 10'000;
  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, Time> times_;
};

Times& KnownTimes() {
  static Times times;
  return times;
}

// An interval that is changed is seen within this.
constexpr int64_t kMostWaitUs = int64_t{60} * 1'000'000;

class Run {
 public:
  Run(table::Handle& source, const table::SettingMap& session, const RollupRun& options,
      RollupsDone* done)
      : catalog_(source.env(), RootOf(source), session), options_(options), done_(done) {}

  Status Of(const std::string& name, const iceberg::TableMetadata& metadata) {
    TL_ASSIGN_OR_RAISE(auto rollups, table::OpenRollups(catalog_, name, metadata));
    // Wide ones are made from narrow ones where that is less work.
    std::stable_sort(rollups.begin(), rollups.end(),
                     [](const auto& a, const auto& b) { return WidthOf(*a) < WidthOf(*b); });
    for (const auto& rollup : rollups) TL_RETURN_NOT_OK(One(*rollup));
    return Status::OK();
  }

  int64_t next_us() const { return next_us_; }

 private:
  // A table's folder is <root>/<namespace>/<table>.
  static std::string RootOf(const table::Handle& source) {
    const std::string& folder = source.folder();
    const size_t table = folder.rfind('/');
    return folder.substr(0, folder.rfind('/', table - 1));
  }

  static std::pair<int64_t, int64_t> WidthOf(const table::Handle& rollup) {
    const auto definition = table::ReadRollup(*rollup.known().metadata);
    if (!definition.ok() || !*definition) return {0, 0};
    return {(*definition)->width.months, (*definition)->width.micros};
  }

  Status One(const table::Handle& rollup) {
    const auto metadata = rollup.known().metadata;
    TL_ASSIGN_OR_RAISE(const auto definition, table::ReadRollup(*metadata));
    if (!definition) return Status::OK();  // the Rust timelake's, which refreshes it
    if (options_.only_due) {
      TL_ASSIGN_OR_RAISE(const bool due, IsDue(rollup, *metadata));
      if (!due) return Status::OK();
    }
    if (options_.dry_run) {
      TL_ASSIGN_OR_RAISE(const bool behind, IsBehind(*metadata, definition->source));
      if (behind) done_->behind.push_back(rollup.name());
    } else {
      RefreshOptions refresh;
      refresh.max_bytes = options_.max_bytes;
      refresh.cancelled = options_.cancelled;
      const auto report = RefreshRollup(catalog_, rollup.name(), refresh);
      if (!report.ok() && KindOf(report.status()) != ErrorKind::kConflict) {
        return WithContext(report.status(), "rollup " + rollup.name());
      }
      if (report.ok() && report->changed) {
        ++done_->refreshed;
        done_->rows += report->rows;
      }
    }
    return Of(rollup.name(), *rollup.known().metadata);
  }

  Result<bool> IsDue(const table::Handle& rollup, const iceberg::TableMetadata& metadata) {
    const auto interval = table::RollupRefreshInterval(metadata);
    if (!interval) return false;
    int64_t last_ms = 0;
    for (const auto& snapshot : metadata.snapshots) {
      if (snapshot.summary.contains("operation") && snapshot.summary.at("operation") != "replace") {
        last_ms = std::max(last_ms, snapshot.timestamp_ms);
      }
    }
    const int64_t now = rollup.env().clock->NowMicros();
    const int64_t left = last_ms * 1000 + *interval - now;
    next_us_ = std::min(next_us_, left > 0 ? left : *interval);
    return left <= 0;
  }

  Result<bool> IsBehind(const iceberg::TableMetadata& metadata, const std::string& source) {
    TL_ASSIGN_OR_RAISE(const auto name, table::ParseTableName(source));
    TL_ASSIGN_OR_RAISE(const auto handle, catalog_.Open(name));
    return maintain::IsBehind(handle->env(), *handle->known().metadata, metadata);
  }

  table::Catalog catalog_;
  const RollupRun& options_;
  RollupsDone* const done_;
  int64_t next_us_ = kMostWaitUs;
};

}  // namespace

Status RefreshRollupsOf(table::Handle& source, const table::SettingMap& session,
                        const RollupRun& run, RollupsDone* done) {
  const auto metadata = source.known().metadata;
  if (!metadata || table::RollupsOf(metadata->properties).empty()) return Status::OK();
  if (!run.only_due) return Run(source, session, run, done).Of(source.name(), *metadata);
  const int64_t now = source.env().clock->BootMicros();
  if (!KnownTimes().IsDue(source, now)) return Status::OK();
  Run due(source, session, run, done);
  const Status status = due.Of(source.name(), *metadata);
  KnownTimes().Set(source, now + due.next_us());
  return status;
}

}  // namespace timelake::api
