#include <set>
#include <string>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "result_writer.h"
#include "value_format.h"

namespace timelake::cli {
namespace {

// `{"name":` and `,"name":` of every column. Equal names get a number: an object holds each once.
std::vector<std::string> KeyTexts(const arrow::Schema& schema) {
  std::set<std::string> used;
  std::vector<std::string> texts;
  for (const auto& field : schema.fields()) {
    std::string name = field->name();
    for (int number = 1; !used.insert(name).second; ++number) {
      name = fmt::format("{}_{}", field->name(), number);
    }
    std::string text = texts.empty() ? "{" : ",";
    AppendJsonString(name, &text);
    text.push_back(':');
    texts.push_back(std::move(text));
  }
  return texts;
}

class JsonWriter : public ResultWriter {
 public:
  JsonWriter(std::shared_ptr<ResultStream> stream, bool as_array)
      : stream_(std::move(stream)), as_array_(as_array) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    keys_ = KeyTexts(*schema);
    rows_ = 0;
    if (as_array_) text_.push_back('[');
    return Status::OK();
  }

  Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    std::vector<Formatter> formatters;
    for (const auto& column : batch->columns()) {
      formatters.push_back(MakeFormatter(column, TextStyle::kJson));
    }
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      if (as_array_) text_.append(rows_ == 0 ? "\n" : ",\n");
      ++rows_;
      for (size_t i = 0; i < keys_.size(); ++i) {
        text_.append(keys_[i]);
        if (!formatters[i](row, &text_)) text_.append("null");
      }
      text_.append(as_array_ ? "}" : "}\n");
    }
    return Flush();
  }

  Status End() override {
    if (as_array_) text_.append(rows_ == 0 ? "]\n" : "\n]\n");
    return Flush();
  }

 private:
  Status Flush() {
    ARROW_RETURN_NOT_OK(stream_->WriteText(text_));
    text_.clear();
    return Status::OK();
  }

  std::shared_ptr<ResultStream> stream_;
  bool as_array_;
  std::vector<std::string> keys_;
  int64_t rows_ = 0;
  std::string text_;
};

}  // namespace

std::unique_ptr<ResultWriter> MakeJsonWriter(std::shared_ptr<ResultStream> stream, bool as_array) {
  return std::make_unique<JsonWriter>(std::move(stream), as_array);
}

}  // namespace timelake::cli
