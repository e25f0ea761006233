#include "status.h"

#include <nanobind/stl/string.h>

#include "timelake/error.h"

namespace timelake::python {
namespace {

// Kind name -> exception class, set once by timelake._errors. Lives as long as the process.
PyObject* error_types = nullptr;

void Raise(const arrow::Status& status) {
  const std::string kind(KindName(KindOf(status)));
  PyObject* type = error_types ? PyDict_GetItemString(error_types, kind.c_str()) : nullptr;
  const std::string& message = status.message();
  PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                        "backslashreplace");
  if (text == nullptr) return;
  PyErr_SetObject(type ? type : PyExc_RuntimeError, text);
  Py_DECREF(text);
}

}  // namespace

void BindErrors(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const StatusException& e) {
      Raise(e.status);
    }
  });
  m.def("set_error_types", [](nb::dict types) { error_types = types.release().ptr(); });
}

}  // namespace timelake::python
