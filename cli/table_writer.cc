#include <string>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "result_writer.h"
#include "text_table.h"
#include "value_format.h"

namespace timelake::cli {
namespace {

// Rows that are seen before the widths are fixed; later rows stream.
constexpr size_t kRowsToMeasure = 1000;

class TableWriter : public ResultWriter {
 public:
  explicit TableWriter(std::shared_ptr<ResultStream> stream) : stream_(std::move(stream)) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    std::vector<TextColumn> columns;
    for (const auto& field : schema->fields()) {
      columns.push_back({ForTerminal(field->name()), IsNumber(*field->type())});
    }
    layout_ = TableLayout(std::move(columns));
    measuring_ = true;
    if (results_++ > 0) text_.push_back('\n');
    return Status::OK();
  }

  Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    std::vector<Formatter> formatters;
    for (const auto& column : batch->columns()) {
      formatters.push_back(MakeFormatter(column, TextStyle::kPlain));
    }
    std::vector<std::string> cells(formatters.size());
    std::string value;
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      for (size_t i = 0; i < formatters.size(); ++i) {
        value.clear();
        if (!formatters[i](row, &value)) value = "NULL";
        cells[i] = ForTerminal(value);
      }
      Add(cells);
    }
    return measuring_ ? Status::OK() : Flush();
  }

  Status End() override {
    if (measuring_) StopMeasuring();
    return Flush();
  }

 private:
  void Add(const std::vector<std::string>& cells) {
    if (!measuring_) return layout_.AppendRow(cells, &text_);
    layout_.Widen(cells);
    first_rows_.push_back(cells);
    if (first_rows_.size() == kRowsToMeasure) StopMeasuring();
  }

  void StopMeasuring() {
    measuring_ = false;
    layout_.AppendHeader(&text_);
    for (const auto& cells : first_rows_) layout_.AppendRow(cells, &text_);
    first_rows_.clear();
  }

  Status Flush() {
    ARROW_RETURN_NOT_OK(stream_->WriteText(text_));
    text_.clear();
    return Status::OK();
  }

  std::shared_ptr<ResultStream> stream_;
  TableLayout layout_{{}};
  bool measuring_ = true;
  std::vector<std::vector<std::string>> first_rows_;
  std::string text_;
  int results_ = 0;
};

}  // namespace

std::unique_ptr<ResultWriter> MakeTableWriter(std::shared_ptr<ResultStream> stream) {
  return std::make_unique<TableWriter>(std::move(stream));
}

}  // namespace timelake::cli
