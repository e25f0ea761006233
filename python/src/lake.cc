#include "lake.h"

#include <utility>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "timelake/maintain.h"

namespace timelake::python {
namespace {

// One observer for all lakes: log lines wait for a thread that has the GIL.
std::shared_ptr<Observer> TheObserver() {
  static const auto observer = [] {
    auto made = std::make_shared<Observer>();
    made->log = [](LogLevel level, const std::string& message) {
      QueueLog(static_cast<int>(level), message);
    };
    return made;
  }();
  return observer;
}

// `callable` returns (keys, microseconds since 1970 or 0); it is called from threads of the core.
CredentialsCallback CallbackOf(const nb::object& callable) {
  if (callable.is_none()) return nullptr;
  const std::shared_ptr<nb::object> held(new nb::object(callable), [](nb::object* object) {
    if (!nb::is_alive()) return;  // the interpreter has gone, and its objects with it
    const nb::gil_scoped_acquire gil;
    delete object;
  });
  return [held]() -> arrow::Result<StorageCredentials> {
    if (!nb::is_alive()) return arrow::Status::IOError("Python has ended");
    const nb::gil_scoped_acquire gil;
    try {
      const auto [keys, expires_us] = nb::cast<std::pair<TextMap, int64_t>>((*held)());
      return StorageCredentials{keys, expires_us};
    } catch (const nb::python_error& error) {
      return arrow::Status::IOError(nb::str(error.type().attr("__name__")).c_str(), ": ",
                                    nb::str(error.value()).c_str());
    } catch (const std::exception& error) {  // nothing may leave: the caller is no Python code
      return arrow::Status::IOError(error.what());
    }
  };
}

std::shared_ptr<LakeObject> OpenLake(const std::string& location, const TextMap& storage_options,
                                     const TextMap& settings, const nb::object& credentials) {
  LakeOptions options;
  options.storage_options = storage_options;
  options.settings = settings;
  options.observer = TheObserver();
  return std::make_shared<LakeObject>(
      std::make_shared<LakeCore>(Check(Lake::Open(location, options, CallbackOf(credentials)))));
}

TableOptions ToTableOptions(const nb::dict& given) {
  TableOptions options;
  options.time_column = nb::cast<std::string>(given["time_column"]);
  options.series_key = nb::cast<std::vector<std::string>>(given["series_key"]);
  const auto chunk = nb::cast<std::string>(given["chunk"]);
  if (chunk == "hour") {
    options.chunk = Chunk::kHour;
  } else if (chunk == "day") {
    options.chunk = Chunk::kDay;
  } else if (chunk == "month") {
    options.chunk = Chunk::kMonth;
  } else if (chunk == "year") {
    options.chunk = Chunk::kYear;
  } else {
    Check(arrow::Status::Invalid("chunk '", chunk, "': accepted are hour, day, month and year"));
  }
  options.partition_by = nb::cast<std::vector<std::string>>(given["partition_by"]);
  if (const auto rows = nb::cast<int64_t>(given["expected_rows_per_day"]); rows > 0) {
    options = WithExpectedRows(std::move(options), rows);
  }
  options.dedup = nb::cast<std::optional<bool>>(given["dedup"]);
  options.retention = nb::cast<std::string>(given["retention"]);
  options.ingest_time = nb::cast<bool>(given["ingest_time"]);
  options.properties = nb::cast<TextMap>(given["properties"]);
  options.if_not_exists = nb::cast<bool>(given["if_not_exists"]);
  return options;
}

using TableResult = arrow::Result<std::shared_ptr<Table>>;

TableResult Shared(arrow::Result<Table> table) {
  ARROW_RETURN_NOT_OK(table.status());
  return std::make_shared<Table>(std::move(table).MoveValueUnsafe());
}

nb::object Opened(std::function<TableResult(const std::shared_ptr<Call>&)> work) {
  return WrapTable(*RunCall<std::shared_ptr<Table>>({}, std::move(work)));
}

// `schema` is a text or an "arrow_schema" capsule.
nb::object CreateTable(const LakeObject& self, const std::string& name, nb::handle schema,
                       const nb::dict& given) {
  const auto core = self.core();
  const TableOptions options = ToTableOptions(given);
  if (nb::isinstance<nb::str>(schema)) {
    return Opened(
        [core, name, text = nb::cast<std::string>(schema), options](const std::shared_ptr<Call>&) {
          return Shared(core->lake.CreateTable(name, std::string_view(text), options));
        });
  }
  const SchemaPtr columns = ImportSchemaCapsule(schema);
  return Opened([core, name, columns, options](const std::shared_ptr<Call>&) {
    return Shared(core->lake.CreateTable(name, columns, options));
  });
}

nb::dict ImportIntoNewTable(const LakeObject& self, const std::string& name,
                            const std::vector<std::string>& paths, const nb::dict& given,
                            nb::handle progress, const std::shared_ptr<CancelToken>& token) {
  auto work = [core = self.core(), name, table = ToTableOptions(given)](
                  const std::vector<std::string>& files, const ImportOptions& options) {
    return CreateAndImport(core->lake, name, files, table, options);
  };
  return RunImport(paths, given, progress, token, std::move(work));
}

nb::object OpenTable(const LakeObject& self, const std::string& name) {
  return Opened([core = self.core(), name](const std::shared_ptr<Call>&) {
    return Shared(core->lake.OpenTable(name));
  });
}

using Names = std::vector<std::string>;

Names Tables(const LakeObject& self, const std::string& name_space) {
  return RunCall<Names>({}, [core = self.core(), name_space](const std::shared_ptr<Call>&) {
    return core->lake.ListTables(name_space);
  });
}

Names Namespaces(const LakeObject& self) {
  return RunCall<Names>({}, [core = self.core()](const std::shared_ptr<Call>&) {
    return core->lake.ListNamespaces();
  });
}

void DropTable(const LakeObject& self, const std::string& name, bool if_exists, bool purge,
               bool cascade) {
  CallOptions call;
  call.may_abandon = false;
  DropOptions options;
  options.if_exists = if_exists;
  options.purge = purge;
  options.cascade = cascade;
  RunCall(call, [core = self.core(), name, options](const std::shared_ptr<Call>&) {
    return core->lake.DropTable(name, options);
  });
}

nb::object CacheStatsOf(const LakeObject& self) {
  const auto stats = self.core()->lake.cache_stats();
  if (!stats) return nb::none();
  nb::dict d;
  d["memory_hits"] = stats->memory_hits;
  d["disk_hits"] = stats->disk_hits;
  d["misses"] = stats->misses;
  d["requests"] = stats->requests;
  d["bytes_hit"] = stats->bytes_hit;
  d["bytes_fetched"] = stats->bytes_fetched;
  d["evictions"] = stats->evictions;
  d["memory_bytes"] = stats->memory_bytes;
  d["memory_limit"] = stats->memory_limit;
  d["disk_bytes"] = stats->disk_bytes;
  d["disk_limit"] = stats->disk_limit;
  d["damaged"] = stats->damaged;
  d["failed_writes"] = stats->failed_writes;
  return d;
}

nb::dict RelocateTable(const LakeObject& self, const std::string& name) {
  CallOptions call;
  call.may_abandon = false;
  const auto report =
      RunCall<RelocateReport>(call, [core = self.core(), name](const std::shared_ptr<Call>&) {
        return Relocate(core->lake, name);
      });
  nb::dict d;
  d["old_location"] = report.from;
  d["location"] = report.to;
  d["relocated"] = report.relocated;
  d["version"] = report.version;
  d["snapshots"] = report.snapshots;
  d["manifests"] = report.manifests;
  d["files"] = report.files;
  d["delete_files"] = report.delete_files;
  d["seconds"] = report.seconds;
  return d;
}

nb::dict Publish(const LakeObject& self) {
  CallOptions call;
  call.may_abandon = false;
  const auto report = RunCall<PublishReport>(
      call, [core = self.core()](const std::shared_ptr<Call>&) { return core->lake.Publish(); });
  nb::list tables;
  for (const auto& table : report.tables) {
    nb::dict d;
    d["table"] = table.name;
    d["version"] = table.version;
    d["metadata"] = table.metadata;
    tables.append(d);
  }
  nb::dict d;
  d["index"] = report.index;
  d["tables"] = tables;
  return d;
}

nb::object Sql(const LakeObject& self, const std::string& text, nb::handle params,
               const std::string& name_space, bool dictionaries,
               const std::shared_ptr<CancelToken>& token) {
  return PooledSql(self.core()->sessions, text, params, name_space, dictionaries, token);
}

nb::list Settings() {
  nb::list result;
  for (const auto& setting : AllSettings()) {
    nb::dict row;
    row["name"] = setting.name;
    row["default"] = setting.default_value;
    row["levels"] = setting.levels;
    row["accepted"] = setting.accepted;
    row["description"] = setting.description;
    result.append(row);
  }
  return result;
}

}  // namespace

void LakeObject::Close() {
  if (core_.inherited()) return;
  const auto core = core_.Release();
  if (!core) return;
  nb::gil_scoped_release release;
  core->sessions->Close();
}

std::function<void()> TickOf(nb::handle callback, std::shared_ptr<Progress> progress) {
  if (callback.is_none()) return nullptr;
  // The caller holds `callback` during the call.
  return [callback, progress = std::move(progress)] {
    callback(progress->rows.load(), progress->bytes_done.load(), progress->bytes_total.load());
  };
}

void BindLake(nb::module_& m) {
  nb::class_<LakeObject> lake(m, "Lake");
  BindRollups(lake);
  lake.def(nb::new_(&OpenLake), nb::arg("location"), nb::arg("storage_options"),
           nb::arg("settings"), nb::arg("credentials").none())
      .def_prop_ro("location", [](const LakeObject& self) { return self.core()->lake.location(); })
      .def("create_table", &CreateTable, nb::arg("name"), nb::arg("schema"), nb::arg("options"))
      .def("import_files", &ImportIntoNewTable, nb::arg("name"), nb::arg("paths"),
           nb::arg("options"), nb::arg("progress").none(), nb::arg("token") = nb::none())
      .def("table", &OpenTable, nb::arg("name"))
      .def("tables", &Tables, nb::arg("namespace"))
      .def("namespaces", &Namespaces)
      .def("cache_stats", &CacheStatsOf)
      .def("relocate", &RelocateTable, nb::arg("name"))
      .def("maintain_dropped", &RunMaintainDropped, nb::arg("options"))
      .def("publish", &Publish)
      .def("drop_table", &DropTable, nb::arg("name"), nb::arg("if_exists"), nb::arg("purge"),
           nb::arg("cascade"))
      .def("sql", &Sql, nb::arg("text"), nb::arg("params").none(), nb::arg("namespace"),
           nb::arg("dictionaries"), nb::arg("token") = nb::none())
      .def("close", &LakeObject::Close);
  m.def("settings", &Settings);
}

}  // namespace timelake::python
