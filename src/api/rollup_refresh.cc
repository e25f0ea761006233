#include "api/rollup_refresh.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <fmt/format.h>

#include "api/append.h"
#include "api/delete_rows.h"
#include "api/sliced_rows.h"
#include "base/text.h"
#include "maintain/rollup_changes.h"
#include "maintain/rollup_plan.h"
#include "sql/rollup/define.h"
#include "sql/rollup/expressions.h"
#include "sql/rollup/query.h"
#include "sql/table_version.h"
#include "sql/work_engine.h"
#include "table/load.h"
#include "table/rollup_position.h"
#include "table/rollup_properties.h"
#include "table/rollups.h"

namespace timelake::api {
namespace {

using table::RollupPosition;
using table::TimeRange;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

// Rows of the source that one query aggregates, about: the groups of more would not stay in the
// caches of the processor, and take twice as long.
constexpr int64_t kSliceRows = 2'000'000;

class Refresh {
 public:
  Refresh(table::Catalog& catalog, const std::string& name, const RefreshOptions& options)
      : catalog_(catalog), name_(name), options_(options) {}

  Result<RefreshReport> Run() {
    TL_RETURN_NOT_OK(Open());
    if (!head_) return report_;  // the source has no rows yet
    if (!options_.full && position_ && position_->snapshot == head_->snapshot_id &&
        position_->todo.empty()) {
      return report_;
    }
    TL_RETURN_NOT_OK(StartEngine());
    TL_RETURN_NOT_OK(Choose());
    if (share_.now.empty()) {
      engine_->Return();
      return report_;
    }
    TL_RETURN_NOT_OK(CheckCancelled());
    TL_RETURN_NOT_OK(Compute());
    engine_->Return();
    report_.changed = true;
    report_.ranges = static_cast<int64_t>(share_.now.size());
    report_.left = static_cast<int64_t>(share_.later.size());
    return report_;
  }

 private:
  Status CheckCancelled() const {
    if (!options_.cancelled || !options_.cancelled()) return Status::OK();
    return MakeError(ErrorKind::kCancelled, "rollup " + name_ + ": refresh cancelled");
  }

  Status Open() {
    TL_ASSIGN_OR_RAISE(const auto parsed, table::ParseTableName(name_));
    TL_ASSIGN_OR_RAISE(rollup_, catalog_.Open(parsed));
    const auto metadata = rollup_->known().metadata;
    TL_ASSIGN_OR_RAISE(auto definition, table::ReadRollup(*metadata));
    if (!definition) {
      return InvalidArgument("table {} is no rollup that could be refreshed", name_);
    }
    definition_ = *std::move(definition);
    position_ = table::ReadPosition(*metadata);
    TL_ASSIGN_OR_RAISE(const auto source, table::ParseTableName(definition_.source));
    auto opened = catalog_.Open(source);
    if (!opened.ok()) return WithContext(opened.status(), "rollup " + name_);
    source_ = *opened;
    version_ = source_->known();
    head_ = iceberg::CurrentSnapshot(*version_.metadata);
    TL_ASSIGN_OR_RAISE(contract_, table::ReadContract(*version_.metadata));
    if (!contract_.is_time_series()) {
      return InvalidArgument("rollup {}: table {} has no time column", name_, definition_.source);
    }
    return sql::CompleteDefinition(*version_.metadata, &definition_);
  }

  Status StartEngine() {
    sql::EngineOptions options;
    options.lake = std::shared_ptr<table::Catalog>(&catalog_, [](table::Catalog*) {});
    options.refreshed = name_;
    // What a rollup says is what the table says, whatever a session or the table wants.
    TL_ASSIGN_OR_RAISE(options.pinned[definition_.source],
                       sql::CurrentVersion(*source_, version_,
                                           {{"read-dedup", contract_.dedup ? "true" : "false"}}));
    options.erase = [this](table::Handle& handle, const table::SettingMap&,
                           const table::RowDelete& rows) -> Result<std::optional<DeleteResult>> {
      TL_RETURN_NOT_OK(CheckBase(rows.base));
      TL_ASSIGN_OR_RAISE(const auto done, DeleteRefreshed(handle, {}, rows));
      if (done) report_.removed = done->rows;
      return done;
    };
    TL_ASSIGN_OR_RAISE(auto engine, sql::WorkEngine::Take(std::move(options)));
    engine_.emplace(std::move(engine));
    TL_ASSIGN_OR_RAISE(auto grid, sql::GridOf(**engine_, definition_.width));
    const auto shared = std::make_shared<sql::BucketGrid>(std::move(grid));
    edges_.floor = [shared](int64_t time, int64_t* start) { return shared->Floor(time, start); };
    edges_.next = [shared](int64_t start, int64_t* next) { return shared->Next(start, next); };
    return Status::OK();
  }

  // Which buckets are computed, and where the rollup is then.
  Status Choose() {
    next_.snapshot = head_->snapshot_id;
    next_.sequence = head_->sequence_number;
    next_.table = version_.metadata->table_uuid;
    if (position_) next_.floor_us = position_->floor_us;
    std::vector<TimeRange> ranges;
    maintain::SourceChanges changes;
    if (position_ && !options_.full) {
      TL_ASSIGN_OR_RAISE(changes, maintain::ReadSourceChanges(source_->env(), *version_.metadata,
                                                              contract_, *position_));
    }
    if (changes.known) {
      Raise(changes.floor_us);
      ranges = maintain::Unite(maintain::TouchedBuckets(changes.touched, edges_), position_->todo);
      // Of what an earlier refresh has left it is not known any more why it is to be done.
      may_vanish_ = changes.removed || !position_->todo.empty() || !KeepsGroups();
    } else {
      ranges = {{kLowest, kHighest}};
      if (iceberg::CurrentSnapshot(*rollup_->known().metadata)) {
        // What has gone by retention since is not known.
        Raise(RetentionCutoff());
        may_vanish_ = true;
      }
    }
    ranges = maintain::From(ranges, next_.floor_us);
    int64_t rows = 0;
    for (const auto& span : changes.touched) rows += span.rows;
    const bool large =
        !changes.known || rows > kSliceRows || (position_ && !position_->todo.empty());
    std::vector<maintain::Span> files;
    if ((options_.max_bytes > 0 || large) && !ranges.empty()) {
      TL_ASSIGN_OR_RAISE(files, maintain::LiveSpans(source_->env(), *version_.metadata, contract_,
                                                    {ranges.front().first, ranges.back().end}));
    }
    const int64_t cursor =
        position_ && !position_->todo.empty() ? position_->todo[0].first : kLowest;
    share_ = maintain::ShareOf(ranges, files, options_.max_bytes, edges_, cursor);
    next_.todo = share_.later;
    slices_ = {share_.now};
    if (large) slices_ = maintain::SlicesOf(share_.now, std::move(files), kSliceRows, edges_);
    return Status::OK();
  }

  // Rows before `time` have gone: buckets that reach before it stay as they are.
  void Raise(int64_t time) {
    if (time != kLowest) {
      next_.floor_us = std::max(next_.floor_us, maintain::CeilBucket(time, edges_));
    }
  }

  int64_t RetentionCutoff() const {
    int64_t cutoff = kLowest;
    if (contract_.retention_us) {
      __builtin_sub_overflow(source_->env().clock->NowMicros(), *contract_.retention_us, &cutoff);
    }
    return cutoff;
  }

  // Whether a row that is replaced stays in its group: then groups never become empty by that.
  bool KeepsGroups() const {
    if (!contract_.dedup) return true;
    const auto& series = contract_.key_names;
    return definition_.filter.empty() &&
           std::all_of(definition_.keys.begin(), definition_.keys.end(), [&](const auto& key) {
             return std::find(series.begin(), series.end(), key) != series.end();
           });
  }

  Status CheckBase(const table::Version& base) const {
    if (table::ReadPosition(*base.metadata) == position_) return Status::OK();
    return Conflict("rollup {}: another refresh was faster; nothing was committed", name_);
  }

  Status Compute() {
    sql::RefreshQuery query;
    query.definition = &definition_;
    const auto& schema = *iceberg::CurrentSchema(*version_.metadata);
    query.zoned = iceberg::FindFieldById(schema, *contract_.time_id)->type.id ==
                  iceberg::TypeId::kTimestamptz;
    const auto text_of = [&](size_t slice) {
      query.ranges = slices_[slice];
      return sql::ToSql(query);
    };
    std::shared_ptr<arrow::RecordBatchReader> reader;
    if (may_vanish_) {
      for (size_t i = 0; i < slices_.size(); ++i) {
        const char* into =
            i == 0 ? "CREATE TEMP TABLE timelake_fresh AS " : "INSERT INTO temp.timelake_fresh ";
        TL_RETURN_NOT_OK((*engine_)->Run(into + text_of(i)));
      }
      TL_RETURN_NOT_OK(DeleteVanished(query.zoned));
      TL_ASSIGN_OR_RAISE(reader, (*engine_)->Query("SELECT * FROM temp.timelake_fresh"));
    } else {
      TL_ASSIGN_OR_RAISE(reader, SlicedRows::Make(slices_.size(), [&](size_t slice) {
                           return (*engine_)->Query(text_of(slice));
                         }));
    }
    RefreshMark mark;
    mark.summary = table::ToSummary(next_, position_);
    mark.check = [this](const table::Version& base) { return CheckBase(base); };
    AppendOptions append;
    append.cancelled = options_.cancelled;
    append.settings = {{"on-expired", "skip"}, {"max-future", "off"}};
    TL_ASSIGN_OR_RAISE(const auto done, AppendRefresh(*rollup_, catalog_.session_settings(),
                                                      reader.get(), append, mark));
    report_.rows = done.rows;
    reader.reset();
    return may_vanish_ ? (*engine_)->Run("DROP TABLE temp.timelake_fresh") : Status::OK();
  }

  // Rows of groups that have no rows any more go first: they are of buckets that are behind, which
  // no query takes from the rollup until the append below.
  Status DeleteVanished(bool zoned) {
    std::vector<std::string> same = {fmt::format("f.{0} = r.{0}", Quoted(definition_.bucket))};
    for (const auto& key : definition_.keys) {
      same.push_back(fmt::format("f.{0} IS NOT DISTINCT FROM r.{0}", Quoted(key)));
    }
    TL_ASSIGN_OR_RAISE(const auto parsed, table::ParseTableName(name_));
    return (*engine_)->Run(fmt::format(
        "DELETE FROM lake.{}.{} AS r WHERE {} AND NOT EXISTS (SELECT 1 FROM temp.timelake_fresh AS "
        "f WHERE {})",
        Quoted(parsed.name_space), Quoted(parsed.table),
        sql::InRanges(definition_.bucket, share_.now, zoned), Join(same, " AND ")));
  }

  static std::string Quoted(const std::string& name) { return sql::QuoteName(name); }

  table::Catalog& catalog_;
  const std::string name_;
  const RefreshOptions& options_;
  std::shared_ptr<table::Handle> rollup_, source_;
  table::RollupDefinition definition_;
  std::optional<RollupPosition> position_;  // that this refresh starts from
  RollupPosition next_;
  table::Version version_;  // of the source
  const iceberg::Snapshot* head_ = nullptr;
  table::Contract contract_;
  std::optional<sql::WorkEngine> engine_;
  maintain::BucketEdges edges_;
  maintain::Share share_;
  std::vector<std::vector<TimeRange>> slices_;  // of share_.now, computed one after the other
  bool may_vanish_ = false;
  RefreshReport report_;
};

}  // namespace

Result<RefreshReport> RefreshRollup(table::Catalog& catalog, const std::string& name,
                                    const RefreshOptions& options) {
  return Refresh(catalog, name, options).Run();
}

}  // namespace timelake::api
