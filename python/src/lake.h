#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fork.h"
#include "session.h"
#include "timelake/ingest.h"
#include "timelake/lake.h"

namespace timelake::python {

// A lake with what its queries share.
struct LakeCore {
  explicit LakeCore(Lake opened)
      : lake(std::move(opened)), sessions(std::make_shared<SessionPool>(lake)) {}
  Lake lake;
  std::shared_ptr<SessionPool> sessions;
};

class LakeObject {
 public:
  explicit LakeObject(std::shared_ptr<LakeCore> core) : core_(std::move(core)) {}

  const std::shared_ptr<LakeCore>& core() const { return core_.get("Lake"); }
  void Close();

 private:
  Owned<LakeCore> core_;
};

void BindLake(nb::module_& m);
void BindRollups(nb::class_<LakeObject>& lake);
void BindTable(nb::module_& m);
void BindAppender(nb::module_& m);
nb::object OpenAppender(const std::shared_ptr<Table>& table, const AppenderOptions& options);
// The Python object of a table.
nb::object WrapTable(Table table);

// How an append or import reports what it has done: tick(rows, bytes_done, bytes_total).
struct Progress {
  std::atomic<int64_t> rows{0};
  std::atomic<int64_t> bytes_done{0};
  std::atomic<int64_t> bytes_total{0};
};
std::function<void()> TickOf(nb::handle callback, std::shared_ptr<Progress> progress);

// Runs an import of files with the options that Python gave; its report.
using ImportWork = std::function<arrow::Result<ImportResult>(const std::vector<std::string>& files,
                                                             const ImportOptions& options)>;
nb::dict RunImport(const std::vector<std::string>& paths, const nb::dict& given,
                   nb::handle progress, const std::shared_ptr<CancelToken>& token,
                   ImportWork import);

// What dropped tables have left is deleted: reports by name, of those that had something.
nb::dict RunMaintainDropped(const LakeObject& self, const nb::dict& options);

using TextMap = std::map<std::string, std::string>;

}  // namespace timelake::python
