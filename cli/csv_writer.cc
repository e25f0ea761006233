#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "result_writer.h"
#include "value_format.h"

namespace timelake::cli {
namespace {

// An empty text is quoted: an empty field without quotes is NULL, here and in what we read.
void AppendQuoted(std::string_view text, std::string* out) {
  const bool plain = !text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos &&
                     text.front() != ' ' && text.back() != ' ';
  if (plain) {
    out->append(text);
    return;
  }
  out->push_back('"');
  for (const char c : text) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

class CsvWriter : public ResultWriter {
 public:
  explicit CsvWriter(std::shared_ptr<ResultStream> stream) : stream_(std::move(stream)) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    quoting_.clear();
    for (const auto& field : schema->fields()) {
      if (!quoting_.empty()) text_.push_back(',');
      AppendQuoted(field->name(), &text_);
      quoting_.push_back(NeedsQuoting(*field->type()));
    }
    text_.push_back('\n');
    return Status::OK();
  }

  Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    std::vector<Formatter> formatters;
    for (const auto& column : batch->columns()) {
      formatters.push_back(MakeFormatter(column, TextStyle::kPlain));
    }
    for (int64_t row = 0; row < batch->num_rows(); ++row) AppendRow(formatters, row);
    return Flush();
  }

  Status End() override { return Flush(); }

 private:
  void AppendRow(const std::vector<Formatter>& formatters, int64_t row) {
    for (size_t i = 0; i < formatters.size(); ++i) {
      if (i > 0) text_.push_back(',');
      if (!quoting_[i]) {
        formatters[i](row, &text_);
        continue;
      }
      value_.clear();
      if (formatters[i](row, &value_)) AppendQuoted(value_, &text_);
    }
    text_.push_back('\n');
  }

  Status Flush() {
    ARROW_RETURN_NOT_OK(stream_->WriteText(text_));
    text_.clear();
    return Status::OK();
  }

  std::shared_ptr<ResultStream> stream_;
  std::vector<bool> quoting_;
  std::string text_;
  std::string value_;
};

}  // namespace

std::unique_ptr<ResultWriter> MakeCsvWriter(std::shared_ptr<ResultStream> stream) {
  return std::make_unique<CsvWriter>(std::move(stream));
}

}  // namespace timelake::cli
