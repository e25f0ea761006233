#include "write/read_back.h"

#include <numeric>
#include <utility>

#include "iceberg/arrow_schema.h"
#include "table/data_file_reader.h"

namespace timelake::write {
namespace {

class FileRows : public arrow::RecordBatchReader {
 public:
  FileRows(const table::Env* env, const Target* target, const std::vector<StoredFile>& files)
      : env_(env), target_(target) {
    for (const StoredFile& stored : files) {
      table::DataFileRequest& request = requests_.emplace_back();
      request.uri = stored.file.file_path;
      request.size = stored.file.file_size_in_bytes;
      request.fields = target->schema.fields;
      request.keep_dictionaries = true;
    }
  }

  std::shared_ptr<arrow::Schema> schema() const override {
    return iceberg::ToArrow(target_->schema);
  }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    while (true) {
      batch->reset();
      if (rows_) TL_RETURN_NOT_OK(rows_->ReadNext(batch));
      if (*batch != nullptr) return Status::OK();
      rows_.reset();
      if (next_ == requests_.size()) return Status::OK();
      TL_ASSIGN_OR_RAISE(auto file, table::OpenDataFile(*env_, requests_[next_++]));
      std::vector<int> row_groups(static_cast<size_t>(file->num_row_groups()));
      std::iota(row_groups.begin(), row_groups.end(), 0);
      TL_ASSIGN_OR_RAISE(rows_, file->Read(row_groups));
    }
  }

 private:
  const table::Env* env_;
  const Target* target_;
  std::vector<table::DataFileRequest> requests_;
  size_t next_ = 0;
  std::shared_ptr<arrow::RecordBatchReader> rows_;
};

}  // namespace

std::shared_ptr<arrow::RecordBatchReader> ReadFilesBack(const table::Env* env, const Target* target,
                                                        const std::vector<StoredFile>& files) {
  return std::make_shared<FileRows>(env, target, files);
}

}  // namespace timelake::write
