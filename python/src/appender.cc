#include <memory>
#include <utility>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "arrow_io.h"
#include "lake.h"
#include "timelake/ingest.h"

namespace timelake::python {
namespace {

class AppenderObject {
 public:
  explicit AppenderObject(std::shared_ptr<Appender> appender) : appender_(std::move(appender)) {}
  ~AppenderObject() {
    if (appender_.empty()) return;
    // It waits for a commit, which may need the GIL to give up memory of Python's.
    nb::gil_scoped_release nogil;
    appender_.Drop();
  }
  const std::shared_ptr<Appender>& core() const { return appender_.get("Appender"); }

 private:
  Owned<Appender> appender_;
};

nb::dict ToDict(const AppenderStats& stats) {
  nb::dict d;
  d["rows"] = stats.rows;
  d["skipped"] = stats.skipped;
  d["commits"] = stats.commits;
  d["version"] = stats.version;
  d["recovered"] = stats.recovered;
  return d;
}

int64_t Append(const AppenderObject& self, nb::handle source) {
  std::shared_ptr<BatchSource> batches;
  nb::try_cast(source, batches);
  BegunSource begun = Begin(ImportSource(source));
  CallOptions call;
  call.may_abandon = false;
  auto work = [appender = self.core(), begun = std::move(begun)](
                  const std::shared_ptr<Call>& call) mutable -> arrow::Result<int64_t> {
    const auto count = std::make_shared<ReadCount>();
    return appender->Append(ReadOnCallingThread(std::move(begun), call, count).get());
  };
  try {
    return RunCall<int64_t>(call, std::move(work));
  } catch (const StatusException&) {
    if (batches) batches->Rethrow();
    throw;
  }
}

void Wait(const AppenderObject& self, int64_t write) {
  RunCall({}, [appender = self.core(), write](const std::shared_ptr<Call>&) {
    return appender->Wait(write);
  });
}

nb::dict Flush(const AppenderObject& self) {
  return ToDict(RunCall<AppenderStats>(
      {}, [appender = self.core()](const std::shared_ptr<Call>&) { return appender->Flush(); }));
}

nb::dict Close(const AppenderObject& self) {
  CallOptions call;
  call.may_abandon = false;
  return ToDict(RunCall<AppenderStats>(
      call, [appender = self.core()](const std::shared_ptr<Call>&) { return appender->Close(); }));
}

}  // namespace

nb::object OpenAppender(const std::shared_ptr<Table>& table, const AppenderOptions& options) {
  return nb::cast(std::make_shared<AppenderObject>(RunCall<std::shared_ptr<Appender>>(
      {},
      [table, options](const std::shared_ptr<Call>&) { return Appender::Open(*table, options); })));
}

void BindAppender(nb::module_& m) {
  nb::class_<AppenderObject>(m, "Appender")
      .def("append", &Append, nb::arg("source"))
      .def("wait", &Wait, nb::arg("write"))
      .def("flush", &Flush)
      .def("close", &Close);
}

}  // namespace timelake::python
