#include "api/append.h"

#include <fmt/format.h>

#include "index/next_index.h"
#include "table/append.h"
#include "table/changes.h"
#include "table/load.h"
#include "table/settings_columns.h"
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
  TL_ASSIGN_OR_RAISE(std::string recorded, store::KeyOf(*handle.env().store, metadata.location));
  if (recorded != handle.folder()) {
    return Unsupported(
        "table {} was moved: it records its location as {} but lies in {}; it can be "
        "read here, not written",
        handle.name(), metadata.location, handle.location());
  }
  return Status::OK();
}

AppendResult Report(const write::Written& written, const table::AppendOutcome& outcome) {
  AppendResult result;
  result.skipped = written.skipped;
  result.version = outcome.commit.version.number;
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

Result<AppendResult> Append(Handle& handle, const table::SettingMap& session,
                            arrow::RecordBatchReader* reader, const AppendOptions& options,
                            const iceberg::TableMetadata* create) {
  const table::Env& env = handle.env();
  TL_RETURN_NOT_OK(CheckSummaryKeys(options.properties));
  Version base;
  if (create) {
    base.metadata = std::make_shared<const iceberg::TableMetadata>(*create);
  } else {
    base = handle.known();
    if (!base) {
      TL_ASSIGN_OR_RAISE(base, table::LoadNewest(handle));
    }
  }
  TL_ASSIGN_OR_RAISE(write::Target target,
                     MakeTarget(handle, *base.metadata, session, options.settings));
  for (const auto& warning : target.settings.warnings) env.Log(LogLevel::kWarning, warning);

  write::WriteOptions write_options;
  write_options.on_future = options.on_future.value_or(OnFuture::kError);
  write_options.now_us = env.clock->NowMicros();
  write_options.cancelled = options.cancelled;
  const int64_t started = env.clock->BootMicros();
  TL_ASSIGN_OR_RAISE(write::Written written, write::WriteData(env, target, reader, write_options));
  if (written.files.empty()) {
    AppendResult nothing;
    nothing.skipped = written.skipped;
    nothing.version = base.number;
    if (create) {
      TL_ASSIGN_OR_RAISE(const auto created, table::CommitCreate(handle, *create));
      nothing.version = created.version.number;
    }
    return nothing;
  }

  table::AppendRequest request;
  request.files = written.files;
  request.data_keys = written.keys;
  request.spec_id = target.spec.spec_id;
  request.batch_id = options.batch_id;
  request.summary = options.properties;
  request.started_boot_us = started;
  if (target.contract.is_time_series() && written.newest) {
    request.index = [&handle, newest = written.newest, schema = target.schema](
                        const Version& on, int64_t snapshot_id) {
      return index::NextIndex(handle.env(), handle.folder(), *on.metadata, snapshot_id, newest,
                              schema);
    };
  }
  table::CommitOptions commit_options;
  commit_options.time_budget_us = target.settings.commit_timeout_us;
  commit_options.cancelled = options.cancelled;
  const int64_t commit_started = env.clock->BootMicros();
  TL_ASSIGN_OR_RAISE(auto outcome,
                     create ? table::CommitCreateWithRows(handle, *create, request, commit_options)
                            : table::CommitAppend(handle, request, commit_options));
  AppendResult result = Report(written, outcome);
  result.commit_ms = static_cast<double>(env.clock->BootMicros() - commit_started) / 1000.0;
  env.Metric("append.rows", result.duplicate ? 0 : result.rows);
  return result;
}

}  // namespace timelake::api
