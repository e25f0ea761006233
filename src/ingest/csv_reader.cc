#include "ingest/csv_reader.h"

#include <algorithm>
#include <regex>

#include <arrow/api.h>
#include <fmt/format.h>

#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "ingest/byte_text.h"
#include "ingest/csv_text.h"
#include "ingest/time_text.h"
#include "write/convert.h"

namespace timelake::ingest {
namespace {

std::string SqlText(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

// DuckDB's account of a broken line, in our words.
Status LineError(const CsvSource& source, const Status& status) {
  const std::string text = status.message();
  std::smatch match;
  static const std::regex kLine(R"(Line: (\d+))");
  static const std::regex kFields(R"(Expected Number of Columns: (\d+) Found: (\d+))");
  if (!std::regex_search(text, match, kLine)) return WithContext(status, "file " + source.path);
  const std::string line = match[1];
  if (std::regex_search(text, match, kFields)) {
    return InvalidArgument("file {}, line {}: {} fields, {} expected", source.path, line,
                           match[2].str(), match[1].str());
  }
  if (text.find("nicode") != std::string::npos) {
    return InvalidArgument(
        "file {}, line {}: not UTF-8; convert the file first (iconv -f latin1 -t utf-8)",
        source.path, line);
  }
  if (text.find("quote") != std::string::npos) {
    return InvalidArgument(
        "file {}, line {}: a quoted field is not closed or goes on after its quote", source.path,
        line);
  }
  std::string first = text.substr(0, text.find("\n\n"));
  std::replace(first.begin(), first.end(), '\n', ' ');
  return InvalidArgument("file {}, line {}: {}", source.path, line, first);
}

bool IsBytes(iceberg::TypeId type) {
  return type == iceberg::TypeId::kBinary || type == iceberg::TypeId::kFixed;
}

// Passes on what DuckDB reads, with its errors put right.
class TextReader : public arrow::RecordBatchReader {
 public:
  TextReader(std::shared_ptr<arrow::RecordBatchReader> base, CsvSource source)
      : base_(std::move(base)), source_(std::move(source)) {
    arrow::FieldVector fields;
    for (const auto& name : source_.names) fields.push_back(arrow::field(name, arrow::utf8()));
    schema_ = arrow::schema(std::move(fields));
  }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    Status status = base_->ReadNext(batch);
    if (!status.ok()) return LineError(source_, status);
    if (*batch)
      *batch = arrow::RecordBatch::Make(schema_, (*batch)->num_rows(), (*batch)->columns());
    return Status::OK();
  }

 private:
  std::shared_ptr<arrow::RecordBatchReader> base_;
  CsvSource source_;
  std::shared_ptr<arrow::Schema> schema_;
};

// Text columns -> the table's types, batch by batch.
class TypedReader : public arrow::RecordBatchReader {
 public:
  TypedReader(std::shared_ptr<arrow::RecordBatchReader> text, CsvSource source,
              const iceberg::Schema& schema, const ReadFilesOptions& options,
              std::string table_name, std::function<void(const std::string&)> note)
      : text_(std::move(text)),
        source_(std::move(source)),
        table_name_(std::move(table_name)),
        nulls_(NullValues(options)),
        nulls_everywhere_(options.null_values.has_value()),
        note_(std::move(note)) {
    arrow::FieldVector fields;
    for (const auto& name : source_.names) {
      const iceberg::Field* field = iceberg::FindField(schema, name);
      columns_.push_back({field ? std::optional<iceberg::Type>(field->type) : std::nullopt, {}});
      fields.push_back(arrow::field(name, field ? iceberg::ToArrow(field->type) : arrow::utf8()));
    }
    schema_ = arrow::schema(std::move(fields));
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    std::shared_ptr<arrow::RecordBatch> text;
    TL_RETURN_NOT_OK(text_->ReadNext(&text));
    if (!text) {
      *batch = nullptr;
      return Status::OK();
    }
    arrow::ArrayVector columns;
    for (int i = 0; i < text->num_columns(); ++i) {
      TL_ASSIGN_OR_RAISE(auto column, Column(i, text->column(i)));
      columns.push_back(std::move(column));
    }
    rows_ += text->num_rows();
    *batch = arrow::RecordBatch::Make(schema_, text->num_rows(), std::move(columns));
    return Status::OK();
  }

 private:
  struct Column_ {
    std::optional<iceberg::Type> type;
    ZoneTracker zones;
  };

  write::Place PlaceOf(int column) const {
    write::Place place;
    place.table = table_name_ + ", file " + source_.path;
    place.column = source_.names[static_cast<size_t>(column)];
    place.row_of = [this, before = rows_](int64_t position) {
      return LineOfRecord(source_.path, source_.gzip, before + position + 1);
    };
    place.unit = "line";
    return place;
  }

  bool IsNullText(std::string_view text) const {
    return std::find(nulls_.begin(), nulls_.end(), text) != nulls_.end();
  }

  // Without the spellings of NULL; other than text and byte columns also without blanks around the
  // value.
  Result<std::shared_ptr<arrow::Array>> Cleaned(const arrow::StringArray& text,
                                                bool is_text) const {
    arrow::StringBuilder builder;
    TL_RETURN_NOT_OK(builder.Reserve(text.length()));
    TL_RETURN_NOT_OK(builder.ReserveData(text.total_values_length()));
    for (int64_t i = 0; i < text.length(); ++i) {
      std::string_view value = text.IsNull(i) ? std::string_view() : text.GetView(i);
      if (!is_text) value = Trim(value);
      const bool null = text.IsNull(i) || (!is_text && value.empty()) ||
                        ((!is_text || nulls_everywhere_) && IsNullText(value));
      if (null) {
        builder.UnsafeAppendNull();
      } else {
        builder.UnsafeAppend(value);
      }
    }
    return builder.Finish();
  }

  Result<std::shared_ptr<arrow::Array>> Column(int index,
                                               const std::shared_ptr<arrow::Array>& array) {
    Column_& column = columns_[static_cast<size_t>(index)];
    if (array->type_id() != arrow::Type::STRING) {
      return InternalError("file {}: expected text, got {}", source_.path,
                           array->type()->ToString());
    }
    const auto& text = static_cast<const arrow::StringArray&>(*array);
    const bool is_text =
        !column.type || column.type->id == iceberg::TypeId::kString || IsBytes(column.type->id);
    TL_ASSIGN_OR_RAISE(auto cleaned, Cleaned(text, is_text));
    if (!column.type) return cleaned;
    const write::Place place = PlaceOf(index);
    if (IsBytes(column.type->id)) {
      TL_ASSIGN_OR_RAISE(cleaned, BytesOf(static_cast<const arrow::StringArray&>(*cleaned), place));
    }
    TL_ASSIGN_OR_RAISE(auto converted, write::Convert(place, cleaned, *column.type,
                                                      /*keep_dictionary=*/false));
    if (column.type->id == iceberg::TypeId::kTimestamptz) {
      TL_RETURN_NOT_OK(column.zones.Check(static_cast<const arrow::StringArray&>(*cleaned), place));
      if (column.zones.FirstNaive() && note_) {
        note_(fmt::format("file {}, column {}: times without a zone are taken as UTC", source_.path,
                          Quote(place.column)));
      }
    }
    return converted;
  }

  std::shared_ptr<arrow::RecordBatchReader> text_;
  CsvSource source_;
  std::string table_name_;
  std::vector<std::string> nulls_;
  bool nulls_everywhere_;
  std::function<void(const std::string&)> note_;
  std::vector<Column_> columns_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t rows_ = 0;
};

}  // namespace

std::vector<std::string> NullValues(const ReadFilesOptions& options) {
  if (options.null_values) return *options.null_values;
  return {"NA", "N/A", "null", "NULL", "Null"};
}

Result<CsvSource> OpenCsv(const std::string& path, bool gzip, const ReadFilesOptions& options) {
  CsvSource source;
  source.path = path;
  source.gzip = gzip;
  if (options.delimiter.size() > 1) {
    return InvalidArgument("the delimiter {} is not a single character", Quote(options.delimiter));
  }
  if (!options.delimiter.empty()) source.delimiter = options.delimiter[0];
  TL_ASSIGN_OR_RAISE(source.names, ReadHeader(path, gzip, source.delimiter));
  return source;
}

Result<std::shared_ptr<arrow::RecordBatchReader>> ReadCsvText(sql::Engine& engine,
                                                              const CsvSource& source) {
  // Columns get names by position: DuckDB folds case, our names are exact.
  std::string columns;
  for (size_t i = 0; i < source.names.size(); ++i) {
    columns += fmt::format("{}'c{}': 'VARCHAR'", i == 0 ? "" : ", ", i);
  }
  const std::string query = fmt::format(
      "SELECT * FROM read_csv({}, auto_detect = false, header = true, delim = {}, quote = '\"', "
      "escape = '\"', nullstr = '', allow_quoted_nulls = false, columns = {{{}}}, "
      "compression = '{}', strict_mode = true)",
      SqlText(source.path), SqlText(std::string(1, source.delimiter)), columns,
      source.gzip ? "gzip" : "none");
  auto reader = engine.Query(query);
  if (!reader.ok()) return LineError(source, reader.status());
  return std::make_shared<TextReader>(std::move(*reader), source);
}

Result<std::shared_ptr<arrow::RecordBatchReader>> ReadCsv(
    sql::Engine& engine, const CsvSource& source, const iceberg::Schema& schema,
    const ReadFilesOptions& options, const std::string& table_name,
    const std::function<void(const std::string&)>& note) {
  TL_ASSIGN_OR_RAISE(auto text, ReadCsvText(engine, source));
  return std::make_shared<TypedReader>(std::move(text), source, schema, options, table_name, note);
}

}  // namespace timelake::ingest
