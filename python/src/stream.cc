#include "stream.h"

#include <vector>

#include <nanobind/stl/shared_ptr.h>

namespace timelake::python {

Stream::Stream(BatchReaderPtr reader, std::function<void()> interrupt, std::function<void()> ended)
    : schema_(reader->schema()),
      interrupt_(std::move(interrupt)),
      reader_(std::move(reader)),
      ended_(std::move(ended)) {}

Stream::~Stream() { Close(); }

arrow::Status Stream::ReadAhead(int64_t rows) {
  const std::lock_guard lock(mutex_);
  while (reader_ && rows > 0) {
    ARROW_ASSIGN_OR_RAISE(BatchPtr batch, Read());
    if (!batch) break;
    rows -= batch->num_rows();
    ahead_.push_back(std::move(batch));
  }
  return arrow::Status::OK();
}

arrow::Result<BatchPtr> Stream::Next() {
  const std::lock_guard lock(mutex_);
  if (!ahead_.empty()) {
    BatchPtr batch = std::move(ahead_.front());
    ahead_.pop_front();
    return batch;
  }
  return reader_ ? Read() : BatchPtr();
}

arrow::Result<BatchPtr> Stream::Read() {
  BatchPtr batch;
  const arrow::Status status = reader_->ReadNext(&batch);
  if (!status.ok() || !batch) End();
  ARROW_RETURN_NOT_OK(status);
  return batch;
}

void Stream::Interrupt() {
  const std::lock_guard lock(interrupt_mutex_);
  if (open_ && interrupt_) interrupt_();
}

void Stream::Close() {
  const std::lock_guard lock(mutex_);
  ahead_.clear();
  if (reader_) End();
}

void Stream::End() {
  reader_.reset();
  {
    const std::lock_guard lock(interrupt_mutex_);
    open_ = false;
  }
  if (auto ended = std::exchange(ended_, nullptr)) ended();
}

std::deque<BatchPtr> Stream::ahead() const {
  const std::lock_guard lock(mutex_);
  return ahead_;
}

bool Stream::ended() const {
  const std::lock_guard lock(mutex_);
  return reader_ == nullptr;
}

namespace {

constexpr char kWhat[] = "result";

// The stream as another library reads it, through the C interface.
class ForeignView : public arrow::RecordBatchReader {
 public:
  ForeignView(std::shared_ptr<Stream> stream, std::function<arrow::Status()> claim)
      : schema_(stream->schema()), stream_(std::move(stream)), claim_(std::move(claim)) {}

  SchemaPtr schema() const override { return schema_; }

  arrow::Status ReadNext(BatchPtr* batch) override {
    if (stream_.inherited()) {
      return arrow::Status::Invalid("this result was opened before the process forked");
    }
    if (claim_) {
      ARROW_RETURN_NOT_OK(claim_());
      claim_ = nullptr;
    }
    const auto stream = stream_.get(kWhat);
    auto next = std::make_shared<BatchPtr>();
    auto token = std::make_shared<CancelToken>();
    token->OnCancel([stream] { stream->Interrupt(); });
    const arrow::Status status = RunForeignCall(token, [stream, next] {
      ARROW_ASSIGN_OR_RAISE(*next, stream->Next());
      return arrow::Status::OK();
    });
    token->OnCancel(nullptr);
    ARROW_RETURN_NOT_OK(status);
    *batch = std::move(*next);
    return arrow::Status::OK();
  }

 private:
  const SchemaPtr schema_;
  Owned<Stream> stream_;
  std::function<arrow::Status()> claim_;
};

// A stream together with the right to read it, which the first reader takes.
class ResultStream {
 public:
  explicit ResultStream(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  // Ending a statement waits for its threads.
  ~ResultStream() {
    nb::gil_scoped_release release;
    stream_.Drop();
  }

  const std::shared_ptr<Stream>& get() const { return stream_.get(kWhat); }

  bool claimed() const { return claimed_->load(); }

  // True for the first one that asks.
  bool Claim() { return !claimed_->exchange(true); }

  nb::object Export() {
    auto claim = [claimed = claimed_] {
      if (!claimed->exchange(true)) return arrow::Status::OK();
      return arrow::Status::Invalid(
          "this result has been read before: a result streams once; call fetch_all() first to "
          "read it several times");
    };
    return ExportReader(std::make_shared<ForeignView>(get(), claim));
  }

  void Close() {
    if (stream_.inherited() || stream_.empty()) return;
    const auto stream = stream_.get(kWhat);
    nb::gil_scoped_release release;
    stream->Interrupt();
    stream->Close();
  }

 private:
  Owned<Stream> stream_;
  std::shared_ptr<std::atomic<bool>> claimed_ = std::make_shared<std::atomic<bool>>(false);
};

CallOptions ReadOptions(const std::shared_ptr<CancelToken>& token,
                        const std::shared_ptr<Stream>& stream) {
  CallOptions options;
  options.token = token ? token : std::make_shared<CancelToken>();
  options.token->OnCancel([stream] { stream->Interrupt(); });
  return options;
}

struct Unregister {
  std::shared_ptr<CancelToken> token;
  ~Unregister() { token->OnCancel(nullptr); }
};

nb::object NextBatch(ResultStream& self, const std::shared_ptr<CancelToken>& token) {
  const auto stream = self.get();
  const CallOptions options = ReadOptions(token, stream);
  const Unregister guard{options.token};
  BatchPtr batch =
      RunCall<BatchPtr>(options, [stream](const std::shared_ptr<Call>&) { return stream->Next(); });
  return batch ? ExportBatch(*batch) : nb::none();
}

// All that is left, as a stream in memory.
nb::object ReadAll(ResultStream& self, const std::shared_ptr<CancelToken>& token) {
  const auto stream = self.get();
  const CallOptions options = ReadOptions(token, stream);
  const Unregister guard{options.token};
  auto batches = RunCall<std::vector<BatchPtr>>(
      options, [stream](const std::shared_ptr<Call>& call) -> arrow::Result<std::vector<BatchPtr>> {
        std::vector<BatchPtr> all;
        while (true) {
          if (call->cancelled()) return arrow::Status::Cancelled("the call was cancelled");
          ARROW_ASSIGN_OR_RAISE(BatchPtr batch, stream->Next());
          if (!batch) return all;
          all.push_back(std::move(batch));
        }
      });
  return ExportReader(Check(arrow::RecordBatchReader::Make(std::move(batches), stream->schema())));
}

nb::tuple Peek(const ResultStream& self) {
  const auto& stream = self.get();
  nb::list batches;
  for (const auto& batch : stream->ahead()) batches.append(ExportBatch(*batch));
  return nb::make_tuple(batches, stream->ended());
}

}  // namespace

nb::object WrapStream(std::shared_ptr<Stream> stream) {
  return nb::cast(std::make_shared<ResultStream>(std::move(stream)));
}

void BindStream(nb::module_& m) {
  nb::class_<ResultStream>(m, "Stream")
      .def("claim", &ResultStream::Claim)
      .def_prop_ro("claimed", &ResultStream::claimed)
      .def("schema", [](const ResultStream& self) { return ExportSchema(*self.get()->schema()); })
      .def("export", &ResultStream::Export)
      .def("next", &NextBatch, nb::arg("token") = nb::none())
      .def("read_all", &ReadAll, nb::arg("token") = nb::none())
      .def("peek", &Peek)
      .def("close", &ResultStream::Close);
}

}  // namespace timelake::python
