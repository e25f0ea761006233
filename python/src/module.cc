#include <nanobind/stl/string.h>

#include "arrow_io.h"
#include "call.h"
#include "fork.h"
#include "lake.h"
#include "session.h"
#include "status.h"
#include "stream.h"
#include "timelake/version.h"

// The bindings: thin, without pyarrow. Everything a user sees is written in Python on top of it.
NB_MODULE(_core, m) {
  using namespace timelake::python;
  // Objects that live until the interpreter ends are no leak.
  nb::set_leak_warnings(false);
  m.attr("version") = timelake::kVersion;
  m.attr("format_version") = timelake::kTableFormatVersion;
  BindErrors(m);
  BindFork(m);
  BindCalls(m);
  BindArrow(m);
  BindStream(m);
  BindLake(m);
  BindSession(m);
  BindTable(m);
  BindAppender(m);
}
