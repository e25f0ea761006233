#include "api/new_columns.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "table/schema_changes.h"

namespace timelake::api {
namespace {

class SelectedColumns : public arrow::RecordBatchReader {
 public:
  SelectedColumns(std::shared_ptr<arrow::RecordBatchReader> reader, std::vector<int> columns)
      : reader_(std::move(reader)), columns_(std::move(columns)) {
    arrow::FieldVector fields;
    for (const int column : columns_) fields.push_back(reader_->schema()->field(column));
    schema_ = arrow::schema(std::move(fields));
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    TL_RETURN_NOT_OK(reader_->ReadNext(batch));
    if (*batch == nullptr) return Status::OK();
    TL_ASSIGN_OR_RAISE(*batch, (*batch)->SelectColumns(columns_));
    return Status::OK();
  }

 private:
  std::shared_ptr<arrow::RecordBatchReader> reader_;
  std::vector<int> columns_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

bool HasNewColumns(const iceberg::Schema& table, const arrow::Schema& data) {
  for (const auto& field : data.fields()) {
    if (iceberg::FindField(table, field->name()) == nullptr) return true;
  }
  return false;
}

Result<std::shared_ptr<const iceberg::TableMetadata>> WithNewColumns(
    const std::string& table, std::shared_ptr<const iceberg::TableMetadata> metadata,
    const arrow::Schema& data) {
  arrow::FieldVector lacking;
  for (const auto& field : data.fields()) {
    if (iceberg::FindField(*iceberg::CurrentSchema(*metadata), field->name()) == nullptr) {
      lacking.push_back(field);
    }
  }
  if (lacking.empty()) return metadata;
  auto columns = iceberg::FromArrow(*arrow::schema(std::move(lacking)));
  if (!columns.ok()) {
    return WithContext(columns.status(), "table " + table + ", new columns of the data");
  }
  std::vector<table::ColumnChange> changes;
  for (iceberg::Field& field : columns->fields) {
    table::ColumnChange& change = changes.emplace_back();
    change.column = field.name;
    change.type = std::move(field.type);
  }
  auto extended = std::make_shared<iceberg::TableMetadata>(*metadata);
  TL_RETURN_NOT_OK(table::ChangeColumns(table, changes, extended.get()));
  return std::shared_ptr<const iceberg::TableMetadata>(std::move(extended));
}

std::shared_ptr<arrow::RecordBatchReader> SelectColumns(
    std::shared_ptr<arrow::RecordBatchReader> reader, const std::set<std::string>& names) {
  std::vector<int> columns;
  const auto schema = reader->schema();
  for (int i = 0; i < schema->num_fields(); ++i) {
    if (names.contains(schema->field(i)->name())) columns.push_back(i);
  }
  return std::make_shared<SelectedColumns>(std::move(reader), std::move(columns));
}

}  // namespace timelake::api
