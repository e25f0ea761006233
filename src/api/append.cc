#include "api/append.h"

#include <fmt/format.h>

#include "api/after_append.h"
#include "api/new_columns.h"
#include "index/next_index.h"
#include "store/scheme.h"
#include "table/append.h"
#include "table/changes.h"
#include "table/load.h"
#include "table/manifests.h"
#include "table/partition_options.h"
#include "table/rollups.h"
#include "table/settings_columns.h"
#include "write/read_back.h"
#include "write/write.h"

namespace timelake::api {
namespace {

using table::Contract;
using table::Handle;
using table::Version;

Result<table::SettingMap> CheckCallSettings(const std::map<std::string, std::string>& settings) {
  table::SettingMap checked;
  for (const auto& [name, value] : settings) {
    TL_ASSIGN_OR_RAISE(std::string key, table::CheckSetting(name, value, table::kAtCall));
    checked[std::string(table::FindSetting(name)->name)] = value;
  }
  return checked;
}

Status CheckSummaryKeys(const std::map<std::string, std::string>& properties) {
  for (const auto& [key, value] : properties) {
    if (key.starts_with("timelake.") || key == "operation") {
      return InvalidArgument("the snapshot property {} is set by the library, not by hand", key);
    }
  }
  return Status::OK();
}

// A table may be written only with a spec and order that we understand.
Status CheckWritable(const Handle& handle, const iceberg::TableMetadata& metadata) {
  const auto* spec = iceberg::DefaultSpec(metadata);
  for (const auto& field : spec->fields) {
    if (field.transform.kind == iceberg::TransformKind::kUnknown) {
      return Unsupported("table {} is partitioned by {}, which this version cannot write",
                         handle.name(), field.transform.text);
    }
  }
  TL_RETURN_NOT_OK(store::CheckWritable(*handle.env().store, handle.folder()));
  const auto recorded = store::KeyOf(*handle.env().store, metadata.location);
  if (!recorded.ok() || *recorded != handle.folder()) {
    return Unsupported(
        "table {} was moved: it records its location as {} but lies in {}; it can be "
        "read here, and written after `timelake relocate {}`",
        handle.name(), metadata.location, handle.location(), handle.name());
  }
  return Status::OK();
}

AppendResult Report(const write::Written& written, const table::AppendOutcome& outcome) {
  AppendResult result;
  result.skipped = written.skipped;
  result.version = outcome.commit.version.number;
  result.added_columns = outcome.added_columns;
  result.attempts = outcome.commit.attempts;
  result.duplicate = outcome.duplicate;
  if (outcome.duplicate) {
    result.rows = outcome.duplicate_rows;
    result.snapshot_id = outcome.duplicate_snapshot;
    return result;
  }
  result.rows = written.rows;
  result.files = static_cast<int64_t>(written.files.size());
  result.bytes = written.bytes;
  result.snapshot_id = outcome.commit.snapshot_id.value_or(0);
  return result;
}

}  // namespace

Result<write::Target> MakeTarget(const Handle& handle, const iceberg::TableMetadata& metadata,
                                 const table::SettingMap& session,
                                 const std::map<std::string, std::string>& call_settings) {
  TL_RETURN_NOT_OK(CheckWritable(handle, metadata));
  TL_ASSIGN_OR_RAISE(auto call, CheckCallSettings(call_settings));
  write::Target target;
  target.table_name = handle.name();
  target.location_uri = metadata.location;
  target.schema = *iceberg::CurrentSchema(metadata);
  target.spec = *iceberg::DefaultSpec(metadata);
  if (const auto* order = iceberg::DefaultSortOrder(metadata)) target.order = *order;
  target.hashed_paths = table::HashesPaths(metadata);
  TL_ASSIGN_OR_RAISE(target.contract, table::ReadContract(metadata));
  TL_ASSIGN_OR_RAISE(target.settings, table::ResolveSettings(metadata.properties, session, call));
  auto& bloom = target.settings.bloom_columns;
  if (Status known = table::CheckBloomColumns(target.schema, bloom); !known.ok()) {
    if (call.contains("bloom-columns")) {
      return WithContext(known, "table " + target.table_name);
    }
    // The property was right once; another engine has changed the schema since.
    target.settings.warnings.push_back(MessageOf(known) + "; no Bloom filters are written");
    bloom.clear();
  }
  return target;
}

Status CheckStale(Handle& handle, int seen, Status status) {
  if (KindOf(status) != ErrorKind::kInvalidArgument) return status;
  const auto newest = table::LoadNewest(handle);
  if (!newest.ok() || newest->metadata->current_schema_id == seen) return status;
  return Conflict(
      "table {}: its columns have been changed by somebody else since this handle saw them; append "
      "the rows again (nothing was committed; they did not fit the columns before: {})",
      handle.name(), MessageOf(status));
}

namespace {

// Times that rows are written for the columns of a table, which change meanwhile.
constexpr int kMostRounds = 5;

// One append, from the rows to the acknowledgement.
class AppendCall {
 public:
  AppendCall(Handle& handle, const table::SettingMap& session, const AppendOptions& options,
             const iceberg::TableMetadata* create, const RefreshMark* mark)
      : handle_(handle), session_(session), options_(options), create_(create), mark_(mark) {}
  ~AppendCall() { Remove(before_); }

  Result<AppendResult> Run(arrow::RecordBatchReader* reader);

 private:
  // Rows as they were written for one state of the table's columns.
  struct Round {
    Version base;
    write::Target target;
    table::WrittenColumns columns;
    write::Written written;
    // The index if the rows come next after `base`; made while the files were written.
    std::optional<index::PreparedIndex> index;
    int64_t started_boot_us = 0;
  };

  Result<Version> FindBase(const arrow::Schema& data) const;
  Result<std::unique_ptr<Round>> Write(arrow::RecordBatchReader* reader) const;
  Result<table::AppendOutcome> Commit(const Round& round) const;
  Result<AppendResult> CommitNothing(const Round& round) const;
  std::shared_ptr<arrow::RecordBatchReader> ReadBack(const Round& round) const;
  void Remove(const std::unique_ptr<Round>& round) const;

  Handle& handle_;
  const table::SettingMap& session_;
  const AppendOptions& options_;
  const iceberg::TableMetadata* create_;
  const RefreshMark* mark_;
  std::unique_ptr<Round> before_;  // its files are no table's
};

// What is known of the table, unless the data has columns that it does not know.
Result<Version> AppendCall::FindBase(const arrow::Schema& data) const {
  if (create_) {
    Version base;
    base.metadata = std::make_shared<const iceberg::TableMetadata>(*create_);
    return base;
  }
  Version base = handle_.known();
  if (base && !HasNewColumns(*iceberg::CurrentSchema(*base.metadata), data)) return base;
  return table::LoadNewest(handle_);
}

Result<std::unique_ptr<AppendCall::Round>> AppendCall::Write(
    arrow::RecordBatchReader* reader) const {
  const table::Env& env = handle_.env();
  auto round = std::make_unique<Round>();
  TL_ASSIGN_OR_RAISE(round->base, FindBase(*reader->schema()));
  auto metadata = round->base.metadata;
  if (!mark_) TL_RETURN_NOT_OK(table::CheckNoRollup(handle_.name(), *metadata, "append to"));
  round->columns.last_column_id = metadata->last_column_id;
  TL_ASSIGN_OR_RAISE(round->target, MakeTarget(handle_, *metadata, session_, options_.settings));
  if (!create_ && round->target.settings.add_new_columns) {
    TL_ASSIGN_OR_RAISE(metadata, WithNewColumns(handle_.name(), metadata, *reader->schema()));
    round->target.schema = *iceberg::CurrentSchema(*metadata);
  }
  round->columns.schema = round->target.schema;
  for (const auto& field : reader->schema()->fields()) round->columns.given.insert(field->name());
  for (const auto& warning : round->target.settings.warnings) env.Log(LogLevel::kWarning, warning);

  write::WriteOptions write_options;
  write_options.on_future = options_.on_future.value_or(OnFuture::kError);
  write_options.now_us = env.clock->NowMicros();
  write_options.cancelled = options_.cancelled;
  write_options.coarse_spec = table::CoarseSpec(*metadata);
  const bool may_prepare = !create_ && round->target.contract.is_time_series();
  if (may_prepare && metadata == round->base.metadata) {
    write_options.on_newest = [&env, round = round.get()](const auto& newest) {
      auto prepared = index::PrepareIndex(env, round->base, newest, round->target.schema);
      if (prepared.ok()) round->index = *std::move(prepared);  // else the commit finds out why
    };
  }
  round->started_boot_us = env.clock->BootMicros();
  auto written = write::WriteData(env, round->target, reader, write_options);
  if (!written.ok()) {
    if (create_) return written.status();
    return CheckStale(handle_, round->base.metadata->current_schema_id, written.status());
  }
  round->written = *std::move(written);
  return round;
}

Result<table::AppendOutcome> AppendCall::Commit(const Round& round) const {
  table::AppendRequest request;
  request.files = round.written.files;
  request.data_keys = round.written.keys;
  request.spec_id = round.written.spec_id;
  if (!create_) request.columns = round.columns;
  request.batch_id = options_.batch_id;
  request.summary = options_.properties;
  if (mark_) {
    request.summary.insert(mark_->summary.begin(), mark_->summary.end());
    request.check = mark_->check;
  }
  request.started_boot_us = round.started_boot_us;
  if (round.target.contract.is_time_series() && round.written.newest) {
    request.index = [&handle = handle_, &round](
                        const Version& on,
                        int64_t snapshot_id) -> Result<std::optional<table::IndexObject>> {
      const table::Env& env = handle.env();
      if (round.index && on.metadata == round.base.metadata) {
        return index::NamedIndex(env, handle.folder(), snapshot_id, *round.index);
      }
      return index::NextIndex(env, handle.folder(), on, snapshot_id, round.written.newest,
                              round.target.schema);
    };
  }
  table::CommitOptions options;
  options.time_budget_us = round.target.settings.commit_timeout_us;
  options.cancelled = options_.cancelled;
  return create_ ? table::CommitCreateWithRows(handle_, *create_, request, options)
                 : table::CommitAppend(handle_, request, options);
}

Result<AppendResult> AppendCall::CommitNothing(const Round& round) const {
  AppendResult nothing;
  nothing.skipped = round.written.skipped;
  nothing.version = round.base.number;
  if (create_) {
    TL_ASSIGN_OR_RAISE(const auto created, table::CommitCreate(handle_, *create_));
    nothing.version = created.version.number;
  }
  return nothing;
}

// The rows that a round wrote, with the columns that the data had.
std::shared_ptr<arrow::RecordBatchReader> AppendCall::ReadBack(const Round& round) const {
  std::vector<write::StoredFile> files;
  for (size_t i = 0; i < round.written.files.size(); ++i) {
    files.push_back({round.written.keys[i], round.written.files[i]});
  }
  return SelectColumns(write::ReadFilesBack(&handle_.env(), &round.target, files),
                       round.columns.given);
}

void AppendCall::Remove(const std::unique_ptr<Round>& round) const {
  if (!round) return;
  const table::Env& env = handle_.env();
  Status status = table::Retried(env, [&] { return env.store->DeleteAll(round->written.keys); });
  if (!status.ok()) {
    env.Log(LogLevel::kInfo,
            handle_.name() + ": data files left for orphan clean-up: " + status.message());
  }
}

Result<AppendResult> AppendCall::Run(arrow::RecordBatchReader* reader) {
  const table::Env& env = handle_.env();
  TL_RETURN_NOT_OK(CheckSummaryKeys(options_.properties));
  std::shared_ptr<arrow::RecordBatchReader> again;
  int64_t skipped = 0;
  for (int number = 1;; ++number) {
    TL_ASSIGN_OR_RAISE(auto round, Write(again ? again.get() : reader));
    again.reset();
    Remove(std::exchange(before_, nullptr));
    skipped += round->written.skipped;
    round->written.skipped = skipped;
    if (round->written.files.empty() && !mark_) return CommitNothing(*round);
    const int64_t started = env.clock->BootMicros();
    TL_ASSIGN_OR_RAISE(const auto outcome, Commit(*round));
    if (!outcome.columns_moved) {
      AppendResult result = Report(round->written, outcome);
      result.commit_ms = static_cast<double>(env.clock->BootMicros() - started) / 1000.0;
      env.Metric("append.rows", result.duplicate ? 0 : result.rows);
      if (create_ == nullptr && !result.duplicate && !round->written.files.empty()) {
        MaintainAfter(handle_, round->target, round->written, outcome.commit.version, options_,
                      &result);
        RefreshAfter(handle_, session_, round->target.settings, options_, &result);
      }
      return result;
    }
    before_ = std::move(round);
    if (number == kMostRounds) {
      return Conflict(
          "table {}: its columns were changed {} times while the rows were written; "
          "nothing was committed",
          handle_.name(), number);
    }
    env.Metric("append.columns_moved");
    env.Log(LogLevel::kInfo,
            handle_.name() + ": its columns were changed meanwhile; the rows are written anew");
    again = ReadBack(*before_);
  }
}

}  // namespace

Result<AppendResult> Append(Handle& handle, const table::SettingMap& session,
                            arrow::RecordBatchReader* reader, const AppendOptions& options,
                            const iceberg::TableMetadata* create) {
  return AppendCall(handle, session, options, create, nullptr).Run(reader);
}

Result<AppendResult> AppendRefresh(Handle& handle, const table::SettingMap& session,
                                   arrow::RecordBatchReader* reader, const AppendOptions& options,
                                   const RefreshMark& mark) {
  return AppendCall(handle, session, options, nullptr, &mark).Run(reader);
}

}  // namespace timelake::api
