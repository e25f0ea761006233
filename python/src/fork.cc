#include "fork.h"

#include <atomic>
#include <string>

#include "call.h"
#include "workers.h"

namespace timelake::python {
namespace {

std::atomic<int> generation{0};

}  // namespace

int ForkGeneration() { return generation.load(std::memory_order_relaxed); }

void ThrowInherited(const char* what) {
  const std::string text =
      std::string("this ") + what +
      " was opened before the process forked and cannot be used in the child: open a new Lake "
      "there, or start processes with the method 'spawn' or 'forkserver'";
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
  throw nb::python_error();
}

void ThrowClosed(const char* what) {
  const std::string text = std::string("this ") + what + " is closed";
  PyErr_SetString(PyExc_ValueError, text.c_str());
  throw nb::python_error();
}

void BindFork(nb::module_& m) {
  m.def("after_fork_in_child", [] {
    generation.fetch_add(1);
    ForgetLogsAfterFork();
    ForgetWorkersAfterFork();
  });
}

}  // namespace timelake::python
