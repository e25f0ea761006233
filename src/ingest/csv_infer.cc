#include "ingest/csv_infer.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <arrow/array.h>

#include "base/civil_time.h"
#include "base/text.h"

namespace timelake::ingest {
namespace {

// Types that still hold all values seen of one column.
struct Candidates {
  bool seen = false;
  bool boolean = true, integer = true, real = true, date = true, time = true;
};

bool IsBoolean(std::string_view text) {
  return text == "true" || text == "false" || text == "TRUE" || text == "FALSE" || text == "True" ||
         text == "False";
}

std::string_view WithoutSign(std::string_view text) {
  return text.starts_with('-') ? text.substr(1) : text;
}

bool IsInteger(std::string_view text) {
  const std::string_view digits = WithoutSign(text);
  if (digits.size() > 1 && digits[0] == '0') return false;  // "007" is a name, not a number
  return ParseInt64(text).ok();
}

bool IsReal(std::string_view text) {
  if (text == "NaN" || text == "nan" || text == "inf" || text == "-inf") return true;
  const std::string_view body = WithoutSign(text);
  if (body.empty() || !(std::isdigit(static_cast<unsigned char>(body[0])) || body[0] == '.'))
    return false;
  if (body.size() > 1 && body[0] == '0' && std::isdigit(static_cast<unsigned char>(body[1])))
    return false;
  double value = 0;
  auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end()) return false;
  const std::string_view mantissa = body.substr(0, body.find_first_of("eE"));
  const size_t point = mantissa.find('.');
  const size_t first = mantissa.find_first_not_of("0.");
  if (first == std::string_view::npos) return true;
  size_t digits = mantissa.size() - first;
  if (point != std::string_view::npos && point > first) --digits;
  return digits <= 17;  // what a double gives back
}

bool IsDate(std::string_view text) { return text.size() == 10 && ParseTimestamp(text).ok(); }

void Narrow(std::string_view text, Candidates* column) {
  column->seen = true;
  column->boolean = column->boolean && IsBoolean(text);
  column->integer = column->integer && IsInteger(text);
  column->real = column->real && IsReal(text);
  column->date = column->date && IsDate(text);
  column->time = column->time && ParseTimestamp(text).ok();
}

iceberg::TypeId Choose(const Candidates& column) {
  using iceberg::TypeId;
  if (!column.seen) return TypeId::kString;
  if (column.boolean) return TypeId::kBoolean;
  if (column.integer) return TypeId::kLong;
  if (column.real) return TypeId::kDouble;
  if (column.date) return TypeId::kDate;
  if (column.time) return TypeId::kTimestamptz;
  return TypeId::kString;
}

}  // namespace

Result<iceberg::Schema> InferCsv(sql::Engine& engine, const CsvSource& source,
                                 const ReadFilesOptions& options) {
  const std::vector<std::string> nulls = NullValues(options);
  std::vector<Candidates> columns(source.names.size());
  TL_ASSIGN_OR_RAISE(auto reader, ReadCsvText(engine, source));
  while (true) {
    if (options.cancelled && options.cancelled()) {
      return MakeError(ErrorKind::kCancelled, "reading " + source.path + " was cancelled");
    }
    TL_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (!batch) break;
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto& text =
          static_cast<const arrow::StringArray&>(*batch->column(static_cast<int>(c)));
      for (int64_t i = 0; i < text.length(); ++i) {
        if (text.IsNull(i)) continue;
        const std::string_view value = Trim(text.GetView(i));
        if (value.empty() || std::find(nulls.begin(), nulls.end(), value) != nulls.end()) continue;
        Narrow(value, &columns[c]);
      }
    }
  }
  iceberg::Schema schema;
  for (size_t c = 0; c < columns.size(); ++c) {
    iceberg::Field field;
    field.id = static_cast<int>(c) + 1;
    field.name = source.names[c];
    field.type.id = Choose(columns[c]);
    schema.fields.push_back(std::move(field));
  }
  return schema;
}

}  // namespace timelake::ingest
