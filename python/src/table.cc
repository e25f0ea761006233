#include <type_traits>
#include <utility>

#include <arrow/table.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "lake.h"
#include "timelake/ingest.h"
#include "timelake/maintain.h"
#include "timelake/table.h"

namespace timelake::python {
namespace {

class TableObject {
 public:
  explicit TableObject(Table table) : table_(std::make_shared<Table>(std::move(table))) {}
  const std::shared_ptr<Table>& core() const { return table_.get("Table"); }

 private:
  Owned<Table> table_;
};

nb::object TextOrNone(const std::string& text) {
  return text.empty() ? nb::none() : nb::cast(text);
}

nb::dict ToDict(const AppendResult& result) {
  nb::dict report;
  report["rows"] = result.duplicate ? 0 : result.rows;
  report["files"] = result.files;
  report["bytes"] = result.bytes;
  report["version"] = result.version;
  report["commit_ms"] = result.commit_ms;
  report["attempts"] = result.attempts;
  report["duplicate"] = result.duplicate;
  report["skipped"] = result.skipped;
  report["added_columns"] = result.added_columns;
  report["snapshot_id"] = result.snapshot_id ? nb::cast(result.snapshot_id) : nb::none();
  report["files_merged"] = result.files_merged;
  if (!result.maintenance_error.empty()) report["maintenance_error"] = result.maintenance_error;
  return report;
}

nb::dict ToDict(const ImportResult& result) {
  nb::dict report;
  report["rows"] = result.rows;
  report["files"] = result.files;
  report["bytes"] = result.bytes;
  report["version"] = result.version;
  report["commits"] = result.commits;
  report["duplicates"] = result.duplicates;
  report["skipped"] = result.skipped;
  report["added_columns"] = result.added_columns;
  return report;
}

nb::dict ToDict(const TableInfo& info) {
  nb::dict d;
  d["name"] = info.name;
  d["version"] = info.version;
  d["location"] = info.location;
  d["time_column"] = TextOrNone(info.time_column);
  d["series_key"] = info.series_key;
  d["chunk"] = TextOrNone(info.chunk);
  d["partition_by"] = info.partition_by;
  d["dedup"] = info.dedup;
  d["ingest_time_column"] = TextOrNone(info.ingest_time_column);
  d["rows"] = info.rows;
  d["files"] = info.files;
  d["bytes"] = info.bytes;
  d["snapshots"] = info.snapshots;
  d["manifests"] = info.manifests;
  d["last_value_index"] = TextOrNone(info.last_value_index);
  d["retention_us"] = info.retention_us ? nb::cast(*info.retention_us) : nb::none();
  d["delete_files"] = info.delete_files;
  d["table_uuid"] = info.table_uuid;
  d["format_version"] = info.format_version;
  d["batch_id_horizon_ms"] = info.batch_id_horizon_ms;
  d["foreign_snapshots"] = info.foreign_snapshots;
  d["shared"] = info.shared;
  d["rollup_of"] = TextOrNone(RollupSourceOf(info.properties));
  d["rollups"] = RollupsOf(info.properties);
  d["hint_version"] = info.hint_version;
  d["properties"] = info.properties;
  return d;
}

nb::dict ToDict(const SnapshotInfo& info) {
  nb::dict d;
  d["snapshot_id"] = info.snapshot_id;
  d["parent_id"] = info.parent_id ? nb::cast(*info.parent_id) : nb::none();
  d["sequence_number"] = info.sequence_number;
  d["timestamp_ms"] = info.timestamp_ms;
  d["operation"] = info.operation;
  d["current"] = info.current;
  d["summary"] = info.summary;
  return d;
}

nb::dict ToDict(const FileInfo& info) {
  nb::dict d;
  d["path"] = info.path;
  d["content"] = info.content;
  d["partition"] = info.partition;
  d["rows"] = info.rows;
  d["bytes"] = info.bytes;
  d["sequence_number"] = info.sequence_number;
  d["min_time_us"] = info.min_time_us ? nb::cast(*info.min_time_us) : nb::none();
  d["max_time_us"] = info.max_time_us ? nb::cast(*info.max_time_us) : nb::none();
  return d;
}

nb::dict ToDict(const MaintainStep& step) {
  nb::dict d;
  d["task"] = step.task;
  d["partition"] = step.partition;
  d["reason"] = step.reason;
  d["files"] = step.files;
  d["bytes"] = step.bytes;
  d["rows"] = step.rows;
  return d;
}

template <typename T>
nb::list ToList(const std::vector<T>& items) {
  nb::list result;
  for (const auto& item : items) result.append(ToDict(item));
  return result;
}

// "error", "skip" or None.
std::optional<OnFuture> ToOnFuture(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (*text == "error") return OnFuture::kError;
  if (*text == "skip") return OnFuture::kSkip;
  Check(arrow::Status::Invalid("on_future '", *text, "': accepted are error and skip"));
  return std::nullopt;
}

AppendOptions ToAppendOptions(const nb::dict& given) {
  AppendOptions options;
  options.batch_id = nb::cast<std::string>(given["batch_id"]);
  options.properties = nb::cast<TextMap>(given["properties"]);
  options.on_future = ToOnFuture(nb::cast<std::optional<std::string>>(given["on_future"]));
  options.settings = nb::cast<TextMap>(given["settings"]);
  return options;
}

nb::object NewAppender(const TableObject& self, const nb::dict& given, int64_t flush_rows,
                       int64_t flush_interval_ms, std::string write_ahead) {
  return OpenAppender(
      self.core(), {ToAppendOptions(given), flush_rows, flush_interval_ms, std::move(write_ahead)});
}

// What an interrupted commit still did; it stays when Python raises.
template <typename T>
struct Outcome {
  std::mutex mutex;
  std::optional<T> result;
};

// Ctrl-C came while the commit was being stored: the exception says so.
void NoteCommitted(nb::python_error& error, int64_t version) {
  nb::object value = nb::borrow(error.value());
  const std::string note = "the append had been committed before it could be stopped (version " +
                           std::to_string(version) + ")";
  nb::gil_scoped_acquire gil;
  PyObject* done = PyObject_CallMethod(value.ptr(), "add_note", "s", note.c_str());
  if (done == nullptr) PyErr_Clear();
  Py_XDECREF(done);
}

nb::dict Append(const TableObject& self, nb::handle source, const nb::dict& given,
                nb::handle progress_callback, const std::shared_ptr<CancelToken>& token) {
  const auto table = self.core();
  AppendOptions options = ToAppendOptions(given);
  std::shared_ptr<BatchSource> batches;
  nb::try_cast(source, batches);
  BegunSource begun = Begin(ImportSource(source));
  auto progress = std::make_shared<Progress>();
  auto count = std::make_shared<ReadCount>();
  CallOptions call;
  call.token = token;
  call.may_abandon = false;
  if (auto tick = TickOf(progress_callback, progress)) {
    call.tick = [tick, progress, count] {
      progress->rows = count->rows.load();
      tick();
    };
  }
  auto outcome = std::make_shared<Outcome<AppendResult>>();
  auto work = [table, options, begun = std::move(begun), count,
               outcome](const std::shared_ptr<Call>& call) mutable -> arrow::Status {
    options.cancelled = [call] { return call->cancelled(); };
    const auto input = ReadOnCallingThread(std::move(begun), call, count);
    ARROW_ASSIGN_OR_RAISE(AppendResult result, table->Append(input.get(), options));
    const std::lock_guard lock(outcome->mutex);
    outcome->result = result;
    return arrow::Status::OK();
  };
  try {
    RunCall(call, std::move(work));
  } catch (nb::python_error& error) {
    const std::lock_guard lock(outcome->mutex);
    if (outcome->result) NoteCommitted(error, outcome->result->version);
    throw;
  } catch (const StatusException&) {
    if (batches) batches->Rethrow();
    throw;
  }
  return ToDict(*outcome->result);
}

FileFormat ToFormat(const std::string& text) {
  if (text == "auto") return FileFormat::kAuto;
  if (text == "parquet") return FileFormat::kParquet;
  if (text == "csv") return FileFormat::kCsv;
  if (text == "tsv") return FileFormat::kTsv;
  Check(arrow::Status::Invalid("format '", text, "': accepted are auto, parquet, csv and tsv"));
  return FileFormat::kAuto;
}

ImportOptions ToImportOptions(const nb::dict& given) {
  ImportOptions options;
  options.append = ToAppendOptions(given);
  options.read.format = ToFormat(nb::cast<std::string>(given["format"]));
  options.read.null_values =
      nb::cast<std::optional<std::vector<std::string>>>(given["null_values"]);
  options.read.delimiter = nb::cast<std::string>(given["delimiter"]);
  options.rows_per_commit = nb::cast<int64_t>(given["rows_per_commit"]);
  return options;
}

nb::dict ImportIntoTable(const TableObject& self, const std::vector<std::string>& paths,
                         const nb::dict& given, nb::handle progress,
                         const std::shared_ptr<CancelToken>& token) {
  const auto work = [table = self.core()](const std::vector<std::string>& files,
                                          const ImportOptions& options) {
    return ImportFiles(*table, files, options);
  };
  return RunImport(paths, given, progress, token, work);
}

nb::object Latest(const TableObject& self, const std::shared_ptr<CancelToken>& token) {
  CallOptions call;
  call.token = token;
  auto work = [table = self.core()](
                  const std::shared_ptr<Call>&) -> arrow::Result<std::shared_ptr<Stream>> {
    ARROW_ASSIGN_OR_RAISE(auto rows, table->Latest());
    auto stream =
        std::make_shared<Stream>(std::make_shared<arrow::TableBatchReader>(rows), nullptr, nullptr);
    ARROW_RETURN_NOT_OK(stream->ReadAhead(rows->num_rows() + 1));
    return stream;
  };
  return WrapStream(RunCall<std::shared_ptr<Stream>>(call, std::move(work)));
}

nb::dict Info(const TableObject& self) {
  return ToDict(RunCall<TableInfo>(
      {}, [table = self.core()](const std::shared_ptr<Call>&) { return table->Info(); }));
}

nb::list Snapshots(const TableObject& self) {
  return ToList(RunCall<std::vector<SnapshotInfo>>(
      {}, [table = self.core()](const std::shared_ptr<Call>&) { return table->Snapshots(); }));
}

nb::list Files(const TableObject& self) {
  return ToList(RunCall<std::vector<FileInfo>>(
      {}, [table = self.core()](const std::shared_ptr<Call>&) { return table->Files(); }));
}

int64_t Refresh(const TableObject& self) {
  return RunCall<int64_t>(
      {}, [table = self.core()](const std::shared_ptr<Call>&) { return table->Refresh(); });
}

void SetProperties(const TableObject& self,
                   const std::map<std::string, std::optional<std::string>>& properties) {
  CallOptions call;
  call.may_abandon = false;
  RunCall(call, [table = self.core(), properties](const std::shared_ptr<Call>&) {
    return table->SetProperties(properties);
  });
}

// Kind ("add", "rename", "drop", "widen"), column, type or new name, the column before.
using ColumnChange = std::tuple<std::string, std::string, std::string, std::string>;

void ChangeSchema(const TableObject& self, const std::vector<ColumnChange>& given) {
  using Kind = SchemaChange::Kind;
  static const std::map<std::string, Kind> kinds = {{"add", Kind::kAdd},
                                                    {"rename", Kind::kRename},
                                                    {"drop", Kind::kDrop},
                                                    {"widen", Kind::kWiden}};
  std::vector<SchemaChange> changes;
  for (const auto& [kind, column, to, after] : given) {
    changes.push_back({kinds.at(kind), column, to, after});
  }
  CallOptions call;
  call.may_abandon = false;
  RunCall(call, [table = self.core(), changes](const std::shared_ptr<Call>&) {
    return table->ChangeSchema(changes);
  });
}

nb::dict ToDict(const VerifyReport& report) {
  nb::list findings;
  for (const VerifyFinding& finding : report.findings) {
    nb::dict one;
    one["file"] = finding.file;
    one["what"] = finding.what;
    findings.append(one);
  }
  nb::dict d;
  d["findings"] = findings;
  d["version"] = report.version;
  d["snapshots"] = report.snapshots;
  d["manifests"] = report.manifests;
  d["data_files"] = report.data_files;
  d["delete_files"] = report.delete_files;
  d["bytes"] = report.bytes;
  d["rows_read"] = report.rows_read;
  d["unreferenced_objects"] = report.unreferenced_objects;
  d["unreferenced_bytes"] = report.unreferenced_bytes;
  d["seconds"] = report.seconds;
  return d;
}

nb::dict Verify(const TableObject& self, bool deep, const std::shared_ptr<CancelToken>& token) {
  CallOptions call;
  call.token = token;
  auto work = [table = self.core(), deep](const std::shared_ptr<Call>& call) {
    VerifyOptions options;
    options.deep = deep;
    options.cancelled = [call] { return call->cancelled(); };
    return timelake::Verify(*table, options);
  };
  return ToDict(RunCall<VerifyReport>(call, std::move(work)));
}

nb::dict Delete(const TableObject& self, const std::string& where, bool dry_run,
                const std::shared_ptr<CancelToken>& token) {
  CallOptions call;
  call.token = token;
  call.may_abandon = false;
  auto work = [table = self.core(), where, dry_run](const std::shared_ptr<Call>& call) {
    DeleteOptions options;
    options.dry_run = dry_run;
    options.cancelled = [call] { return call->cancelled(); };
    return table->Delete(where, options);
  };
  const DeleteResult result = RunCall<DeleteResult>(call, std::move(work));
  nb::dict d;
  d["rows"] = result.rows;
  d["files_dropped"] = result.files_dropped;
  d["files_rewritten"] = result.files_rewritten;
  d["files_written"] = result.files_written;
  d["version"] = result.version;
  d["snapshot_id"] = result.snapshot_id;
  return d;
}

void Rollback(const TableObject& self, int64_t snapshot_id) {
  CallOptions call;
  call.may_abandon = false;
  RunCall(call, [table = self.core(), snapshot_id](const std::shared_ptr<Call>&) {
    return table->Rollback(snapshot_id);
  });
}

nb::dict Health(const TableObject& self, const std::shared_ptr<CancelToken>& token) {
  CallOptions call;
  call.token = token;
  const auto health = RunCall<TableHealth>(
      call,
      [table = self.core()](const std::shared_ptr<Call>&) { return timelake::Health(*table); });
  nb::dict d;
  d["small_files"] = health.small_files;
  d["unsorted_files"] = health.unsorted_files;
  d["overlapping_files"] = health.overlapping_files;
  d["hint_lag"] = health.hint_lag;
  d["due"] = ToList(health.due);
  return d;
}

// Keys of steps that this version does not have yet are there and 0.
nb::dict ToDict(const MaintainReport& report) {
  nb::dict d;
  d["planned"] = ToList(report.planned);
  d["partitions_compacted"] = report.partitions_compacted;
  d["files_rewritten"] = report.files_rewritten;
  d["files_written"] = report.files_written;
  d["rows_rewritten"] = report.rows_rewritten;
  d["bytes_rewritten"] = report.bytes_rewritten;
  d["bytes_written"] = report.bytes_written;
  d["duplicates_removed"] = report.duplicates_removed;
  d["rows_deleted"] = report.rows_deleted;
  d["delete_files_removed"] = report.delete_files_removed;
  d["merges_abandoned"] = report.merges_abandoned;
  d["merges_left"] = report.merges_left;
  d["bytes_left"] = report.bytes_left;
  d["partitions_dropped"] = report.partitions_dropped;
  d["files_dropped"] = report.files_dropped;
  d["rows_dropped"] = report.rows_dropped;
  d["files_held_back"] = report.files_held_back;
  d["index_rebuilt"] = report.index_rebuilt;
  d["manifests_rewritten"] = report.manifests_rewritten;
  d["manifests_written"] = report.manifests_written;
  d["snapshots_expired"] = report.snapshots_expired;
  d["versions_freed"] = report.versions_freed;
  d["objects_deleted"] = report.objects_deleted;
  d["orphans_deleted"] = report.orphans_deleted;
  d["orphan_bytes"] = report.orphan_bytes;
  d["orphans_young"] = report.orphans_young;
  d["rollups_refreshed"] = report.rollups_refreshed;
  d["rollup_rows"] = report.rollup_rows;
  d["seconds"] = report.seconds;
  return d;
}

MaintainOptions ToMaintainOptions(const nb::dict& given) {
  MaintainOptions options;
  options.retention = nb::cast<bool>(given["retention"]);
  options.exact = nb::cast<bool>(given["exact"]);
  options.rollups = nb::cast<bool>(given["rollups"]);
  options.compact = nb::cast<bool>(given["compact"]);
  options.manifests = nb::cast<bool>(given["manifests"]);
  options.expire = nb::cast<bool>(given["expire"]);
  options.orphans = nb::cast<bool>(given["orphans"]);
  options.orphan_min_age = nb::cast<std::string>(given["orphan_min_age"]);
  options.force = nb::cast<bool>(given["force"]);
  options.full = nb::cast<bool>(given["full"]);
  options.dry_run = nb::cast<bool>(given["dry_run"]);
  options.shard = nb::cast<int>(given["shard"]);
  options.shards = nb::cast<int>(given["shards"]);
  options.max_bytes = nb::cast<int64_t>(given["max_bytes"]);
  options.max_seconds = nb::cast<double>(given["max_seconds"]);
  options.settings = nb::cast<TextMap>(given["settings"]);
  return options;
}

nb::dict Maintain(const TableObject& self, const nb::dict& given,
                  const std::shared_ptr<CancelToken>& token) {
  CallOptions call;
  call.token = token;
  call.may_abandon = false;
  auto work = [table = self.core(),
               options = ToMaintainOptions(given)](const std::shared_ptr<Call>& call) mutable {
    options.cancelled = [call] { return call->cancelled(); };
    return timelake::Maintain(*table, options);
  };
  return ToDict(RunCall<MaintainReport>(call, std::move(work)));
}

}  // namespace

nb::dict RunMaintainDropped(const LakeObject& self, const nb::dict& given) {
  MaintainOptions options;
  const auto take = [&](const char* name, auto* value) {
    if (given.contains(name)) *value = nb::cast<std::decay_t<decltype(*value)>>(given[name]);
  };
  take("expire", &options.expire);
  take("orphans", &options.orphans);
  take("orphan_min_age", &options.orphan_min_age);
  take("force", &options.force);
  take("dry_run", &options.dry_run);
  take("max_seconds", &options.max_seconds);
  take("shard", &options.shard);
  CallOptions call;
  call.may_abandon = false;
  auto work = [core = self.core(), options](const std::shared_ptr<Call>& call) mutable {
    options.cancelled = [call] { return call->cancelled(); };
    return MaintainDropped(core->lake, options);
  };
  nb::dict reports;
  for (const DroppedTable& table : RunCall<std::vector<DroppedTable>>(call, std::move(work))) {
    Check(table.status);
    const MaintainReport& report = table.report;
    if (report.objects_deleted == 0 && report.planned.empty()) continue;
    reports[nb::cast(table.name)] = ToDict(report);
  }
  return reports;
}

nb::dict RunImport(const std::vector<std::string>& paths, const nb::dict& given,
                   nb::handle progress_callback, const std::shared_ptr<CancelToken>& token,
                   ImportWork import) {
  ImportOptions options = ToImportOptions(given);
  auto progress = std::make_shared<Progress>();
  options.progress = [progress](int64_t rows, int64_t done, int64_t total) {
    progress->rows = rows;
    progress->bytes_done = done;
    progress->bytes_total = total;
  };
  CallOptions call;
  call.token = token;
  call.may_abandon = false;
  call.tick = TickOf(progress_callback, progress);
  auto work = [import = std::move(import), paths,
               options](const std::shared_ptr<Call>& call) mutable -> arrow::Result<ImportResult> {
    options.append.cancelled = [call] { return call->cancelled(); };
    ARROW_ASSIGN_OR_RAISE(auto files, ExpandFiles(paths, options.read.format));
    return import(files, options);
  };
  return ToDict(RunCall<ImportResult>(call, std::move(work)));
}

nb::object WrapTable(Table table) {
  return nb::cast(std::make_shared<TableObject>(std::move(table)));
}

void BindTable(nb::module_& m) {
  nb::class_<TableObject>(m, "Table")
      .def_prop_ro("name", [](const TableObject& self) { return self.core()->name(); })
      .def_prop_ro("location", [](const TableObject& self) { return self.core()->location(); })
      .def_prop_ro("version", [](const TableObject& self) { return self.core()->version(); })
      .def("schema", [](const TableObject& self) { return ExportSchema(*self.core()->schema()); })
      .def("append", &Append, nb::arg("source"), nb::arg("options"), nb::arg("progress").none(),
           nb::arg("token") = nb::none())
      .def("appender", &NewAppender, nb::arg("options"), nb::arg("flush_rows"),
           nb::arg("flush_interval_ms"), nb::arg("write_ahead"))
      .def("import_files", &ImportIntoTable, nb::arg("paths"), nb::arg("options"),
           nb::arg("progress").none(), nb::arg("token") = nb::none())
      .def("maintain", &Maintain, nb::arg("options"), nb::arg("token") = nb::none())
      .def("verify", &Verify, nb::arg("deep"), nb::arg("token") = nb::none())
      .def("health", &Health, nb::arg("token") = nb::none())
      .def("latest", &Latest, nb::arg("token") = nb::none())
      .def("info", &Info)
      .def("snapshots", &Snapshots)
      .def("files", &Files)
      .def("refresh", &Refresh)
      .def("set_properties", &SetProperties, nb::arg("properties"))
      .def("change_schema", &ChangeSchema, nb::arg("changes"))
      .def("delete", &Delete, nb::arg("where"), nb::arg("dry_run"), nb::arg("token") = nb::none())
      .def("rollback", &Rollback, nb::arg("snapshot_id"))
      .def("duckdb_sql", [](const TableObject& self) { return self.core()->DuckDbSql(); });
  m.def("infer_schema", [](const std::string& path, const nb::dict& given) {
    const ReadFilesOptions options = ToImportOptions(given).read;
    return ExportSchema(*RunCall<SchemaPtr>({}, [path, options](const std::shared_ptr<Call>& call) {
      ReadFilesOptions stoppable = options;
      stoppable.cancelled = [call] { return call->cancelled(); };
      return InferSchema(path, stoppable);
    }));
  });
}

}  // namespace timelake::python
