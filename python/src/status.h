#pragma once

#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>
#include <nanobind/nanobind.h>

namespace timelake::python {

namespace nb = nanobind;

// A failed status on its way to Python, where it becomes the exception class of its kind.
struct StatusException {
  arrow::Status status;
};

inline void Check(arrow::Status status) {
  if (!status.ok()) throw StatusException{std::move(status)};
}

template <typename T>
T Check(arrow::Result<T> result) {
  if (!result.ok()) throw StatusException{result.status()};
  return std::move(result).MoveValueUnsafe();
}

void BindErrors(nb::module_& m);

}  // namespace timelake::python
