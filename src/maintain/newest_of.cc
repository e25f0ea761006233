#include "maintain/newest_of.h"

#include <algorithm>
#include <utility>

#include "iceberg/arrow_schema.h"
#include "index/last_value_index.h"
#include "scan/file_rows.h"
#include "scan/write_order.h"

namespace timelake::maintain {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// The rows of some files, one file after the other.
class ManyFiles : public arrow::RecordBatchReader {
 public:
  ManyFiles(const table::Env& env, const LiveFiles& live, std::vector<const scan::ScanFile*> files,
            const KnownNewest& known)
      : env_(env), live_(live), files_(std::move(files)), known_(known) {}

  std::shared_ptr<arrow::Schema> schema() const override { return iceberg::ToArrow(Columns()); }

  Status ReadNext(Batch* batch) override {
    while (true) {
      batch->reset();
      if (rows_) TL_RETURN_NOT_OK(rows_->ReadNext(batch));
      if (*batch != nullptr) return Status::OK();
      rows_.reset();
      if (next_ == files_.size()) return Status::OK();
      const scan::ScanFile* file = files_[next_++];
      if (const auto known = known_.find(file); known != known_.end()) {
        *batch = known->second;
        return Status::OK();
      }
      rows_ = scan::ReadFileRows(&env_, &live_.metadata(), *file, {Columns(), false});
    }
  }

 private:
  const iceberg::Schema& Columns() const { return *iceberg::CurrentSchema(live_.metadata()); }

  const table::Env& env_;
  const LiveFiles& live_;
  const std::vector<const scan::ScanFile*> files_;
  const KnownNewest& known_;
  size_t next_ = 0;
  std::shared_ptr<arrow::RecordBatchReader> rows_;
};

}  // namespace

Result<Batch> NewestOf(const table::Env& env, const LiveFiles& live,
                       std::vector<const scan::ScanFile*> files, const table::Contract& contract,
                       const KnownNewest& known) {
  std::sort(files.begin(), files.end(),
            [](const auto* a, const auto* b) { return scan::IsOlder(*a, *b); });
  return index::NewestRows(std::make_shared<ManyFiles>(env, live, std::move(files), known),
                           *iceberg::CurrentSchema(live.metadata()), contract);
}

}  // namespace timelake::maintain
