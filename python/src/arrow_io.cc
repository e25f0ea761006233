#include "arrow_io.h"

#include <chrono>

#include <arrow/c/bridge.h>
#include <arrow/type.h>
#include <nanobind/stl/shared_ptr.h>

namespace timelake::python {
namespace {

constexpr char kSchema[] = "arrow_schema";
constexpr char kArray[] = "arrow_array";
constexpr char kStream[] = "arrow_array_stream";

template <typename T>
T* FromCapsule(nb::handle capsule, const char* name) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  auto* value = static_cast<T*>(pointer);
  if (value->release == nullptr) {
    PyErr_Format(PyExc_ValueError, "this %s capsule was used before", name);
    throw nb::python_error();
  }
  return value;
}

template <typename T>
nb::object ToCapsule(std::unique_ptr<T> value, const char* name, PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(value.get(), name, destructor);
  if (capsule == nullptr) {
    value->release(value.get());
    throw nb::python_error();
  }
  value.release();
  return nb::steal(capsule);
}

// The capsule owns the structure; its content may have been moved out.
template <typename T>
void Free(PyObject* capsule, const char* name) {
  auto* value = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (value->release != nullptr) value->release(value);
  delete value;
}

void FreeSchema(PyObject* capsule) { Free<ArrowSchema>(capsule, kSchema); }
void FreeArray(PyObject* capsule) { Free<ArrowArray>(capsule, kArray); }
void FreeStream(PyObject* capsule) { Free<ArrowArrayStream>(capsule, kStream); }

class SourceReader : public arrow::RecordBatchReader {
 public:
  explicit SourceReader(std::shared_ptr<BatchSource> source) : source_(std::move(source)) {}
  ~SourceReader() override {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    source_.reset();
  }
  SchemaPtr schema() const override { return source_->schema(); }
  arrow::Status ReadNext(BatchPtr* batch) override {
    nb::gil_scoped_acquire gil;
    return source_->Next(batch);
  }

 private:
  std::shared_ptr<BatchSource> source_;
};

class CallerReader : public arrow::RecordBatchReader {
 public:
  CallerReader(BegunSource source, std::shared_ptr<Call> call, std::shared_ptr<ReadCount> count)
      : source_(std::move(source)), call_(std::move(call)), count_(std::move(count)) {}
  SchemaPtr schema() const override { return source_.reader->schema(); }
  arrow::Status ReadNext(BatchPtr* batch) override {
    if (!source_.first.empty()) {
      *batch = std::move(source_.first.front());
      source_.first.pop_front();
    } else if (source_.ended) {
      batch->reset();
      return source_.failure;
    } else {
      ARROW_RETURN_NOT_OK(call_->OnCallingThread(
          [reader = source_.reader, batch] { return reader->ReadNext(batch); }));
    }
    if (*batch) count_->rows += (*batch)->num_rows();
    return arrow::Status::OK();
  }

 private:
  BegunSource source_;
  const std::shared_ptr<Call> call_;
  const std::shared_ptr<ReadCount> count_;
};

// Imports the pair that `__arrow_c_array__` returns.
BatchPtr ImportPair(nb::handle pair, const SchemaPtr& expected) {
  if (!PyTuple_Check(pair.ptr()) || PyTuple_GET_SIZE(pair.ptr()) != 2) {
    throw nb::type_error("__arrow_c_array__ must return a pair of capsules");
  }
  auto* schema = FromCapsule<ArrowSchema>(PyTuple_GET_ITEM(pair.ptr(), 0), kSchema);
  auto* array = FromCapsule<ArrowArray>(PyTuple_GET_ITEM(pair.ptr(), 1), kArray);
  BatchPtr batch = Check(arrow::ImportRecordBatch(array, schema));
  if (expected && !batch->schema()->Equals(*expected, /*check_metadata=*/false)) {
    Check(arrow::Status::Invalid("a batch of the stream has the columns ",
                                 batch->schema()->ToString(), "; the first one had ",
                                 expected->ToString()));
  }
  return batch;
}

}  // namespace

SchemaPtr ImportSchemaCapsule(nb::handle capsule) {
  return Check(arrow::ImportSchema(FromCapsule<ArrowSchema>(capsule, kSchema)));
}

BatchReaderPtr ImportSource(nb::handle source) {
  std::shared_ptr<BatchSource> batches;
  if (nb::try_cast(source, batches) && batches) return std::make_shared<SourceReader>(batches);
  if (PyTuple_Check(source.ptr())) {
    BatchPtr batch = ImportPair(source, nullptr);
    return Check(arrow::RecordBatchReader::Make({batch}, batch->schema()));
  }
  return Check(arrow::ImportRecordBatchReader(FromCapsule<ArrowArrayStream>(source, kStream)));
}

nb::object ExportSchema(const arrow::Schema& schema) {
  auto value = std::make_unique<ArrowSchema>();
  Check(arrow::ExportSchema(schema, value.get()));
  return ToCapsule(std::move(value), kSchema, FreeSchema);
}

nb::object ExportReader(BatchReaderPtr reader) {
  auto value = std::make_unique<ArrowArrayStream>();
  Check(arrow::ExportRecordBatchReader(std::move(reader), value.get()));
  return ToCapsule(std::move(value), kStream, FreeStream);
}

nb::object ExportBatch(const arrow::RecordBatch& batch) {
  auto schema = std::make_unique<ArrowSchema>();
  auto array = std::make_unique<ArrowArray>();
  Check(arrow::ExportRecordBatch(batch, array.get(), schema.get()));
  nb::object first = ToCapsule(std::move(schema), kSchema, FreeSchema);
  return nb::make_tuple(first, ToCapsule(std::move(array), kArray, FreeArray));
}

BegunSource Begin(BatchReaderPtr reader) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRows = 1 << 16;
  constexpr auto kTime = std::chrono::milliseconds(5);
  nb::gil_scoped_release release;
  BegunSource source{std::move(reader), {}, false, arrow::Status::OK()};
  const auto until = Clock::now() + kTime;
  for (int64_t rows = 0; rows < kRows && Clock::now() < until;) {
    BatchPtr batch;
    source.failure = source.reader->ReadNext(&batch);
    source.ended = !source.failure.ok() || batch == nullptr;
    if (source.ended) break;
    rows += batch->num_rows();
    source.first.push_back(std::move(batch));
  }
  return source;
}

BatchReaderPtr ReadOnCallingThread(BegunSource source, std::shared_ptr<Call> call,
                                   std::shared_ptr<ReadCount> count) {
  return std::make_shared<CallerReader>(std::move(source), std::move(call), std::move(count));
}

arrow::Status BatchSource::Next(BatchPtr* batch) {
  batch->reset();
  try {
    nb::object item = nb::steal(PyIter_Next(iterator_.ptr()));
    if (!item.is_valid()) {
      if (PyErr_Occurred()) throw nb::python_error();
      return arrow::Status::OK();
    }
    *batch = ImportPair(item.attr("__arrow_c_array__")(), schema_);
    return arrow::Status::OK();
  } catch (const StatusException& e) {
    return e.status;
  } catch (nb::python_error& e) {
    raised_ = std::make_unique<nb::python_error>(std::move(e));
    return arrow::Status::Cancelled("the iterator of batches raised");
  } catch (const std::exception& e) {
    return arrow::Status::TypeError(e.what());
  }
}

void BatchSource::Rethrow() {
  if (raised_) throw nb::python_error(std::move(*raised_));
}

void BindArrow(nb::module_& m) {
  nb::class_<BatchSource>(m, "BatchSource")
      .def(nb::new_([](nb::handle schema, nb::object iterator) {
             return std::make_shared<BatchSource>(ImportSchemaCapsule(schema), std::move(iterator));
           }),
           nb::arg("schema"), nb::arg("iterator"));
}

}  // namespace timelake::python
