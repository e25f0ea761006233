#include "sql/rows_text.h"

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include "base/civil_time.h"

namespace timelake::sqltest {

namespace {

std::string ValueText(const arrow::Array& array, int64_t row);

std::string Hex(std::string_view bytes) {
  std::string text = "x'";
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text + "'";
}

std::string NestedText(const arrow::Array& array, int64_t row) {
  std::string text;
  if (array.type_id() == arrow::Type::STRUCT) {
    const auto& fields = static_cast<const arrow::StructArray&>(array);
    for (int i = 0; i < fields.num_fields(); ++i) {
      text += fmt::format("{}{}: {}", i ? ", " : "", array.type()->field(i)->name(),
                          ValueText(*fields.field(i), row));
    }
    return "{" + text + "}";
  }
  const auto& list = static_cast<const arrow::ListArray&>(array);
  const bool map = array.type_id() == arrow::Type::MAP;
  for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
    if (!text.empty()) text += ", ";
    if (map) {
      const auto& entries = static_cast<const arrow::MapArray&>(array);
      text += ValueText(*entries.keys(), i) + "=" + ValueText(*entries.items(), i);
    } else {
      text += ValueText(*list.values(), i);
    }
  }
  return map ? "{" + text + "}" : "[" + text + "]";
}

std::string ValueText(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "NULL";
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case arrow::Type::FLOAT:
      return fmt::format("{}", static_cast<const arrow::FloatArray&>(array).Value(row));
    case arrow::Type::DOUBLE:
      return fmt::format("{}", static_cast<const arrow::DoubleArray&>(array).Value(row));
    case arrow::Type::TIMESTAMP: {
      const auto& type = static_cast<const arrow::TimestampType&>(*array.type());
      return FormatTimestamp(static_cast<const arrow::TimestampArray&>(array).Value(row),
                             !type.timezone().empty());
    }
    case arrow::Type::STRING: return static_cast<const arrow::StringArray&>(array).GetString(row);
    case arrow::Type::BINARY:
      return Hex(static_cast<const arrow::BinaryArray&>(array).GetView(row));
    case arrow::Type::DECIMAL128:
      return static_cast<const arrow::Decimal128Array&>(array).FormatValue(row);
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      return ValueText(*dictionary.dictionary(), dictionary.GetValueIndex(row));
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP:
    case arrow::Type::STRUCT: return NestedText(array, row);
    default: return (*array.GetScalar(row))->ToString();
  }
}

}  // namespace

arrow::Result<std::vector<std::string>> RowsAsText(arrow::RecordBatchReader* reader) {
  std::vector<std::string> rows;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (!batch) return rows;
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      std::string text;
      for (int column = 0; column < batch->num_columns(); ++column) {
        if (column) text += '|';
        text += ValueText(*batch->column(column), row);
      }
      rows.push_back(std::move(text));
    }
  }
}

}  // namespace timelake::sqltest
