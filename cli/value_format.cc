#include "value_format.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/float16.h>
#include <fmt/format.h>

#include "time_text.h"

namespace timelake::cli {
namespace {

using arrow::Type;

int64_t TicksPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return 1;
    case arrow::TimeUnit::MILLI: return 1'000;
    case arrow::TimeUnit::MICRO: return 1'000'000;
    case arrow::TimeUnit::NANO: break;
  }
  return 1'000'000'000;
}

// A formatter of a type whose text is a bare JSON value (numbers, true, false).
template <typename Array, typename Append>
Formatter Bare(const std::shared_ptr<arrow::Array>& array, Append append) {
  return [typed = std::static_pointer_cast<Array>(array), append](int64_t row, std::string* out) {
    if (typed->IsNull(row)) return false;
    append(*typed, row, out);
    return true;
  };
}

// A formatter of a type whose text needs no escapes but is a string in JSON.
template <typename Array, typename Append>
Formatter Quoted(const std::shared_ptr<arrow::Array>& array, TextStyle style, Append append) {
  return Bare<Array>(array, [style, append](const Array& typed, int64_t row, std::string* out) {
    if (style == TextStyle::kJson) out->push_back('"');
    append(typed, row, out);
    if (style == TextStyle::kJson) out->push_back('"');
  });
}

template <typename Array>
Formatter Integer(const std::shared_ptr<arrow::Array>& array) {
  return Bare<Array>(array, [](const Array& typed, int64_t row, std::string* out) {
    out->append(fmt::format_int(typed.Value(row)).c_str());
  });
}

// Shortest text that reads back as the same number, with a point or an exponent; JSON has no
// spelling for NaN and infinities, so they are strings there.
template <typename Float>
void AppendFloat(Float value, TextStyle style, std::string* out) {
  if (std::isfinite(value)) {
    const size_t start = out->size();
    fmt::format_to(std::back_inserter(*out), "{}", value);
    if (out->find_first_of(".e", start) == std::string::npos) out->append(".0");
    return;
  }
  const std::string_view text = std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
  if (style == TextStyle::kJson) {
    fmt::format_to(std::back_inserter(*out), "\"{}\"", text);
  } else {
    out->append(text);
  }
}

template <typename Array>
Formatter Float(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  return Bare<Array>(array, [style](const Array& typed, int64_t row, std::string* out) {
    AppendFloat(typed.Value(row), style, out);
  });
}

Formatter HalfFloat(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  using Array = arrow::HalfFloatArray;
  return Bare<Array>(array, [style](const Array& typed, int64_t row, std::string* out) {
    AppendFloat(arrow::util::Float16::FromBits(typed.Value(row)).ToFloat(), style, out);
  });
}

template <typename Array>
Formatter Decimal(const std::shared_ptr<arrow::Array>& array) {
  return Bare<Array>(array, [](const Array& typed, int64_t row, std::string* out) {
    out->append(typed.FormatValue(row));
  });
}

template <typename Array>
Formatter Text(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  return Bare<Array>(array, [style](const Array& typed, int64_t row, std::string* out) {
    if (style == TextStyle::kJson) {
      AppendJsonString(typed.GetView(row), out);
    } else {
      out->append(typed.GetView(row));
    }
  });
}

// The text form that DuckDB reads back as a BLOB.
std::string BlobText(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\' && c != '"' && c != '\'';
    if (plain) {
      text.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(text), "\\x{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

template <typename Array>
Formatter Blob(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  return Bare<Array>(array, [style](const Array& typed, int64_t row, std::string* out) {
    const std::string text = BlobText(typed.GetView(row));
    if (style == TextStyle::kJson) {
      AppendJsonString(text, out);
    } else {
      out->append(text);
    }
  });
}

Formatter Timestamp(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  using Array = arrow::TimestampArray;
  const auto& type = static_cast<const arrow::TimestampType&>(*array->type());
  const int64_t per_second = TicksPerSecond(type.unit());
  const bool utc = !type.timezone().empty();
  return Quoted<Array>(array, style, [=](const Array& typed, int64_t row, std::string* out) {
    // DuckDB's two infinities.
    constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max();
    const int64_t value = typed.Value(row);
    if (value == kInfinity || value == -kInfinity) {
      out->append(value > 0 ? "infinity" : "-infinity");
    } else {
      AppendTimestamp(value, per_second, utc, out);
    }
  });
}

template <typename Array, typename TimeType>
Formatter TimeOfDay(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  const int64_t per_second = TicksPerSecond(static_cast<const TimeType&>(*array->type()).unit());
  return Quoted<Array>(array, style, [=](const Array& typed, int64_t row, std::string* out) {
    AppendTimeOfDay(typed.Value(row), per_second, out);
  });
}

Formatter Date(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  if (array->type_id() == Type::DATE64) {
    using Array = arrow::Date64Array;
    constexpr int64_t kMillisPerDay = 86'400'000;
    return Quoted<Array>(array, style, [](const Array& typed, int64_t row, std::string* out) {
      AppendDate(typed.Value(row) / kMillisPerDay, out);
    });
  }
  using Array = arrow::Date32Array;
  return Quoted<Array>(array, style, [](const Array& typed, int64_t row, std::string* out) {
    constexpr int32_t kInfinity = std::numeric_limits<int32_t>::max();
    const int32_t value = typed.Value(row);
    if (value == kInfinity || value == -kInfinity) {
      out->append(value > 0 ? "infinity" : "-infinity");
    } else {
      AppendDate(value, out);
    }
  });
}

Formatter Interval(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  using Array = arrow::MonthDayNanoIntervalArray;
  return Quoted<Array>(array, style, [](const Array& typed, int64_t row, std::string* out) {
    constexpr int64_t kNanosPerSecond = 1'000'000'000;
    const auto value = typed.GetValue(row);
    const size_t start = out->size();
    const auto part = [&](int64_t number, const char* unit) {
      if (number == 0) return;
      fmt::format_to(std::back_inserter(*out), "{}{} {}{}", out->size() > start ? " " : "", number,
                     unit, number == 1 ? "" : "s");
    };
    part(value.months / 12, "year");
    part(value.months % 12, "month");
    part(value.days, "day");
    if (value.nanoseconds == 0 && out->size() > start) return;
    if (out->size() > start) out->push_back(' ');
    if (value.nanoseconds < 0) out->push_back('-');
    AppendTimeOfDay(std::abs(value.nanoseconds), kNanosPerSecond, out);
  });
}

Formatter Uuid(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  using Array = arrow::FixedSizeBinaryArray;
  return Quoted<Array>(array, style, [](const Array& typed, int64_t row, std::string* out) {
    for (int byte = 0; byte < 16; ++byte) {
      if (byte == 4 || byte == 6 || byte == 8 || byte == 10) out->push_back('-');
      fmt::format_to(std::back_inserter(*out), "{:02x}", typed.GetValue(row)[byte]);
    }
  });
}

void AppendOrNull(const Formatter& format, int64_t row, std::string* out) {
  if (!format(row, out)) out->append("null");
}

template <typename Array>
Formatter List(const std::shared_ptr<arrow::Array>& array) {
  const auto values = MakeFormatter(static_cast<const Array&>(*array).values(), TextStyle::kJson);
  return Bare<Array>(array, [values](const Array& typed, int64_t row, std::string* out) {
    out->push_back('[');
    const int64_t start = typed.value_offset(row);
    for (int64_t i = 0; i < typed.value_length(row); ++i) {
      if (i > 0) out->push_back(',');
      AppendOrNull(values, start + i, out);
    }
    out->push_back(']');
  });
}

// An object whose keys are the text of the map's keys.
Formatter Map(const std::shared_ptr<arrow::Array>& array) {
  using Array = arrow::MapArray;
  const auto& map = static_cast<const Array&>(*array);
  const auto keys = MakeFormatter(map.keys(), TextStyle::kPlain);
  const auto items = MakeFormatter(map.items(), TextStyle::kJson);
  return Bare<Array>(array, [keys, items](const Array& typed, int64_t row, std::string* out) {
    out->push_back('{');
    const int64_t start = typed.value_offset(row);
    for (int64_t i = 0; i < typed.value_length(row); ++i) {
      if (i > 0) out->push_back(',');
      std::string key;
      AppendOrNull(keys, start + i, &key);
      AppendJsonString(key, out);
      out->push_back(':');
      AppendOrNull(items, start + i, out);
    }
    out->push_back('}');
  });
}

Formatter Struct(const std::shared_ptr<arrow::Array>& array) {
  using Array = arrow::StructArray;
  const auto& fields = array->type()->fields();
  std::vector<std::pair<std::string, Formatter>> members;
  for (size_t i = 0; i < fields.size(); ++i) {
    std::string prefix = i == 0 ? "{" : ",";
    AppendJsonString(fields[i]->name(), &prefix);
    prefix.push_back(':');
    const auto child = static_cast<const Array&>(*array).field(static_cast<int>(i));
    members.emplace_back(std::move(prefix), MakeFormatter(child, TextStyle::kJson));
  }
  return Bare<Array>(array, [members](const Array&, int64_t row, std::string* out) {
    if (members.empty()) out->push_back('{');
    for (const auto& [prefix, format] : members) {
      out->append(prefix);
      AppendOrNull(format, row, out);
    }
    out->push_back('}');
  });
}

Formatter Dictionary(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  using Array = arrow::DictionaryArray;
  const auto typed = std::static_pointer_cast<Array>(array);
  return
      [typed, values = MakeFormatter(typed->dictionary(), style)](int64_t row, std::string* out) {
        return !typed->IsNull(row) && values(typed->GetValueIndex(row), out);
      };
}

// Types that a query rarely gives: Arrow's own text.
Formatter Other(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  return [array, style](int64_t row, std::string* out) {
    const auto scalar = array->GetScalar(row);
    if (!scalar.ok() || !(*scalar)->is_valid) return false;
    if (style == TextStyle::kJson) {
      AppendJsonString((*scalar)->ToString(), out);
    } else {
      out->append((*scalar)->ToString());
    }
    return true;
  };
}

Formatter MakeNumber(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  switch (array->type_id()) {
    case Type::INT8: return Integer<arrow::Int8Array>(array);
    case Type::INT16: return Integer<arrow::Int16Array>(array);
    case Type::INT32: return Integer<arrow::Int32Array>(array);
    case Type::INT64: return Integer<arrow::Int64Array>(array);
    case Type::UINT8: return Integer<arrow::UInt8Array>(array);
    case Type::UINT16: return Integer<arrow::UInt16Array>(array);
    case Type::UINT32: return Integer<arrow::UInt32Array>(array);
    case Type::UINT64: return Integer<arrow::UInt64Array>(array);
    case Type::HALF_FLOAT: return HalfFloat(array, style);
    case Type::FLOAT: return Float<arrow::FloatArray>(array, style);
    case Type::DOUBLE: return Float<arrow::DoubleArray>(array, style);
    case Type::DECIMAL128: return Decimal<arrow::Decimal128Array>(array);
    case Type::DECIMAL256: return Decimal<arrow::Decimal256Array>(array);
    default: return Other(array, style);
  }
}

Formatter MakeExtension(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  const auto& type = static_cast<const arrow::ExtensionType&>(*array->type());
  const auto storage = static_cast<const arrow::ExtensionArray&>(*array).storage();
  if (type.extension_name() == "arrow.uuid") return Uuid(storage, style);
  return MakeFormatter(storage, style);
}

}  // namespace

Formatter MakeFormatter(const std::shared_ptr<arrow::Array>& array, TextStyle style) {
  switch (array->type_id()) {
    case Type::NA: return [](int64_t, std::string*) { return false; };
    case Type::BOOL:
      return Bare<arrow::BooleanArray>(array, [](const auto& typed, int64_t row, auto* out) {
        out->append(typed.Value(row) ? "true" : "false");
      });
    case Type::STRING: return Text<arrow::StringArray>(array, style);
    case Type::LARGE_STRING: return Text<arrow::LargeStringArray>(array, style);
    case Type::STRING_VIEW: return Text<arrow::StringViewArray>(array, style);
    case Type::BINARY: return Blob<arrow::BinaryArray>(array, style);
    case Type::LARGE_BINARY: return Blob<arrow::LargeBinaryArray>(array, style);
    case Type::BINARY_VIEW: return Blob<arrow::BinaryViewArray>(array, style);
    case Type::FIXED_SIZE_BINARY: return Blob<arrow::FixedSizeBinaryArray>(array, style);
    case Type::TIMESTAMP: return Timestamp(array, style);
    case Type::DATE32:
    case Type::DATE64: return Date(array, style);
    case Type::TIME32: return TimeOfDay<arrow::Time32Array, arrow::Time32Type>(array, style);
    case Type::TIME64: return TimeOfDay<arrow::Time64Array, arrow::Time64Type>(array, style);
    case Type::INTERVAL_MONTH_DAY_NANO: return Interval(array, style);
    case Type::LIST: return List<arrow::ListArray>(array);
    case Type::LARGE_LIST: return List<arrow::LargeListArray>(array);
    case Type::FIXED_SIZE_LIST: return List<arrow::FixedSizeListArray>(array);
    case Type::MAP: return Map(array);
    case Type::STRUCT: return Struct(array);
    case Type::DICTIONARY: return Dictionary(array, style);
    case Type::EXTENSION: return MakeExtension(array, style);
    default: return MakeNumber(array, style);
  }
}

bool IsNumber(const arrow::DataType& type) {
  if (type.id() == Type::DICTIONARY) {
    return IsNumber(*static_cast<const arrow::DictionaryType&>(type).value_type());
  }
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
         arrow::is_decimal(type.id());
}

bool NeedsQuoting(const arrow::DataType& type) {
  return !IsNumber(type) && !arrow::is_temporal(type.id()) && type.id() != Type::BOOL;
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(*out), "\\u{:04x}", static_cast<int>(c));
        } else {
          out->push_back(c);
        }
    }
  }
  out->push_back('"');
}

}  // namespace timelake::cli
