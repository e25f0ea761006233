#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

// Values of Arrow arrays as text. What each type looks like is promised in docs/cli.md.

namespace timelake::cli {

enum class TextStyle {
  kPlain,  // tables and CSV: bare text; lists, structs and maps as JSON
  kJson,   // a JSON value
};

// Appends the value at `row`; false, and nothing appended, where it is NULL.
using Formatter = std::function<bool(int64_t row, std::string* out)>;

// The formatter keeps `array` alive.
Formatter MakeFormatter(const std::shared_ptr<arrow::Array>& array, TextStyle style);

// Numbers go to the right in a table.
bool IsNumber(const arrow::DataType& type);

// Whether the plain text of the type can hold a comma, quote or line break.
bool NeedsQuoting(const arrow::DataType& type);

// Appends `text` as a JSON string with its quotes.
void AppendJsonString(std::string_view text, std::string* out);

}  // namespace timelake::cli
