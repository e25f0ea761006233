#include "scan/file_rows.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "iceberg/arrow_schema.h"
#include "scan/file_work.h"
#include "scan/read_ahead.h"

namespace timelake::scan {
namespace {

// As if for so many threads: morsels are then as small as they get.
constexpr int kManyThreads = 1 << 16;

class FileRows : public arrow::RecordBatchReader {
 public:
  FileRows(const table::Env* env, const iceberg::TableMetadata* metadata, ScanFile file,
           FileRowsRequest request)
      : env_(env), metadata_(metadata), file_(std::move(file)), rows_(request.rows) {
    request_.schema = std::move(request.schema);
    for (const auto& field : request_.schema.fields) request_.field_ids.push_back(field.id);
    request_.keep_dictionaries = true;
    // A morsel is decoded as a whole: slices of it would only hold on to it.
    request_.batch_rows = std::numeric_limits<int64_t>::max();
    if (request.fine) request_.threads = kManyThreads;
  }

  std::shared_ptr<arrow::Schema> schema() const override {
    return iceberg::ToArrow(request_.schema);
  }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    if (!counters_) TL_RETURN_NOT_OK(Open());
    while (true) {
      batch->reset();
      if (morsel_) TL_RETURN_NOT_OK(morsel_->ReadNext(batch));
      if (*batch != nullptr) return Status::OK();
      morsel_.reset();
      if (morsels_.empty()) return Status::OK();
      Morsel next = std::move(morsels_.front());
      morsels_.pop_front();
      ahead_.Took(next);
      ahead_.Fill(&morsels_);
      TL_ASSIGN_OR_RAISE(morsel_, ReadMorsel(*env_, std::move(next), request_, counters_, nullptr));
    }
  }

 private:
  Status Open() {
    counters_ = std::make_shared<Counters>();
    TL_ASSIGN_OR_RAISE(const auto work, OpenFile(*env_, *metadata_, file_, 0, request_));
    TL_ASSIGN_OR_RAISE(auto morsels, Split(work, request_, counters_.get()));
    if (counters_->rows_read != file_.data->record_count) {
      return Corrupt("{}: has {} rows, but its manifest says {}", file_.data->file_path,
                     counters_->rows_read.load(), file_.data->record_count);
    }
    for (Morsel& morsel : morsels) {
      if (rows_) Cut(*work->reader, &morsel);
      if (!morsel.rows.empty()) morsels_.push_back(std::move(morsel));
    }
    ahead_.Fill(&morsels_);
    return Status::OK();
  }

  // Leaves the rows of the request in a morsel.
  void Cut(const table::DataFileReader& reader, Morsel* morsel) const {
    int64_t before = 0;
    for (int i = 0; i < morsel->row_group; ++i) before += reader.row_group_rows(i);
    const table::RowRange kept{std::max<int64_t>(0, rows_->begin - before), rows_->end - before};
    if (kept.begin >= kept.end) return morsel->rows.clear();
    morsel->rows = table::Intersection(morsel->rows, {kept});
  }

  const table::Env* env_;
  const iceberg::TableMetadata* metadata_;
  const ScanFile file_;
  const std::optional<table::RowRange> rows_;
  ScanRequest request_;
  std::shared_ptr<Counters> counters_;
  std::deque<Morsel> morsels_;
  ReadAhead ahead_;
  std::shared_ptr<arrow::RecordBatchReader> morsel_;
};

}  // namespace

std::shared_ptr<arrow::RecordBatchReader> ReadFileRows(const table::Env* env,
                                                       const iceberg::TableMetadata* metadata,
                                                       ScanFile file, FileRowsRequest request) {
  return std::make_shared<FileRows>(env, metadata, std::move(file), std::move(request));
}

}  // namespace timelake::scan
