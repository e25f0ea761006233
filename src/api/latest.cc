#include <algorithm>

#include <arrow/table.h>

#include "api/append.h"
#include "iceberg/arrow_schema.h"
#include "index/last_value_index.h"
#include "scan/scan.h"
#include "scan/write_order.h"

namespace timelake::api {
namespace {

// All rows of a plan in the order of writes, one morsel after the other.
class InWriteOrder : public arrow::RecordBatchReader {
 public:
  explicit InWriteOrder(std::shared_ptr<scan::Scanner> scanner) : scanner_(std::move(scanner)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return scanner_->schema(); }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    while (true) {
      if (!morsel_) {
        TL_ASSIGN_OR_RAISE(morsel_, scanner_->Next());
        if (!morsel_) {
          *batch = nullptr;
          return Status::OK();
        }
      }
      TL_RETURN_NOT_OK(morsel_->ReadNext(batch));
      if (*batch) return Status::OK();
      morsel_.reset();
    }
  }

 private:
  std::shared_ptr<scan::Scanner> scanner_;
  std::shared_ptr<arrow::RecordBatchReader> morsel_;
};

Result<std::shared_ptr<arrow::RecordBatch>> NewestByScan(const table::Env& env,
                                                         const iceberg::TableMetadata& metadata,
                                                         const table::Contract& contract) {
  const iceberg::Schema& schema = *iceberg::CurrentSchema(metadata);
  TL_ASSIGN_OR_RAISE(auto plan,
                     scan::PlanFiles(env, metadata, iceberg::CurrentSnapshot(metadata), {}));
  std::sort(plan.files.begin(), plan.files.end(), scan::IsOlder);
  scan::ScanRequest request;
  request.schema = schema;
  for (const auto& field : schema.fields) request.field_ids.push_back(field.id);
  request.batch_rows = 65536;
  TL_ASSIGN_OR_RAISE(auto scanner,
                     scan::Scanner::Make(env, metadata, std::move(plan), std::move(request)));
  return index::NewestRows(std::make_shared<InWriteOrder>(std::move(scanner)), schema, contract);
}

}  // namespace

Result<std::shared_ptr<arrow::Table>> Latest(const table::Env& env, const std::string& name,
                                             const table::Version& version) {
  const iceberg::TableMetadata& metadata = *version.metadata;
  TL_ASSIGN_OR_RAISE(auto contract, table::ReadContract(metadata));
  if (!contract.is_time_series()) {
    return InvalidArgument("table {} has no time column: it has no latest rows", name);
  }
  const auto* head = iceberg::CurrentSnapshot(metadata);
  std::shared_ptr<arrow::RecordBatch> rows;
  if (head != nullptr) {
    TL_ASSIGN_OR_RAISE(auto valid, index::ValidAt(env, metadata, *head, contract));
    if (valid) rows = *valid;
  }
  if (!rows && head == nullptr) {
    return arrow::Table::MakeEmpty(iceberg::ToArrow(*iceberg::CurrentSchema(metadata)));
  }
  if (!rows) {
    env.Log(LogLevel::kInfo, name + ": no last-value index; its latest rows come from a scan");
    TL_ASSIGN_OR_RAISE(rows, NewestByScan(env, metadata, contract));
  }
  return arrow::Table::FromRecordBatches(rows->schema(), {rows});
}

}  // namespace timelake::api
