#include <utility>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "lake.h"

namespace timelake::python {
namespace {

CallOptions Whole(const std::shared_ptr<CancelToken>& token) {
  CallOptions call;
  call.may_abandon = false;
  call.token = token;
  return call;
}

nb::dict ToDict(const RollupRefresh& done) {
  nb::dict d;
  d["rollup"] = done.rollup;
  d["rows"] = done.rows;
  d["ranges"] = done.ranges;
  d["left"] = done.left;
  d["changed"] = done.changed;
  return d;
}

nb::dict CreateRollup(const LakeObject& self, const std::string& name, const std::string& select,
                      bool or_replace, bool if_not_exists, const TextMap& settings,
                      const std::shared_ptr<CancelToken>& token) {
  RollupOptions options;
  options.or_replace = or_replace;
  options.if_not_exists = if_not_exists;
  options.settings = settings;
  auto work = [core = self.core(), name, select, options](const std::shared_ptr<Call>& call) {
    RollupOptions mine = options;
    mine.cancelled = [call] { return call->cancelled(); };
    return core->lake.CreateRollup(name, select, mine);
  };
  return ToDict(RunCall<RollupRefresh>(Whole(token), std::move(work)));
}

nb::dict RefreshRollup(const LakeObject& self, const std::string& name, bool full,
                       int64_t max_bytes, const std::shared_ptr<CancelToken>& token) {
  RefreshRollupOptions options;
  options.full = full;
  options.max_bytes = max_bytes;
  auto work = [core = self.core(), name, options](const std::shared_ptr<Call>& call) {
    RefreshRollupOptions mine = options;
    mine.cancelled = [call] { return call->cancelled(); };
    return core->lake.RefreshRollup(name, mine);
  };
  return ToDict(RunCall<RollupRefresh>(Whole(token), std::move(work)));
}

nb::list Rollups(const LakeObject& self) {
  using Infos = std::vector<RollupInfo>;
  const auto infos = RunCall<Infos>(
      {}, [core = self.core()](const std::shared_ptr<Call>&) { return core->lake.ListRollups(); });
  nb::list list;
  for (const auto& info : infos) {
    nb::dict d;
    d["rollup"] = info.rollup;
    d["source"] = info.source;
    d["width"] = info.width;
    d["keys"] = info.keys;
    d["aggregates"] = info.aggregates;
    d["filter"] = info.filter;
    d["refresh_interval"] = info.refresh_interval;
    d["retention"] = info.retention;
    d["stale"] = info.stale;
    list.append(d);
  }
  return list;
}

void DropRollup(const LakeObject& self, const std::string& name, bool if_exists) {
  RunCall(Whole(nullptr), [core = self.core(), name, if_exists](const std::shared_ptr<Call>&) {
    return core->lake.DropRollup(name, if_exists);
  });
}

}  // namespace

void BindRollups(nb::class_<LakeObject>& lake) {
  lake.def("create_rollup", &CreateRollup, nb::arg("name"), nb::arg("select"),
           nb::arg("or_replace"), nb::arg("if_not_exists"), nb::arg("settings"),
           nb::arg("token") = nb::none())
      .def("refresh_rollup", &RefreshRollup, nb::arg("name"), nb::arg("full"), nb::arg("max_bytes"),
           nb::arg("token") = nb::none())
      .def("rollups", &Rollups)
      .def("drop_rollup", &DropRollup, nb::arg("name"), nb::arg("if_exists"));
}

}  // namespace timelake::python
